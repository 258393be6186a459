"""Which words a network looks at: each text as a line of words, the darker the more weight."""

from collections.abc import Sequence
from pathlib import Path

from labelproof.foundation.figures import new_figure, save_figure

__all__ = ["draw_attention"]

WIDTH, MARGIN = 100, 4  # of a line at most, and what is free after the longest, in letters


def draw_attention(
    texts: Sequence[Sequence[tuple[str, float]]], path: str | Path, *, titles: Sequence[str] | None = None
) -> None:
    """Draw texts whose words have weights, as `PairEncoder.attention` gives them.

    Parameters
    ----------
    texts
        Words and weights of each, cut off after one line. A word of weight 0 is grey.
    path
        Of the picture; its ending tells the format, such as .png or .svg.
    titles
        What stands above each text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "picture.svg")
    ...     draw_attention([[("cats", 0.7), ("and", 0.0), ("dogs", 0.3)]], path, titles=["sparsemax"])
    ...     path.stat().st_size > 1000
    True
    """
    if titles is not None and len(titles) != len(texts):
        raise ValueError(f"titles must be one for each of {len(texts)} texts, got {len(titles)}")
    longest = max([MARGIN, *(sum(1 + len(word) for word, _ in text) for text in texts), *map(len, titles or ())])
    width = min(WIDTH, longest + MARGIN)
    figure = new_figure(9.0 * width / WIDTH, 0.3 + 0.62 * len(texts))
    axes = figure.subplots()
    for row, text in enumerate(texts):
        y, x = -float(row), 0.0
        if titles is not None:
            axes.text(0, y + 0.42, titles[row], fontsize=8, color="0.4", parse_math=False)
        most = max((weight for _, weight in text), default=0.0) or 1.0
        for word, weight in text:
            if x + len(word) > WIDTH - 2:
                axes.text(x, y, "…", fontsize=9)
                break
            axes.text(
                x,
                y,
                word,
                fontsize=9,
                family="monospace",
                parse_math=False,
                color="black" if weight > 0 else "0.6",
                bbox={
                    "boxstyle": "square,pad=0.15",
                    "facecolor": (0.12, 0.37, 0.66, 0.6 * weight / most),
                    "linewidth": 0,
                },
            )
            x += 1.0 + len(word)
    axes.set_xlim(0, width)
    axes.set_ylim(-len(texts) + 0.4, 0.9)
    axes.axis("off")
    save_figure(figure, path)
