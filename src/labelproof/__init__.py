"""Prove which label combinations a multi-label classifier can ever predict.

Names are imported when first used, so that ``import labelproof`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelproof.errors import CertificateError, DataFormatError, LabelproofError, ModelFormatError
    from labelproof.verification import Argmaxable, Unargmaxable, Undecided, Verification, verify
    from labelproof.verification.counting import count_argmaxable, log10_argmaxable_fraction
    from labelproof.verification.cyclic import alternations

_HOME = {
    "Argmaxable": "labelproof.verification",
    "CertificateError": "labelproof.errors",
    "DataFormatError": "labelproof.errors",
    "LabelproofError": "labelproof.errors",
    "ModelFormatError": "labelproof.errors",
    "Unargmaxable": "labelproof.verification",
    "Undecided": "labelproof.verification",
    "Verification": "labelproof.verification",
    "alternations": "labelproof.verification.cyclic",
    "count_argmaxable": "labelproof.verification.counting",
    "log10_argmaxable_fraction": "labelproof.verification.counting",
    "verify": "labelproof.verification.verifier",
}

__all__ = [
    "Argmaxable",
    "CertificateError",
    "DataFormatError",
    "LabelproofError",
    "ModelFormatError",
    "Unargmaxable",
    "Undecided",
    "Verification",
    "alternations",
    "count_argmaxable",
    "log10_argmaxable_fraction",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'labelproof' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
