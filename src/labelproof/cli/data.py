"""labelproof data: the figures of a data set, and its conversion into other formats."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelproof.cli.console import Group, console, print_json, progress_wanted, table
from labelproof.cli.data_options import DataFormat, LabelColumns, LabelSeparator, TextColumns, one_or_many
from labelproof.cli.options import AsJson
from labelproof.foundation.wording import percent, plural

if TYPE_CHECKING:
    from labelproof.data import Dataset, Statistics

__all__ = ["data"]

data = typer.Typer(
    cls=Group, help="Describe or convert a data set.", context_settings={"help_option_names": ["-h", "--help"]}
)

Source = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A file or folder of any format that load_dataset reads, or the name of a data set under LABELPROOF_DATA.",
        show_default=False,
    ),
]
Part = Annotated[str | None, typer.Option(help="Only this part of the split, such as train.", show_default=False)]


@data.command(epilog="Example: labelproof data stats train.csv --text comment --labels tags --picture labels.png")
def stats(
    source: Source,
    format: DataFormat = None,  # noqa: A002
    text: TextColumns = None,
    labels: LabelColumns = None,
    separator: LabelSeparator = None,
    part: Part = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the label frequencies into this file (needs matplotlib).", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print statistics of a data set: examples, labels, label sets."""
    import numpy as np

    from labelproof.data import describe
    from labelproof.theory.cyclic import alternations

    examples = _load(source, format, text, labels, separator, part)
    figures = describe(examples)
    for what, count in (("examples", figures.n_examples), ("labels", figures.n_labels)):
        if not count:
            raise ValueError(f"PATH must hold {what}, got none in {source}")
    changes = np.percentile(alternations(examples.labels), [50, 90, 100], method="lower").astype(int).tolist()
    if picture is not None:
        from labelproof.data.label_plot import draw_labels

        draw_labels(examples, picture, title=Path(source).name)
    if as_json:
        names = ("median", "percentile_90", "most")
        print_json({**figures.to_dict(), "alternations": dict(zip(names, changes, strict=True))})
        return
    _print(figures, changes)
    if picture is not None:
        console().print(f"\nThe label frequencies are drawn in {picture}.")


@data.command(epilog="Example: labelproof data convert bibtex-train.arff bibtex-train.svm")
def convert(
    source: Source,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File to write: .jsonl, .npz, .svm, .txt (XMC) or .parquet.", show_default=False
        ),
    ],
    format: DataFormat = None,  # noqa: A002
    text: TextColumns = None,
    labels: LabelColumns = None,
    separator: LabelSeparator = None,
    part: Part = None,
    drop_rare: Annotated[
        int, typer.Option(metavar="B", help="Drop labels with fewer than B training examples.", min=0)
    ] = 0,
    stratify: Annotated[
        str | None,
        typer.Option(
            metavar="PARTS", help="Split again by stratification, such as train=0.8,test=0.2.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the stratification.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Write a data set in another format."""
    from labelproof.cli.outputs import require_free_file
    from labelproof.data import iterative_stratification, save_dataset
    from labelproof.data.textfile import bare_name
    from labelproof.data.writing import ENDINGS

    require_free_file(target, [], "OUT")
    if Path(bare_name(target)).suffix not in ENDINGS:
        raise ValueError(f"OUT must end in one of {', '.join(ENDINGS)}, got {target.name!r}")
    examples = _load(source, format, text, labels, separator, None)
    if stratify is not None:
        split = iterative_stratification(examples.labels, _parse_parts(stratify), groups=examples.groups, seed=seed)
        examples = examples.with_split(split)
    if drop_rare:
        examples = examples.drop_rare_labels(drop_rare)
    if part is not None:
        examples = _part(examples, part, source)
    written = save_dataset(examples, target)
    if as_json:
        print_json(
            {"n_examples": len(examples), "n_labels": examples.n_labels, "files": [str(path) for path in written]}
        )
        return
    files = " and ".join(path.name for path in written)
    console().print(f"{plural(len(examples), 'example')} with {plural(examples.n_labels, 'label')} written to {files}")


def _load(
    source: str,
    format: str | None,  # noqa: A002
    text: list[str] | None,
    labels: list[str] | None,
    separator: str | None,
    part: str | None,
) -> "Dataset":
    from rich.console import Console

    from labelproof.data import load_dataset

    waiting = Console(stderr=True).status(f"reading {source}") if progress_wanted() else nullcontext()
    with waiting:
        examples = load_dataset(
            source,
            format=format,
            text=text or None,
            labels=one_or_many(labels),
            separator=separator,
        )
    return examples if part is None else _part(examples, part, source)


def _part(examples: "Dataset", part: str, source: str) -> "Dataset":
    if part not in examples.parts:
        have = ", ".join(examples.parts) or "none"
        raise ValueError(f"--part must be a part of {source}, got {part!r}: it has {have}")
    return examples.part(part)


def _parse_parts(text: str) -> dict[str, float]:
    """Read shares of parts.

    >>> _parse_parts("train=0.8,test=0.2")
    {'train': 0.8, 'test': 0.2}
    """
    try:
        pairs = [(name.strip(), float(share)) for name, _, share in (item.partition("=") for item in text.split(","))]
    except ValueError as error:
        raise ValueError(f"--stratify must look like train=0.8,test=0.2, got {text!r}") from error
    parts = dict(pairs)
    if len(parts) != len(pairs) or "" in parts:
        raise ValueError(f"--stratify must name every part, and each once, got {text!r}")
    return parts


def _print(figures: "Statistics", changes: list[int]) -> None:
    lines = table("", "")
    lines.add_row("examples", f"{figures.n_examples:,}")
    for name, count in figures.parts.items():
        lines.add_row(f"  {name}", f"{count:,}")
    lines.add_row("features", f"{figures.n_features:,}" if figures.n_features else "–")
    if figures.n_missing:
        lines.add_row("  missing values", f"{figures.n_missing:,} in {plural(figures.n_gappy, 'column')}")
    lines.add_row("labels", f"{figures.n_labels:,}")
    lines.add_row("  without an example", f"{figures.n_unused:,}")
    lines.add_row("labels per example, on average", f"{figures.cardinality:.3f}")
    lines.add_row("  maximum (k)", f"{figures.k:,}")
    lines.add_row(
        "examples without labels (∅)", f"{figures.n_empty:,} ({percent(figures.n_empty, figures.n_examples)})"
    )
    lines.add_row("distinct label sets", f"{figures.n_distinct:,}")
    lines.add_row("  that occur once", f"{figures.n_single:,}")
    least, low, middle, high, most = figures.frequency
    lines.add_row(
        "examples per label: minimum, quartiles, maximum", f"{least:,} | {low:,} {middle:,} {high:,} | {most:,}"
    )
    lines.add_row("sign changes (alternations): median, 90 %, maximum", " ".join(f"{value:,}" for value in changes))
    lines.add_row("features that a DFT layer needs for k (2k + 1)", f"{2 * figures.k + 1:,}")
    console().print(lines)
    frequent = ", ".join(f"{name} {count:,}" for name, count in list(figures.most_frequent.items())[:5])
    console().print(f"\nmost frequent: {frequent}")
