"""Names of a package that are imported when first used, so that one of them does not bring all."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from labelproof.foundation.optional_packages import TRAINING, need, need_all

__all__ = ["late_names"]


def late_names(package: str, homes: Mapping[str, str], *, trains: bool = False) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names are at home in other modules.

    Parameters
    ----------
    package
        Its name.
    homes
        For each name the module that has it, or that is it.
    trains
        Whether its modules need all that training does.

    Examples
    --------
    >>> late_names("labelproof.proof", {"LabelSets": "labelproof.proof.labels"})("LabelSets").__name__
    'LabelSets'
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - the hook of modules
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            home = import_module(homes[name])
        except ModuleNotFoundError as error:
            if trains:
                need_all(TRAINING, f"{package}.{name}", "train")
            need((error.name or "").partition(".")[0], f"{package}.{name}")
            raise
        value = home if homes[name] == f"{package}.{name}" else getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
