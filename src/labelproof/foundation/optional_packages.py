"""Packages that only some work needs, and the one error for their absence."""

from collections.abc import Iterable
from importlib.util import find_spec

from labelproof.errors import MissingPackageError

__all__ = ["TRAINING", "need", "need_all"]

TRAINING = ("torch", "lightning", "pydantic", "safetensors", "sklearn", "yaml")
"""What every training of a model, and every trained model, needs."""

_PACKAGES_OF_EXTRAS = {
    "torch": ("torch",),
    "train": ("PIL", "lightning", "pydantic", "safetensors", "sklearn", "tokenizers", "transformers", "yaml"),
    "audit": ("fastapi", "jinja2", "skops", "uvicorn"),
    "plots": ("matplotlib",),
    "parquet": ("pyarrow",),
    "keras": ("h5py", "keras"),
    "ray": ("ray",),
}


def need(package: str, what: str) -> None:
    """Say in one sentence how to install what some work needs, if it is not there.

    Parameters
    ----------
    package
        The name that it is imported by.
    what
        Who needs it, as the subject of a sentence.

    Examples
    --------
    >>> need("numpy", "reading weights.npy")
    >>> need("not_there", "reading model.onnx")
    Traceback (most recent call last):
    labelproof.errors.MissingPackageError: reading model.onnx needs the package not_there: pip install not_there
    """
    if find_spec(package) is None:
        extra = next((extra for extra, packages in _PACKAGES_OF_EXTRAS.items() if package in packages), None)
        install = package if extra is None else f"'labelproof[{extra}]'"
        raise MissingPackageError(f"{what} needs the package {package}: pip install {install}")


def need_all(packages: Iterable[str], what: str, extra: str) -> None:
    """Say in one sentence how to install an extra that some work needs, if one of its packages is not there.

    Examples
    --------
    >>> need_all(["numpy", "not_there"], "labelproof train", "train")
    Traceback (most recent call last):
    labelproof.errors.MissingPackageError: labelproof train needs the package not_there: pip install 'labelproof[train]'
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingPackageError(f"{what} needs the package {package}: pip install 'labelproof[{extra}]'")
