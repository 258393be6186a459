"""The errors that labelproof raises beside ValueError (a wrong argument) and TypeError."""

__all__ = ["CertificateError", "DataFormatError", "LabelproofError", "MissingPackageError", "ModelFormatError"]


class LabelproofError(Exception):
    """Base class of labelproof's own errors; a message is one line, whatever stands in the file that it quotes."""

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(message.splitlines()))


class CertificateError(LabelproofError):
    """A certificate does not prove what it claims."""


class DataFormatError(LabelproofError):
    """A file of weights, labels or results cannot be read as what it should be."""


class MissingPackageError(LabelproofError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class ModelFormatError(LabelproofError):
    """A model has no linear output layer that labelproof can take, or its files are damaged or of another format."""
