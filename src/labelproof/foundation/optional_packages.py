"""Packages that only some work needs, and the one error for their absence."""

from importlib.util import find_spec

from labelproof.errors import MissingPackageError

__all__ = ["need"]

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
