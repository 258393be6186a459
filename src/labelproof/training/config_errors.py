"""What is wrong with a configuration, in one sentence that names the option."""

from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from labelproof.encoders.options import did_you_mean

__all__ = ["ConfigError", "first_error", "refuse_option"]


class ConfigError(ValueError):
    """A configuration says something that is unknown or makes no sense; ``path`` is where, such as (trainer, lr).

    Examples
    --------
    >>> from labelproof.training import TrainConfig
    >>> TrainConfig.from_dict({"trainer": {"epoch": 3}})
    Traceback (most recent call last):
    labelproof.training.config_errors.ConfigError: trainer.epoch is unknown: did you mean epochs?
    """

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


def refuse_option(name: str, rest: str) -> NoReturn:
    """Refuse an option of a section, within a validator of pydantic."""
    raise PydanticCustomError("unknown_option", "{rest}", {"name": name, "rest": rest})


def first_error(error: ValidationError, whole: type[BaseModel]) -> ConfigError:
    """Return the first of pydantic's errors about a configuration of this class in one sentence of our own."""
    first = error.errors(include_url=False)[0]
    path = tuple(str(part) for part in first["loc"])
    if first["type"] == "unknown_option":
        path = (*path, first["ctx"]["name"])
        return ConfigError(path, f"{'.'.join(path)} is unknown {first['ctx']['rest']}")
    where = ".".join(path)
    if first["type"] == "extra_forbidden":
        return ConfigError(path, f"{where} is unknown: {did_you_mean(path[-1], _keys(whole, path[:-1]))}")
    message = first["msg"].removeprefix("Value error, ")
    if not first["type"].startswith("value_error"):
        message = f"{message[0].lower()}{message[1:]}, got {first['input']!r}"
    if path and message.startswith(f"{path[-1]} "):  # which names the option already
        return ConfigError(path, where + message.removeprefix(path[-1]))
    return ConfigError(path, f"{where}: {message}" if where else message)


def _keys(whole: type[BaseModel], path: tuple[str, ...]) -> list[str]:
    section: Any = whole
    for name in path:
        field = getattr(section, "model_fields", {}).get(name)
        section = None if field is None else field.annotation
    return list(getattr(section, "model_fields", {}))
