"""Options of encoders: each kind has a frozen dataclass of them, checked when it is made."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from os import PathLike
from typing import Any

from labelproof.foundation.arguments import whole_number

__all__ = [
    "check_dropout",
    "check_flag",
    "check_path",
    "did_you_mean",
    "hold_whole_numbers",
    "option_names",
    "read_options",
]


def read_options(options: type, given: Mapping[str, Any]) -> Any:
    """Make an options dataclass from keywords; a name that it lacks is refused, with the nearest that it has.

    Examples
    --------
    >>> from labelproof.encoders.features import FeatureOptions
    >>> read_options(FeatureOptions, {"hiden": 8})
    Traceback (most recent call last):
    ValueError: hiden is no option here: did you mean hidden?
    """
    names = option_names(options)
    for name in given:
        if name not in names:
            raise ValueError(f"{name} is no option here: {did_you_mean(str(name), names)}")
    return options(**given)


def option_names(options: type) -> tuple[str, ...]:
    """Return the names of an options dataclass, in their order."""
    return tuple(field.name for field in fields(options))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the nearest known name, or the list of them where none is near.

    Examples
    --------
    >>> did_you_mean("tf-idf", ["tfidf", "cnn"]), did_you_mean("bert", ["tfidf", "cnn"])
    ('did you mean tfidf?', 'expected one of tfidf, cnn')
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"expected one of {', '.join(names) or '(none)'}"


def hold_whole_numbers(options: Any, *names: str, or_none: bool = False) -> None:
    """Check fields of an options dataclass to be integers of at least 1, and keep them as Python's own."""
    for name in names:
        value = getattr(options, name)
        if value is not None or not or_none:
            object.__setattr__(options, name, whole_number(name, value, minimum=1))


def check_path(name: str, value: Any) -> None:
    """Refuse what is neither a path nor None."""
    if value is not None and not isinstance(value, str | PathLike):
        raise ValueError(f"{name} must be a path, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_dropout(value: Any) -> None:
    """Refuse what is no number of at least 0 and below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError(f"dropout must be a number of at least 0 and below 1, got {value!r}")
