"""Which version of labelproof this is: the one that it was installed as, which pyproject.toml states."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("labelproof")
