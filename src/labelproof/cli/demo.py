"""labelproof demo: the main job from end to end, on made-up data or on the user's own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelproof.cli.console import console, percent, plural, print_json, progress_wanted, table
from labelproof.cli.data_options import (
    DataFormat,
    DataPath,
    FeatureColumns,
    GroupColumn,
    LabelColumns,
    LabelSeparator,
    SplitColumn,
    TextColumns,
    one_or_many,
)
from labelproof.cli.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from labelproof.comparison import Outcome
    from labelproof.data import Dataset

__all__ = ["demo"]

FOLDER = Path("labelproof-demo")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the report, the models and the proofs.")
    ] = FOLDER,
    data: DataPath = None,
    format: DataFormat = None,  # noqa: A002 - the word that users look for
    text: TextColumns = None,
    labels: LabelColumns = None,
    features: FeatureColumns = None,
    split: SplitColumn = None,
    group: GroupColumn = None,
    separator: LabelSeparator = None,
    min_count: Annotated[int, typer.Option(help="Leave out labels with fewer training examples.", min=1)] = 1,
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            "-d",
            help="Features of the bottleneck; by default 25, or a quarter of the labels.",
            min=1,
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(help="At most so many; training stops early.", min=1)] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the data, the parts and the weights.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Train five output layers on the same data, and prove which test label sets each can predict."""
    with _missing_package_is_bad_input():
        from labelproof.comparison.writing import require_free, save_comparison
        from labelproof.data import load_dataset, topic_data

        require_free(output)  # before the work, not after it
        if data is None:
            dataset = topic_data(8000, 1000, 4000, cardinality=6.0, n_words=100.0, seed=seed)
        else:
            dataset = load_dataset(
                data,
                format=format,
                text=one_or_many(text),
                labels=one_or_many(labels),
                features=one_or_many(features),
                split=split,
                group=group,
                separator=separator,
            )
        outcomes = list(_outcomes(dataset, width, epochs, min_count, seed, quiet=as_json))
        save_comparison(output, outcomes, title="Five output layers on the same data")
    if as_json:
        print_json({"output": str(output), "heads": [outcome.to_dict() for outcome in outcomes]})
    else:
        _print(outcomes, output)


def _outcomes(
    dataset: "Dataset", width: int | None, epochs: int, min_count: int, seed: int, *, quiet: bool
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
        f"{plural(training.n_labels, 'label')}, {plural(len(training), 'training example')}; five heads to train"
    )
    for outcome in compare(config, dataset, heads, progress=progress_wanted() and not quiet):
        said.print(
            f"{outcome.name}: {outcome.epochs} epochs in {outcome.train_seconds:.1f} s, "
            f"{plural(outcome.n_sets, 'label set')} verified in {outcome.verify_seconds:.1f} s"
        )
        yield outcome


def _print(outcomes: "Sequence[Outcome]", output: Path) -> None:
    from labelproof.comparison import findings

    out = console()
    out.print(_table(outcomes))
    out.print("Sets: the share that the head can predict (argmaxable), with proof. Time: training and verifying.")
    for sentence in findings(outcomes):
        out.print(f"\n{sentence}")
    out.print(f"\nWritten to {output}: report.html, and each head's model and proofs.", soft_wrap=True)


def _table(outcomes: "Sequence[Outcome]") -> "Table":
    k, size = outcomes[0].k, outcomes[0].random_size
    lines = table(
        "head", "width", "head\nweights", f"F1@{k}", "micro\nF1", "macro\nF1", "test\nsets", f"random\n{size}-sets",
        "least\nmargin", "time",
    )  # fmt: skip
    lines.padding = (0, 1, 0, 0)
    for one in outcomes:
        lines.add_row(
            one.name,
            f"{one.n_features}",
            f"{one.head_parameters:,}",
            *(f"{one.scores[name]:.3f}" for name in (f"f1@{k}", "micro-f1", "macro-f1")),
            percent(one.argmaxable, one.n_sets),
            percent(int((one.at_random.status == 1).sum()), len(one.at_random)),
            "–" if one.smallest_margin is None else f"{one.smallest_margin:.0e}",
            f"{one.train_seconds + one.verify_seconds:.0f} s",
        )
    return lines


@contextmanager
def _missing_package_is_bad_input() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ValueError(
            f"labelproof demo trains models and needs more packages ({error}): pip install 'labelproof[train,audit]'"
        ) from error
