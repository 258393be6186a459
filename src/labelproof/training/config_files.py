"""Configurations as YAML files: reading with the line of what is wrong, and overrides from the command line."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from labelproof.data.textfile import at, read_lines
from labelproof.errors import DataFormatError
from labelproof.training.config import TrainConfig, implied_head
from labelproof.training.config_errors import ConfigError

__all__ = ["changed", "override", "read_config", "read_value"]

DEPTH = 3  # of keys, as in data.path.train; an alias within itself has no end


def read_config(path: str | Path, overrides: Iterable[str] = ()) -> TrainConfig:
    """Read a configuration.

    Parameters
    ----------
    path
        Of a YAML file.
    overrides
        Such as ``trainer.epochs=3``; values are read as YAML.

    Raises
    ------
    DataFormatError
        If the file is no YAML, or says something that is unknown or makes no sense; it names the file and the line.
    ConfigError
        If an override does.
    """
    path = Path(path)
    text = "\n".join(line for _, line in read_lines(path))
    try:
        node = yaml.compose(text, Loader=_Loader)
        lines = dict(_lines(node)) if node is not None else {}
        values = read_value(text) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = at(path, mark.line + 1 if mark else None)
        what = str(getattr(error, "problem", error)).splitlines()[0]
        raise DataFormatError(f"{where}: expected YAML: {what}") from error
    except ConfigError as error:
        raise DataFormatError(f"{at(path, int(error.path[-1]))}: {error}") from error
    if not isinstance(values, dict):
        raise DataFormatError(
            f"{path.name}: expected a configuration with sections such as data and head, got {type(values).__name__}"
        )
    overrides = list(overrides)
    changed = override(values, overrides)
    try:
        return TrainConfig.from_dict(changed)
    except ConfigError as error:
        if any(_concerns(word, error.path) for word in overrides):
            raise
        known = next((lines[error.path[:n]] for n in range(len(error.path), 0, -1) if error.path[:n] in lines), None)
        raise DataFormatError(f"{at(path, known)}: {error}") from None


def override(values: dict[str, Any], words: Iterable[str]) -> dict[str, Any]:
    """Return nested values with some replaced; a section that gets another kind loses the options of the old one.

    Parameters
    ----------
    values
        As a YAML file gives them.
    words
        Such as ``trainer.epochs=3`` or ``loss.kind=focal``.

    Examples
    --------
    >>> override({"trainer": {"epochs": 30, "lr": 0.1}}, ["trainer.epochs=3", "head.kind=linear"])
    {'trainer': {'epochs': 3, 'lr': 0.1}, 'head': {'kind': 'linear'}}
    """
    return changed(values, [_change(word) for word in words])


def changed(values: dict[str, Any], changes: Iterable[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return nested values with some replaced, each by section, key and value; see `override`."""
    result = {name: dict(section) if isinstance(section, dict) else section for name, section in values.items()}
    for section, name, value in sorted(changes, key=lambda change: change[1] != "kind"):  # their options follow
        old = result.get(section)
        old = old if isinstance(old, dict) else {}
        kept = {} if name == "kind" and old.get("kind", _default_kind(section, values)) != value else old
        result[section] = {**kept, name: value}
    return result


def read_value(text: str) -> Any:
    """Read a value as YAML, in which 1e-3 is a number."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader


def _change(word: str) -> tuple[str, str, Any]:
    """Return section, key and value of an override."""
    key, equals, text = word.partition("=")
    section, dot, name = key.partition(".")
    if not equals or not dot or not name:
        raise ConfigError((key,), f"an override must have the form section.key=value, got {word!r}")
    try:
        return section, name, read_value(text)
    except yaml.YAMLError:
        raise ConfigError((section, name), f"the value of {key} must be YAML, got {text!r}") from None


def _default_kind(section: str, values: dict[str, Any]) -> str | None:
    return implied_head(values) if section == "head" else getattr(getattr(TrainConfig(), section, None), "kind", None)


def _concerns(word: str, path: tuple[str, ...]) -> bool:
    """Return whether an error at this path may come from an override: of the key, or, if it has none, the section."""
    section, name, _ = _change(word)
    return path[:2] in ((section, name), (section,))


class _Loader(yaml.SafeLoader):
    """YAML 1.1 takes 1e-3 for text; here it is a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def _lines(node: yaml.Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the line of every key; refuse a key that comes twice, of which YAML would keep the last."""
    if not isinstance(node, yaml.MappingNode) or len(path) == DEPTH:
        return
    seen: set[str] = set()
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name in seen:
            raise ConfigError((*path, name, str(line)), f"{'.'.join((*path, name))} is given twice")
        seen.add(name)
        yield (*path, name), line
        yield from _lines(value, (*path, name))
