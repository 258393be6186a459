"""A calibration and the rule that decides on its probabilities, as one rule."""

from dataclasses import dataclass
from typing import Any

from labelproof.decisions.calibration import Calibration
from labelproof.decisions.inputs import Floats, Labels
from labelproof.decisions.rules import Bools, Rule

__all__ = ["Calibrated"]


@dataclass(eq=False)
class Calibrated(Rule):
    """Turn scores into probabilities, then decide on these.

    ``fit`` fits the calibration, then the rule to what the calibration makes of the same scores. Both are fitted in
    place, and saved together.

    Parameters
    ----------
    calibration
        `TemperatureScaling`, `PlattScaling` or `IsotonicCalibration`.
    rule
        Any rule; one that asks what scores are must be told "probabilities".

    Attributes
    ----------
    geometry : None
        The rule's cuts are on calibrated probabilities, not on the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from labelproof.decisions import ExpectedF, PlattScaling
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((300, 4)) < 0.3
    >>> y_score = 5 + y_true + 0.5 * rng.standard_normal((300, 4))  # no probabilities at all
    >>> rule = Calibrated(PlattScaling(), ExpectedF(1.0, scores="probabilities")).fit(y_true, y_score)
    >>> float((rule.decide(y_score) == y_true).mean().round(2))
    0.82
    """

    calibration: Calibration
    rule: Rule

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        if not isinstance(self.calibration, Calibration):
            raise ValueError(f"calibration must be a calibration, such as PlattScaling(), got {self.calibration!r}")
        if not isinstance(self.rule, Rule):
            raise ValueError(f"rule must be a decision rule, got {self.rule!r}")
        if getattr(self.rule, "scores", None) == "logits":
            raise ValueError("rule must take scores='probabilities' after a calibration, got scores='logits'")
        self.calibration.check_options()
        self.rule.check_options()

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""
        self.check_options()
        self.calibration.check()
        self.rule.check()

    def __sklearn_is_fitted__(self) -> bool:
        return self.calibration.__sklearn_is_fitted__() and self.rule.__sklearn_is_fitted__()

    def _fit(self, labels: Labels, scores: Floats) -> None:
        self.calibration.fit(labels, scores)
        self.rule.fit(labels, self.calibration.transform(scores))

    def _decide(self, scores: Floats) -> Bools:
        return self.rule.decide(self.calibration.transform(scores))

    def _decide_blocks(self, scores: Floats, *, sparse: bool) -> Any:
        """Leave the blocks to the inner rule, which may decide all examples together."""
        return self.rule.decide(self.calibration.transform(scores), sparse=sparse)
