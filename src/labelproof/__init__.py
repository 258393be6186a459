"""Prove which label combinations a multi-label classifier can ever predict.

Names are imported when first used, so that ``import labelproof`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelproof.errors import CertificateError, DataFormatError, LabelproofError, ModelFormatError
    from labelproof.heads import BottleneckHead, DFTHead, replace_head
    from labelproof.verification import Argmaxable, Unargmaxable, Undecided, Verification, verify
    from labelproof.verification.counting import count_argmaxable, log10_argmaxable_fraction
    from labelproof.verification.cyclic import alternations
    from labelproof.verification.explain import Explanation, explain
    from labelproof.verification.plan import Plan, plan
    from labelproof.verification.store import load_verification

_ROOMS = {"activations", "decisions", "functional", "heads", "losses", "metrics"}
_HOME = {
    "Argmaxable": "labelproof.verification",
    "BottleneckHead": "labelproof.heads",
    "CertificateError": "labelproof.errors",
    "DFTHead": "labelproof.heads",
    "DataFormatError": "labelproof.errors",
    "Explanation": "labelproof.verification.explain",
    "LabelproofError": "labelproof.errors",
    "ModelFormatError": "labelproof.errors",
    "Plan": "labelproof.verification.plan",
    "Unargmaxable": "labelproof.verification",
    "Undecided": "labelproof.verification",
    "Verification": "labelproof.verification",
    "alternations": "labelproof.verification.cyclic",
    "count_argmaxable": "labelproof.verification.counting",
    "explain": "labelproof.verification.explain",
    "load_verification": "labelproof.verification.store",
    "log10_argmaxable_fraction": "labelproof.verification.counting",
    "plan": "labelproof.verification.plan",
    "replace_head": "labelproof.heads",
    "verify": "labelproof.verification.verifier",
}

__all__ = [
    "Argmaxable",
    "BottleneckHead",
    "CertificateError",
    "DFTHead",
    "DataFormatError",
    "Explanation",
    "LabelproofError",
    "ModelFormatError",
    "Plan",
    "Unargmaxable",
    "Undecided",
    "Verification",
    "alternations",
    "count_argmaxable",
    "explain",
    "load_verification",
    "log10_argmaxable_fraction",
    "plan",
    "replace_head",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"labelproof.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'labelproof' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
