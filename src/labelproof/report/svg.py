"""Elements of SVG pictures. Labels' names never enter a picture: they stand beside it, as text."""

from html import escape

__all__ = ["Svg", "element"]


class Svg(str):
    """Markup that is shown as it is, where other texts are escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def element(tag: str, *children: Svg | str, **attributes: str | float) -> Svg:
    """Write one element; a child that is no `Svg` is text.

    Attributes are called as in SVG, with ``_`` for ``-``; a ``_`` at the end is left out (``class_``).

    Examples
    --------
    >>> element("g", element("rect", x=1, width=2.5, class_="can"), "a < b")
    '<g><rect x="1" width="2.5" class="can"></rect>a &lt; b</g>'
    """
    words = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    inside = "".join(child if isinstance(child, Svg) else escape(child) for child in children)
    return Svg(f"<{tag}{words}>{inside}</{tag}>")


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.5g}"
