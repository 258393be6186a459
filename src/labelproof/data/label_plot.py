"""A picture of a data set's labels: how frequent each is, and how many an example has. Needs matplotlib."""

import os

import numpy as np

from labelproof.data.dataset import Dataset
from labelproof.foundation.figures import new_figure, save_figure

__all__ = ["draw_labels"]


def draw_labels(data: Dataset, path: str | os.PathLike[str], *, title: str = "") -> None:
    """Draw the examples of every label by rank, and the number of labels of the examples.

    Parameters
    ----------
    data
        The data set.
    path
        The file of the picture; its ending tells the format, such as .png or .svg.
    title
        What stands above, such as the data set's name.
    """
    counts = np.sort(data.label_counts())[::-1]
    used = counts[counts > 0]
    sizes = np.bincount(np.diff(data.labels.indptr), minlength=1)
    figure = new_figure(9, 3.6)
    left, right = figure.subplots(1, 2)
    left.loglog(np.arange(1, len(used) + 1), used, ".", markersize=4, color="#1f5fa8")
    left.set(xlabel="label, from the most frequent", ylabel="examples with the label")
    left.set_title(f"{len(used):,} labels that occur, {len(counts) - len(used):,} that do not", fontsize=10)
    right.bar(np.arange(len(sizes)), sizes, width=0.9, color="#1f5fa8")
    right.set(xlabel="labels of an example", ylabel="examples")
    mean = data.labels.nnz / max(len(data), 1)
    right.set_title(f"{mean:.2f} labels on average, {len(sizes) - 1} at most", fontsize=10)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(title, parse_math=False)  # a name may have dollar signs
    save_figure(figure, path, dpi=150)
