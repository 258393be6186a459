"""Decide, with proof, which label sets a classifier's output layer can ever predict."""

from labelproof.verification.certificates import Argmaxable, Certificate, Unargmaxable, Undecided
from labelproof.verification.result import Verification
from labelproof.verification.verifier import verify

__all__ = ["Argmaxable", "Certificate", "Unargmaxable", "Undecided", "Verification", "verify"]
