"""Options that belong together, as fields of a frozen dataclass: a verb takes groups, the command line each option."""

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

__all__ = ["grouped"]


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """Return a verb for typer, with each field of those of its parameters that are dataclasses as an option.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Place:
    ...     folder: str
    ...     name: str = "report"
    >>> def write(place: Place, quiet: bool = False) -> None:
    ...     print(place, quiet)
    >>> list(signature(grouped(write)).parameters)
    ['folder', 'name', 'quiet']
    >>> grouped(write)(folder="audit")
    Place(folder='audit', name='report') False
    """
    kinds = get_type_hints(verb, include_extras=True)
    groups = {name: kinds[name] for name in signature(verb).parameters if is_dataclass(kinds[name])}
    options: list[Parameter] = []
    for name, one in signature(verb).parameters.items():
        options += _options_of(groups[name]) if name in groups else [_option(name, kinds[name], one.default)]

    @wraps(verb)
    def flat(**given: Any) -> None:
        held = {
            name: group(**{one.name: given.pop(one.name) for one in fields(group) if one.name in given})
            for name, group in groups.items()
        }
        verb(**held, **given)

    flat.__signature__ = Signature(options)  # type: ignore[attr-defined] # what `inspect.signature` reads
    flat.__annotations__ = {one.name: one.annotation for one in options}
    return flat


def _options_of(group: Any) -> list[Parameter]:
    kinds = get_type_hints(group, include_extras=True)
    return [
        _option(one.name, kinds[one.name], Parameter.empty if one.default is MISSING else one.default)
        for one in fields(group)
    ]


def _option(name: str, kind: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
