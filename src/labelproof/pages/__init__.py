"""What the pages of the package share, the report and the explorer: one base of their style."""

from importlib.resources import files

__all__ = ["base_style"]


def base_style() -> str:
    """Return the style that every page begins with, its own following.

    Returns
    -------
    str

    Examples
    --------
    >>> "color-scheme" in base_style()
    True
    """
    return files("labelproof.pages").joinpath("static", "base.css").read_text("utf-8")
