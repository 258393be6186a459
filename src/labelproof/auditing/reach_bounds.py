"""Rigorous bounds for the reach: how far from the mean of features, in units of their spread, a label set begins.

With x = mean + u·spread and multipliers θ ≥ 0 of labels, a set with signs y needs

    G(x) = Σ θ_i y_i z_i(x) ≥ 0,   and so   |u| ≥ −G(mean) / |spread · Σ θ_i y_i w_i|   if G(mean) < 0.

Of inputs with this mean and covariance, whatever their distribution, at most a share v / (v + G(mean)²) has G ≥ 0, v
the variance of G (Marshall and Olkin; in one direction Cantelli): so at most that share is predicted as the set. Here
mean and variance are those of the examples themselves, so that it holds of them.

Sums carry a bound on their rounding error, rounded outwards. The reach is kept with no proof that a check reads: the
stretch is.
"""

import math

import numpy as np
import numpy.typing as npt

from labelproof.proof.examples import Examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import TINY, UNIT, relative_error
from labelproof.proof.stretch_bounds import Weighted, weighted_sums

__all__ = ["reach_lowers", "share_bounds"]

Floats = npt.NDArray[np.float64]
AT_ONCE = 256
ROOM = 1e-9  # by which shares are enlarged, more than the last operations can change them


def reach_lowers(layer: OutputLayer, mean: Floats, spread: Floats, sets: LabelSets, weighted: list[Weighted]) -> Floats:
    """Return a lower bound of each set's reach, from its weighted labels; 0 where they prove none."""
    size = np.abs(spread)
    bounds = np.zeros(len(sets))
    for i, (rows, theta) in enumerate(weighted):
        if _is_sound(layer, rows, theta):
            with np.errstate(all="ignore"):
                bounds[i] = _lower(layer, mean, spread, size, sets[i], rows, theta)
    return bounds


def _lower(
    layer: OutputLayer,
    mean: Floats,
    spread: Floats,
    size: Floats,
    active: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    theta: Floats,
) -> float:
    v, v_error, constant, constant_error = weighted_sums(layer, active, rows, theta)
    rounding, at_mean = relative_error(layer.d), float(mean @ v)
    mean_error = 1.01 * (rounding * float(np.abs(mean) @ np.abs(v)) + float(np.abs(mean) @ v_error)) + layer.d * TINY
    top = -(at_mean + constant) - mean_error - constant_error - 4 * UNIT * (abs(at_mean) + abs(constant))
    along = spread @ v
    along_error = 1.01 * (rounding * (size @ np.abs(v)) + size @ v_error) + layer.d * TINY
    bottom = float(np.linalg.norm(np.abs(along) + along_error)) * (1 + relative_error(len(along))) + TINY
    if not (top > 0 and math.isfinite(top) and math.isfinite(bottom)):
        return 0.0
    return float(np.nextafter(top / bottom * (1 - 8 * UNIT), -np.inf))


def share_bounds(layer: OutputLayer, examples: Examples, sets: LabelSets, weighted: list[Weighted]) -> Floats:
    """Return for each set a share that bounds how many of inputs like the examples are predicted as it; 1 if none."""
    shares = np.ones(len(sets))
    sound = [i for i, (rows, theta) in enumerate(weighted) if len(rows) and _is_sound(layer, rows, theta)]
    for start in range(0, len(sound), AT_ONCE):
        some = sound[start : start + AT_ONCE]
        sums = [weighted_sums(layer, sets[i], *weighted[i]) for i in some]
        directions = np.array([v for v, _, _, _ in sums]).T  # (d, n_sets)
        constants = np.array([constant for _, _, constant, _ in sums])
        with np.errstate(all="ignore"):
            errors = np.array([_value_error(examples, *one) for one in sums])
            values = np.concatenate([np.asarray(block @ directions) for block in examples.blocks()]) + constants
            highest = values.mean(axis=0) + 2 * errors  # the mean of G is at most this
            deviation = values.std(axis=0) + 2 * errors
            share = deviation**2 / (deviation**2 + highest**2) + ROOM
        shares[some] = np.where((highest < 0) & np.isfinite(share), np.minimum(share, 1.0), 1.0)
    return shares


def _value_error(examples: Examples, v: Floats, v_error: Floats, constant: float, constant_error: float) -> float:
    """Return a bound on the error of G at each example, and of sums over the examples, which are pairwise."""
    size = float(examples.largest @ np.abs(v)) + abs(constant)
    rounding = relative_error(examples.terms) + 64 * UNIT
    return 1.01 * (rounding * size + float(examples.largest @ v_error) + constant_error) + examples.d * TINY


def _is_sound(layer: OutputLayer, rows: npt.NDArray[np.int64], theta: Floats) -> bool:
    in_range = bool(((rows >= 0) & (rows < layer.n_labels)).all())
    return in_range and rows.shape == theta.shape and bool((np.isfinite(theta) & (theta >= 0)).all())
