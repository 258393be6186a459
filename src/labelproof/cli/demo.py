"""labelproof demo: the main job from end to end, on Debian's packages and their tags or on the user's own data."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from labelproof.cli.console import console, print_json, printable, progress_wanted, table
from labelproof.cli.data_options import ColumnOptions, DataPath
from labelproof.cli.grouped import grouped
from labelproof.cli.options import AsJson
from labelproof.cli.outputs import require_writable_folder
from labelproof.foundation.optional_packages import TRAINING, need_all
from labelproof.foundation.wording import plural, some_of

if TYPE_CHECKING:
    from labelproof.comparison import Outcome
    from labelproof.data import Dataset
    from labelproof.report import Difference

__all__ = ["demo"]

FOLDER = Path("labelproof-demo")
SHIPPED = "debian_packages"
NARROW = 12  # features of the narrow layer for these data
NAMED = 6  # labels of a combination that are named
MEANING = """\
test: how many of the label combinations of the test data can be predicted. random: the same for {n} combinations of
{size} labels that were drawn at random, which is what the guarantee is about. micro-F1, macro-F1: scores on the test
data, the higher the better. DFT start: every label begins at the small probability that it has in a DFT head.
"""


@grouped
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the report, the models and the proofs.")
    ] = FOLDER,
    data: DataPath = None,
    *,
    columns: ColumnOptions,
    made_up: Annotated[
        bool, typer.Option("--made-up", help="Generate documents with 1,000 labels instead of real data.")
    ] = False,
    min_count: Annotated[int, typer.Option(help="Leave out labels with fewer training examples.", min=1)] = 1,
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            "-d",
            help="Features of the narrow layer; by default 12 for the Debian data, else 25 or a quarter of the labels.",
            min=1,
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(help="Maximum number of epochs; training may stop early.", min=1)] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the data, the parts and the weights.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Train five output layers on the same data, and prove which label combinations each can ever predict.

    Without --data: descriptions of Debian packages and their tags, which come with labelproof.
    """
    if made_up and data is not None:
        raise ValueError("--made-up generates data and cannot be combined with --data")
    need_all((*TRAINING, "jinja2"), "labelproof demo", "train,audit")
    from labelproof.comparison.comparison_folder import require_free, save_comparison
    from labelproof.data import load_dataset, topic_data

    require_free(output)  # before the work, not after it
    require_writable_folder(output)
    if made_up:
        name = "Documents that were made up"
        dataset = topic_data(8000, 1000, 4000, cardinality=6.0, n_words=100.0, seed=seed)
    else:
        name = "Debian packages" if data is None else printable(Path(data).name)
        width = NARROW if data is None and width is None else width
        dataset = load_dataset(SHIPPED if data is None else data, **columns.options())
    outcomes = list(_outcomes(dataset, name, width, epochs, min_count, seed, quiet=as_json))
    save_comparison(output, outcomes, title=f"{name}: what can a model predict at all?")
    if as_json:
        print_json({"output": str(output), "heads": [outcome.to_dict() for outcome in outcomes]})
    else:
        _print(outcomes, output)


def _outcomes(
    dataset: "Dataset", name: str, width: int | None, epochs: int, min_count: int, seed: int, *, quiet: bool
) -> "Iterator[Outcome]":
    """Train and verify one head after the other; say on standard error how far it is."""
    from labelproof.comparison import code_head, compare, four_heads, recipe
    from labelproof.comparison.contenders import default_width
    from labelproof.training.data_parts import divide

    config = recipe(dataset, epochs=epochs, min_count=min_count, seed=seed)
    training = divide(dataset, config.data, seed=seed).training
    d = default_width(training.n_labels) if width is None else width
    heads = (*four_heads(training.labels, d), code_head(training.labels, d))
    said = Console(stderr=True, highlight=False, markup=False, emoji=False, quiet=quiet)
    said.print(
        f"{name}: {plural(training.n_labels, 'label')}, such as {_frequent(training)}. Five models learn them from "
        f"{plural(len(training), 'example')}; they differ in the output layer alone."
    )
    for outcome in compare(config, dataset, heads, progress=progress_wanted() and not quiet):
        said.print(
            f"{outcome.name}: trained in {outcome.train_seconds:.1f} s ({plural(outcome.epochs, 'epoch')}), "
            f"{plural(outcome.n_sets, 'label combination')} verified in {outcome.verify_seconds:.1f} s"
        )
        yield outcome


def _frequent(training: "Dataset") -> str:
    """Name the three labels with the most examples."""
    order = training.labels.sum(axis=0).argsort(kind="stable")[::-1]
    *names, last = (printable(training.label_names[i]) for i in order[:3])
    return f"{', '.join(names)} and {last}"


def _print(outcomes: "Sequence[Outcome]", output: Path) -> None:
    from labelproof.comparison import findings, gained

    out = console()
    lost, guaranteed, *others = findings(outcomes)
    shown = gained(outcomes)
    out.print(f"\n{lost}" + (" The most frequent ones that the guaranteed layer can predict:" if shown else ""))
    if shown:
        out.print(_named(shown))
    out.print(f"\n{guaranteed}\n\nHow many label combinations each output layer can predict, and how well it does:\n")
    out.print(_table(outcomes))
    out.print(" ".join(MEANING.format(n=len(outcomes[0].at_random), size=outcomes[0].random_size).split()))
    for sentence in others:
        out.print(f"\n{sentence}")
    out.print(
        f"\nOpen {output / 'report.html'} in a browser. Each model and its proofs are in the same folder.",
        soft_wrap=True,
    )


def _named(shown: "Sequence[Difference]") -> Table:
    """Write label combinations by name, with their number of examples."""
    lines = Table.grid(padding=(0, 2))
    for one in shown:
        names = printable(some_of(one.labels, NAMED)) or "no label at all"
        lines.add_row("", plural(one.examples, "example"), names)
    return lines


def _table(outcomes: "Sequence[Outcome]") -> Table:
    n_sets, drawn = outcomes[0].n_sets, len(outcomes[0].at_random)
    lines = table(
        "output layer", "features", "weights", f"test\nof {n_sets:,}", f"random\nof {drawn:,}", "micro-F1", "macro-F1"
    )
    for one in outcomes:
        lines.add_row(
            one.name,
            f"{one.n_features}",
            f"{one.head_parameters:,}",
            f"{one.argmaxable:,}",
            f"{int((one.at_random.status == 1).sum()):,}",
            *(f"{one.scores[name]:.3f}" for name in ("micro-f1", "macro-f1")),
        )
    return lines
