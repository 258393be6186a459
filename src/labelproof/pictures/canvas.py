"""A figure to draw on, without a window, and the file that it becomes: for pictures that are not here."""

from labelproof.foundation.figures import new_figure, save_figure

__all__ = ["new_figure", "save_figure"]
