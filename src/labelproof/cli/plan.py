"""labelproof plan: how many features do these label sets need?"""

import time
from typing import Annotated

import typer

from labelproof.cli.console import console, percent, plural, print_json, progress_wanted, table
from labelproof.cli.options import AsJson, Jobs, LabelNames, Labels

__all__ = ["plan"]


def plan(
    labels: Labels,
    n_labels: Annotated[
        int | None, typer.Option(help="Number of labels, for files of indices.", show_default=False)
    ] = None,
    label_names: LabelNames = None,
    sample: Annotated[int, typer.Option(help="Distinct label sets to verify for each width.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of the random head.")] = 0,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Measure, before training, how many features an output layer needs for the label sets of a data set."""
    import labelproof
    from labelproof.cli import files

    names = files.read_label_names(label_names, n_labels)
    sets = files.read_labels(labels, names)
    if isinstance(sets, list):
        n_labels = n_labels or (None if names is None else len(names))
        if n_labels is None:
            raise ValueError(
                f"--n-labels must say how many labels there are, since {labels.name} holds lists of indices"
            )
    start = time.perf_counter()
    result = labelproof.plan(sets, n_labels, n_sample=sample, seed=seed, n_jobs=jobs, progress=progress_wanted())
    if as_json:
        print_json(result.to_dict())
        return
    out = console()
    least, median, most_of_them, most = result.alternations
    out.print(
        f"{labels.name}: {plural(result.n_sets, 'label set')} ({result.n_distinct:,} distinct) "
        f"of {plural(result.n_labels, 'label')}"
    )
    out.print(f"active labels in a set: {result.cardinality:.1f} on average, {result.k} at most")
    out.print(f"sign changes around the labels: {least} to {most}, median {median}, 90 % have at most {most_of_them}\n")
    lines = table("features", "of all sets, 10^", "sampled sets predictable", "share of the data, 95 %")
    for width in result.widths:
        if width.predicted is None or width.low is None or width.high is None:
            lines.add_row(f"{width.d}", f"{width.log10_fraction:.1f}", "", "")
            continue
        share = percent(width.predicted, result.n_sampled)
        interval = f"{100 * width.low:.1f} – {100 * width.high:.1f} %"
        lines.add_row(f"{width.d}", f"{width.log10_fraction:.1f}", f"{width.predicted} ({share})", interval)
    out.print(lines)
    out.print(f"\n{result.recommendation}")
    out.print(f"Measured in {time.perf_counter() - start:.1f} s.")
