"""A numpydoc docstring as Markdown."""

import re
from inspect import cleandoc

__all__ = ["as_markdown", "sections"]

HEADING = re.compile(r"^(\S.*)\n-{3,}$", re.MULTILINE)
LISTS = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Other Parameters", "Warns"}


def sections(docstring: str) -> dict[str, str]:
    r"""Return the text of each section by its heading; the summary is under the empty heading.

    Examples
    --------
    >>> sections("Sum.\n\nParameters\n----------\na : int\n    One.")
    {'': 'Sum.', 'Parameters': 'a : int\n    One.'}
    """
    parts = HEADING.split(cleandoc(docstring))
    return {"": parts[0].strip()} | {
        heading: text.strip("\n") for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def as_markdown(docstring: str) -> str:
    """Return headings in bold, parameters as a list, and examples as code."""
    parts = []
    for heading, text in sections(docstring).items():
        if not heading:
            parts.append(_prose(text))
        elif heading == "Examples":
            parts.append(_examples(text))
        elif heading in LISTS:
            parts.append(f"**{heading}**\n\n{_items(text)}")
        else:
            parts.append(f"**{heading}**\n\n{_prose(text)}")
    return "\n\n".join(part for part in parts if part)


def _prose(text: str) -> str:
    return text.replace("<", "&lt;")


def _items(text: str) -> str:
    """Return each entry, a line that is not indented and what is indented below it, as an item of a list."""
    items = []
    for entry in re.split(r"\n(?=\S)", text):
        head, _, body = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        shown = f"`{name.strip()}`" + (f" ({kind.strip()})" if kind else "")
        body = cleandoc(body)
        items.append(f"- {shown}" + (f": {_indented(body)}" if body else ""))
    return "\n".join(items)


def _indented(text: str) -> str:
    return _prose(text).replace("\n", "\n    ")


def _examples(text: str) -> str:
    """Return what is typed and printed as code, and the sentences between as text."""
    parts = []
    for block in re.split(r"\n\s*\n", cleandoc(text)):
        lines = re.sub(r"  # doctest:.*", "", block)
        parts.append(f"```pycon\n{lines}\n```" if ">>>" in block else _prose(block))
    return "**Examples**\n\n" + "\n\n".join(parts)
