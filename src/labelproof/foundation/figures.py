"""A figure of matplotlib to draw on, without a window, and the file that it becomes."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labelproof.foundation.optional_packages import need
from labelproof.foundation.writing import replacing

__all__ = ["can_draw", "new_figure", "save_figure"]


def can_draw() -> bool:
    """Return whether matplotlib is there, for pictures that may be left out."""
    return find_spec("matplotlib") is not None


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches."""
    need("matplotlib", "a plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | os.PathLike[str], *, dpi: int = 120) -> None:
    """Write a figure in one step, the same bytes for the same drawing.

    Parameters
    ----------
    figure
        Of matplotlib.
    path
        Of the file, in a folder that exists; its ending tells the format, and without one it is given .png.
    dpi
        Dots per inch.
    """
    from matplotlib import rc_context

    place = Path(path) if Path(path).suffix else Path(path).with_suffix(".png")
    kind = place.suffix[1:].lower()
    with rc_context({"svg.hashsalt": "labelproof"}), replacing(place) as stream:
        figure.savefig(stream, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
