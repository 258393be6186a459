"""Names as pages show them: what a text hides, such as a change of its direction, is made visible."""

import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["label_name", "label_names", "visible"]

HIDDEN = {"Cc", "Cf", "Cn", "Cs", "Zl", "Zp"}
JOINERS = {"\u200c", "\u200d"}  # Persian and many Indian names need them
LONGEST_NAME = 160


def visible(text: str) -> str:
    """Write characters that cannot be seen, or that reorder others, as their code points.

    Examples
    --------
    >>> visible("cat\u202egod"), visible("naïve café")
    ('cat⟨U+202E⟩god', 'naïve café')
    """
    if text.isprintable():
        return text
    return "".join(_visible_character(character) for character in text)


def label_name(names: Sequence[str], label: int) -> str:
    """Return the name of a label as it is shown; the end of a very long one is left out.

    Examples
    --------
    >>> label_name(["cat", " "], 0), label_name(["cat", " "], 1)
    ('cat', 'label 1 (no name)')
    """
    name = visible(names[label][: LONGEST_NAME + 1])
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 1]}…"
    return name if name.strip() else f"label {label} (no name)"


def label_names(names: Sequence[str], labels: Iterable[int]) -> tuple[str, ...]:
    """Return the names of several labels as they are shown.

    Examples
    --------
    >>> label_names(["cat", "dog", ""], [2, 0])
    ('label 2 (no name)', 'cat')
    """
    return tuple(label_name(names, label) for label in labels)


def _visible_character(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in HIDDEN:
        return character
    return f"⟨U+{ord(character):04X}⟩"
