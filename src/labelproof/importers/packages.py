"""Packages that only some formats need."""

from importlib.util import find_spec

__all__ = ["need"]

_EXTRAS = {"torch": "torch", "skops": "audit", "sklearn": "train", "transformers": "train"}
_EXTRAS |= {"pydantic": "train", "safetensors": "train"}


def need(package: str, what: str) -> None:
    """Say in one sentence how to install what a file needs, if it is not there.

    Examples
    --------
    >>> need("numpy", "weights.npy")
    >>> need("not_there", "model.onnx")
    Traceback (most recent call last):
    ValueError: reading model.onnx needs the package not_there: pip install not_there
    """
    if find_spec(package) is None:
        install = f"'labelproof[{_EXTRAS[package]}]'" if package in _EXTRAS else package
        raise ValueError(f"reading {what} needs the package {package}: pip install {install}")
