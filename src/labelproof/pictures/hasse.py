"""The label sets of few labels by size, joined where one label more makes one into the other."""

from itertools import combinations
from pathlib import Path
from typing import Any

from labelproof.foundation.figures import new_figure, save_figure
from labelproof.proof.certificates import Argmaxable, Unargmaxable
from labelproof.search.verifier import verify

__all__ = ["draw_hasse"]

MOST_LABELS = 7
STYLES = {
    "argmaxable": {"facecolor": "#d3ecd5", "edgecolor": "#2e7d32"},
    "unargmaxable": {"facecolor": "#f6d5d5", "edgecolor": "#b23b3b"},
    "undecided": {"facecolor": "white", "edgecolor": "0.5"},
}


def draw_hasse(weight: Any, path: str | Path, *, bias: Any = None, title: str = "") -> dict[str, int]:
    """Draw which label sets a classifier can predict, with a proof, as the lattice of sets.

    Parameters
    ----------
    weight
        (n_labels, d), of at most 7 labels.
    path
        Of the picture; its ending tells the format, such as .png or .svg.
    bias
        (n_labels,), or None.
    title
        What stands above.

    Returns
    -------
    dict
        How many sets are "argmaxable", "unargmaxable" and "undecided".

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_hasse([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], Path(folder, "sets.svg"))
    {'argmaxable': 6, 'unargmaxable': 2, 'undecided': 0}
    """
    n_labels = len(weight)
    if not 1 <= n_labels <= MOST_LABELS:
        raise ValueError(f"weight must have at most {MOST_LABELS} labels for a Hasse diagram, got {n_labels}")
    levels = [list(combinations(range(n_labels), size)) for size in range(n_labels + 1)]
    sets = [one for level in levels for one in level]
    verdicts = dict(zip(sets, map(_word, verify(weight, [list(one) for one in sets], bias=bias)), strict=True))
    widest = max(len(level) for level in levels)
    places = {
        one: ((i - (len(level) - 1) / 2) * widest / len(level), size)
        for size, level in enumerate(levels)
        for i, one in enumerate(level)
    }
    figure = new_figure(max(4.0, 0.62 * widest), 0.9 * len(levels) + 0.6)
    axes = figure.subplots()
    for one in sets:
        for label in one:
            below = tuple(other for other in one if other != label)
            axes.plot(*zip(places[one], places[below], strict=True), color="0.8", linewidth=0.8, zorder=1)
    for one, (x, y) in places.items():
        text = "".join(str(label + 1) for label in one) or "∅"
        box = {"boxstyle": "round,pad=0.25", "linewidth": 1.1, **STYLES[verdicts[one]]}
        axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box, zorder=2)
    counts = {name: sum(verdict == name for verdict in verdicts.values()) for name in STYLES}
    axes.set_xlim(-widest / 2 - 0.3, widest / 2 + 0.3)
    axes.set_ylim(-0.5, n_labels + 0.5)
    axes.axis("off")
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    axes.set_title(f"{title}: {said}" if title else said, fontsize=10, parse_math=False)
    save_figure(figure, path)
    return counts


def _word(verdict: Any) -> str:
    if isinstance(verdict, Argmaxable):
        return "argmaxable"
    return "unargmaxable" if isinstance(verdict, Unargmaxable) else "undecided"
