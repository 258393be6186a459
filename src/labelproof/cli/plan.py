"""labelproof plan: how many features do these label sets need?"""

import time
from pathlib import Path
from typing import Annotated

import typer

from labelproof.cli.console import console, print_json, progress_wanted, table
from labelproof.cli.options import AsJson, Jobs, LabelColumn, LabelNames, Labels, Part
from labelproof.foundation.wording import percent, plural

__all__ = ["plan"]


def plan(
    labels: Labels,
    n_labels: Annotated[
        int | None, typer.Option(help="Number of labels, for files of indices.", show_default=False)
    ] = None,
    label_names: LabelNames = None,
    part: Part = None,
    label_column: LabelColumn = None,
    sample: Annotated[int, typer.Option(help="Distinct label sets to verify for each width.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of the random head.")] = 0,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Measure, before training, how many features an output layer needs for the label sets of a data set."""
    import labelproof
    from labelproof.data.label_files import read_label_file, read_label_names

    names = None if label_names is None else read_label_names(label_names, n_labels)
    data = read_label_file(labels, label_names=names, n_labels=n_labels, part=part, columns=label_column or ())
    start = time.perf_counter()
    result = labelproof.plan(
        data.sets, data.sets.n_labels, n_sample=sample, seed=seed, n_jobs=jobs, progress=progress_wanted()
    )
    if as_json:
        print_json(result.to_dict())
        return
    out = console()
    least, median, most_of_them, most = result.alternations
    out.print(
        f"{Path(labels).name}: {plural(result.n_sets, 'label set')} ({result.n_distinct:,} distinct) "
        f"of {plural(result.n_labels, 'label')}"
    )
    out.print(f"active labels in a set: {result.cardinality:.1f} on average, {result.k} at most")
    out.print(f"sign changes around the labels: {least} to {most}, median {median}, 90 % have at most {most_of_them}\n")
    out.print("What a random output layer of so many features can predict:")
    lines = table("features", "of all label sets", "of the sample", "of the data (95 %)")
    for width in result.widths:
        if width.predicted is None or width.low is None or width.high is None:
            lines.add_row(f"{width.d}", _power(width.log10_fraction), "", "")
            continue
        share = percent(width.predicted, result.n_sampled)
        interval = f"{100 * width.low:.1f} – {100 * width.high:.1f} %"
        lines.add_row(f"{width.d}", _power(width.log10_fraction), f"{width.predicted} ({share})", interval)
    out.print(lines)
    out.print(f"\n{result.recommendation}")
    out.print(f"Measured in {time.perf_counter() - start:.1f} s.")


def _power(log10: float) -> str:
    """Write a share by its logarithm.

    >>> _power(-252.64), _power(-0.02), _power(0.0)
    ('10^-252.6', 'nearly all', 'all')
    """
    if log10 > -0.05:
        return "all" if log10 == 0 else "nearly all"
    return f"10^{log10:.1f}"
