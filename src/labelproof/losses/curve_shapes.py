"""What the loss of one logit looks like: the exponents, the clip and the weights that losses of any framework share."""

from dataclasses import dataclass

__all__ = ["CurveShape"]


@dataclass(frozen=True)
class CurveShape:
    """What both parts of a loss look like: exponents, clip, weight alpha of the positive part, smoothing of targets.

    ``through`` says whether the factors with the exponents are differentiated.
    """

    gamma_pos: float = 0.0
    gamma_neg: float = 0.0
    clip: float = 0.0
    through: bool = True
    alpha: float | None = None
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not (self.gamma_pos >= 0 and self.gamma_neg >= 0):
            raise ValueError(f"gamma must be at least 0, got {min(self.gamma_pos, self.gamma_neg)}")
        if not 0 <= self.clip < 1:
            raise ValueError(f"clip must be at least 0 and less than 1, got {self.clip}")
        if self.alpha is not None and not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha must lie between 0 and 1, got {self.alpha}")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"label_smoothing must be at least 0 and less than 1, got {self.smoothing}")
