"""Packages that only some encoders need."""

from importlib.util import find_spec

__all__ = ["require"]


def require(package: str, kind: str) -> None:
    """Say in one sentence which package an encoder needs, if it is not installed.

    Examples
    --------
    >>> require("a_package_that_is_not_there", "transformer")
    Traceback (most recent call last):
    ImportError: the transformer encoder needs the package a_package_that_is_not_there, which is not installed
    """
    if find_spec(package) is None:
        raise ImportError(f"the {kind} encoder needs the package {package}, which is not installed")
