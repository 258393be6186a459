"""A figure to draw on, without a window, and the file that it becomes."""

from pathlib import Path
from typing import Any

from labelproof.foundation import writing
from labelproof.foundation.optional_packages import need

__all__ = ["new_figure", "save_figure"]


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches."""
    need("matplotlib", "a picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure in the format that the path's ending tells, the same bytes for the same drawing."""
    from matplotlib import rc_context

    is_svg = str(path).endswith(".svg")
    with rc_context({"svg.hashsalt": "labelproof"}):
        writing.save_figure(figure, path, dpi=120, metadata={"Date": None} if is_svg else {})
