"""A figure of matplotlib without a window, and the file that it becomes: for drawings of your own."""

from labelproof.foundation.figures import new_figure, save_figure

__all__ = ["new_figure", "save_figure"]
