"""Checks of the options of rules, each with one sentence that names the option."""

import math
from typing import Any

import numpy as np

from labelproof.foundation.arguments import check_choice

__all__ = ["require_number", "require_score_kind"]


def require_number(
    name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, above: bool = False
) -> None:
    """Refuse what is no finite number from low (or above it) to high; True and False are no numbers."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if real and math.isfinite(value) and low <= value <= high and not (above and value == low):
        return
    bounds = "" if low == -math.inf else f" {'above' if above else 'from'} {low:g}"
    bounds += "" if high == math.inf else f" to {high:g}"
    raise ValueError(f"{name} must be a finite number{bounds}, got {value!r}")


def require_score_kind(scores: Any, *, needed: bool) -> None:
    """Refuse a rule that does not say whether its scores are logits or probabilities; None is fine where not needed."""
    if needed or scores is not None:
        check_choice("scores", scores, ("logits", "probabilities"))
