"""Rigorous bounds on the stretch of two labels together, all others free, for many pairs among the same examples.

For the rule sigmoid. With D_ji = w_i·(f_j − c) and z_i(c), the stretch of labels a and b is the infimum of Σ λ_j, λ ≥
0, with z_i(c) + Σ_j λ_j D_ji > 0 for i = a, b. Two examples with their λ prove it from above; multipliers θ ≥ 0 from
below:

    Σ λ_j ≥ −(θ_a z_a(c) + θ_b z_b(c)) / max_j (θ_a D_ja + θ_b D_jb)   if the numerator is positive.

Trusted code: D is kept in single precision with a bound on its error for each label, so that a pair costs a scan of two
rows.
"""

import numpy as np
import numpy.typing as npt

from labelproof.proof.examples import Examples
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import TINY, UNIT, relative_error

__all__ = ["MOST_LOGITS", "LogitTable", "logit_table"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
SINGLE = 2.0**-24  # rounding to single precision changes a number by at most this share of it
LEAST_SINGLE = 2.0**-148  # more than what underflow changes there
MOST_LOGITS = 300_000_000  # 1.2 GB


class LogitTable:
    """Logits of examples beyond those at their centre, by label, with bounds on their errors.

    Attributes
    ----------
    beyond
        float32 (n_labels, n_examples).
    centre
        float64 (n_labels,): logits at the centre.
    beyond_error, centre_error
        float64 (n_labels,): the most by which they are off.
    highest
        float64 (n_labels,): the largest |beyond| of each label.
    """

    def __init__(
        self, beyond: npt.NDArray[np.float32], centre: Floats, beyond_error: Floats, centre_error: Floats
    ) -> None:
        self.beyond, self.centre = beyond, centre
        self.beyond_error, self.centre_error = beyond_error, centre_error
        self.highest = np.maximum(beyond.max(axis=1), -beyond.min(axis=1)).astype(np.float64)

    @np.errstate(all="ignore")  # numbers that overflow prove nothing
    def lowers(self, pairs: Indices, theta: Floats) -> Floats:
        """Return a lower bound of the stretch of each pair of labels (n, 2), from multipliers (n, 2); 0 if none."""
        single = theta.astype(np.float32)
        exact = single.astype(np.float64)
        highest = np.array([_largest(self.beyond, *pair, *t) for pair, t in zip(pairs.tolist(), single, strict=True)])
        sizes = (exact * (self.highest + self.beyond_error)[pairs]).sum(axis=1)
        error = (exact * self.beyond_error[pairs]).sum(axis=1) + 4 * SINGLE * sizes + 4 * LEAST_SINGLE
        top = -(exact * self.centre[pairs]).sum(axis=1)
        size = (exact * (np.abs(self.centre) + self.centre_error)[pairs]).sum(axis=1)
        top -= 1.01 * ((exact * self.centre_error[pairs]).sum(axis=1) + 8 * UNIT * size) + TINY
        bottom = highest.reshape(-1) + 1.01 * error
        return np.where((np.isfinite(exact) & (exact >= 0)).all(axis=1), _quotient(top, bottom), 0.0)

    @np.errstate(all="ignore")
    def uppers(self, pairs: Indices, examples: Indices, weights: Floats) -> Floats:
        """Return an upper bound of the stretch of each pair, from two examples (n, 2) and weights; inf if none."""
        sound = np.asarray((np.isfinite(weights) & (weights >= 0)).all(axis=1))
        weights = np.where(sound[:, None], weights, 0.0)
        amounts = weights.sum(axis=1)
        for side in (0, 1):
            label = pairs[:, side]
            gains = self.beyond[label[:, None], examples].astype(np.float64)  # (n, 2)
            logit = self.centre[label] + (weights * gains).sum(axis=1)
            size = np.abs(self.centre[label]) + (weights * np.abs(gains)).sum(axis=1)
            error = self.centre_error[label] + amounts * self.beyond_error[label] + 16 * UNIT * size + TINY
            sound &= logit > 1.01 * error
        return np.where(sound, np.where(amounts > 0, np.nextafter(amounts, np.inf), 0.0), np.inf)

    def single_lowers(self) -> Floats:
        """Return a lower bound of the stretch at which each label is on by itself, the others free."""
        top = -self.centre - 1.01 * self.centre_error
        bottom = self.beyond.max(axis=1).astype(np.float64) + 1.01 * self.beyond_error
        return _quotient(top, bottom)


def logit_table(layer: OutputLayer, examples: Examples, labels: Indices, *, slacks: float = 1.0) -> LogitTable:
    """Compute the logits of some labels for all examples, with bounds on their errors."""
    if layer.rule != "sigmoid":
        raise ValueError(f"pairs of labels go with rule='sigmoid' only, got rule={layer.rule!r}")
    if len(labels) * len(examples) > MOST_LOGITS:
        raise ValueError(
            f"pairs need labels × examples of at most {MOST_LOGITS:,} to fit into memory, "
            f"got {len(labels):,} × {len(examples):,}: take fewer examples or fewer pairs"
        )
    weight = layer.weight[labels]
    beyond = np.empty((len(labels), len(examples)), np.float32)
    at_centre = weight @ examples.centre
    start = 0
    for block in examples.blocks():
        stop = start + block.shape[0]
        beyond[:, start:stop] = (np.asarray(block @ weight.T) - at_centre).T
        start = stop
    size = np.abs(weight)
    from_centre = size @ np.abs(examples.centre)
    product_error = 1.01 * relative_error(layer.d) * (size @ examples.largest + from_centre) + layer.d * TINY
    largest = np.abs(beyond).max(axis=1).astype(np.float64)
    beyond_error = product_error + 2 * SINGLE * largest + LEAST_SINGLE
    centre_error = 1.01 * relative_error(layer.d) * from_centre + layer.d * TINY
    centre = at_centre
    if layer.offset is not None and layer.offset_error is not None:
        centre = at_centre + layer.offset[labels]
        centre_error += np.abs(layer.offset_error[labels]) + 4 * UNIT * (np.abs(at_centre) + np.abs(centre))
    return LogitTable(beyond, centre, slacks * beyond_error, slacks * centre_error)


def _quotient(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom, rounded down, or infinity where the bottom is not positive; 0 where nothing is proven."""
    sound = (top > 0) & np.isfinite(top) & np.isfinite(bottom)
    with np.errstate(all="ignore"):
        least = np.nextafter(top / bottom * (1 - 8 * UNIT), -np.inf)  # also of what overflowed, or underflowed
    return np.where(sound, np.where(bottom > 0, np.maximum(least, 0.0), np.inf), 0.0)


def _largest(beyond: npt.NDArray[np.float32], a: int, b: int, theta_a: np.float32, theta_b: np.float32) -> np.float32:
    return (theta_a * beyond[a] + theta_b * beyond[b]).max()
