"""Metrics of a confusion matrix as ratios of sums of its counts: the definitions that losses of any framework share."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

__all__ = ["AVERAGES", "METRICS", "SCORES", "Average", "Factors", "Metric", "Scores", "read_metric"]

Average = Literal["macro", "micro", "weighted", "samples"]
AVERAGES = ("macro", "micro", "weighted", "samples")
Scores = Literal["sigmoid", "logits"]
SCORES = ("sigmoid", "logits")
Factors = tuple[float, float, float, float]  # of hits, predicted, positives and total


@dataclass(frozen=True)
class Metric:
    """A metric, and whether it is undefined, or deaf to what is predicted, without a positive or a negative.

    It is the mean of ratios of two sums of counts, each given by the counts' factors; without a ratio, it is Matthews'
    correlation.
    """

    ratios: tuple[tuple[Factors, Factors], ...] = ()
    needs_positives: bool = True
    needs_negatives: bool = False


def read_metric(name: str, f_beta: float = 1.0) -> Metric:
    """Return the metric of this name; F-beta weighs recall f_beta times as much as precision.

    Examples
    --------
    >>> read_metric("jaccard").ratios  # hits / (predicted + positives - hits)
    (((1, 0, 0, 0), (-1, 1, 1, 0)),)
    """
    if name == "fbeta":
        if not f_beta > 0:
            raise ValueError(f"f_beta must be positive, got {f_beta:g}")
        square = f_beta**2
        return Metric(_over((1 + square, 0, 0, 0), (0, 1, square, 0)))
    if name not in METRICS:
        known = [*METRICS, "fbeta"]
        near = get_close_matches(str(name), known, n=2, cutoff=0.5)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"metric must be one of {', '.join(map(repr, known))}, got {name!r}{hint}")
    return METRICS[name]


def _over(above: Factors, below: Factors) -> tuple[tuple[Factors, Factors], ...]:
    return ((above, below),)


_REJECTED = (1, -1, -1, 1)  # labels that are rightly not predicted: total - positives - (predicted - hits)
_RECALL = _over((1, 0, 0, 0), (0, 0, 1, 0))
_SPECIFICITY = _over(_REJECTED, (0, 0, -1, 1))

METRICS = {
    "f1": Metric(_over((2, 0, 0, 0), (0, 1, 1, 0))),
    "accuracy": Metric(_over((2, -1, -1, 1), (0, 0, 0, 1)), needs_positives=False),
    "precision": Metric(_over((1, 0, 0, 0), (0, 1, 0, 0))),
    "recall": Metric(_RECALL),
    "specificity": Metric(_SPECIFICITY, needs_positives=False, needs_negatives=True),
    "npv": Metric(_over(_REJECTED, (0, -1, 0, 1)), needs_positives=False, needs_negatives=True),
    "jaccard": Metric(_over((1, 0, 0, 0), (-1, 1, 1, 0))),
    "balanced-accuracy": Metric(_RECALL + _SPECIFICITY, needs_negatives=True),
    "mcc": Metric(needs_negatives=True),
}
