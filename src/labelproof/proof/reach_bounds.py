"""Rigorous bounds for the reach: how far from the mean of features, in units of their spread, a label set begins.

The reach of a set is the infimum of |u| over all inputs x = mean + u·spread that are predicted as it, whatever domain
the layer has. With multipliers θ ≥ 0 of labels, v = Σ θ_i y_i w_i and the signs y of the set, it needs

    G(x) = Σ θ_i y_i z_i(x) ≥ 0,   and so   |u| ≥ −G(mean) / |spread · v|   if G(mean) < 0.

From above, the same multipliers name the input u = spread · v, at which the set must be predicted: at the least
distance the pulls of the labels that are in the way add up to just that.

Of inputs with this mean and covariance, whatever their distribution, at most a share v / (v + G(mean)²) has G ≥ 0, v
the variance of G (Marshall and Olkin; in one direction Cantelli): so at most that share is predicted as the set. Here
mean and variance are those of the examples themselves, so that it holds of them.

Trusted code: sums carry a bound on their rounding error, rounded outwards, and kept wider by ``slacks`` times that
error, so that bounds of several slacks hold again, with one, when another processor sums in another order.
"""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from labelproof.proof.examples import Examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer, integers
from labelproof.proof.rounding import TINY, UNIT, float_rows, relative_error
from labelproof.proof.stretch_bounds import Weighted, are_predicted, weighted_sums
from labelproof.proof.witnesses import witness_faults

__all__ = ["reach_lowers", "reach_uppers", "share_bounds", "spread_fault"]

Floats = npt.NDArray[np.float64]
Sums = tuple[Floats, Floats, float, float]
AT_ONCE = 256
ROOM = 1e-9  # by which shares are enlarged, more than the last operations can change them
UNIT_COVARIANCE = 1e-3  # how closely a spread must whiten its features: more than rounding does to narrow directions
LEFT_OUT = 1e-9  # of the variance of the features, that directions without a spread may have


def reach_lowers(
    layer: OutputLayer,
    mean: Floats,
    spread: Floats,
    sets: LabelSets,
    weighted: list[Weighted],
    *,
    slacks: float = 1.0,
) -> Floats:
    """Return a lower bound of each set's reach, from its weighted labels; 0 where they prove none."""
    bounds = np.zeros(len(sets))
    for i, (rows, theta) in enumerate(weighted):
        if _is_sound(layer, rows, theta):
            with np.errstate(all="ignore"):
                bounds[i] = _lower(mean, spread, weighted_sums(layer, sets[i], rows, theta), slacks)
    return bounds


def _lower(mean: Floats, spread: Floats, sums: Sums, slacks: float) -> float:
    v, v_error, constant, constant_error = sums
    d, at_mean = len(v), float(mean @ v)
    mean_error = 1.01 * (relative_error(d) * float(np.abs(mean) @ np.abs(v)) + float(np.abs(mean) @ v_error)) + d * TINY
    error = mean_error + constant_error + 4 * UNIT * (abs(at_mean) + abs(constant))
    top = -(at_mean + constant) - slacks * error
    along, along_error = _along(spread, v, v_error)
    bottom = _norm(np.abs(along) + slacks * along_error)
    if not (top > 0 and math.isfinite(top) and math.isfinite(bottom)):
        return 0.0
    return float(np.nextafter(top / bottom * (1 - 8 * UNIT), -np.inf))


def reach_uppers(
    layer: OutputLayer,
    mean: Floats,
    spread: Floats,
    sets: LabelSets,
    weighted: list[Weighted],
    *,
    slacks: float = 1.0,
) -> Floats:
    """Return an upper bound of each set's reach, from the input that its weighted labels name; infinity if none."""
    bounds, floats = np.full(len(sets), np.inf), float_rows(layer)
    with np.errstate(all="ignore"):
        named = [_named(layer, mean, spread, sets[i], *one) for i, one in enumerate(weighted)]
    sound = [i for i, (_, x, error, _) in enumerate(named) if np.isfinite(x).all() and math.isfinite(error)]
    for start in range(0, len(sound), AT_ONCE):
        some = sound[start : start + AT_ONCE]
        points, errors = [named[i][1] for i in some], [named[i][2] for i in some]
        certain = are_predicted(layer, floats, sets.take(some), points, errors, slacks=slacks)
        for i, is_certain in zip(some, certain, strict=True):
            u, _, _, off = named[i]
            if is_certain or witness_faults(layer, floats, sets.take([i]), [_exact_input(mean, spread, u)])[0] is None:
                bounds[i] = _norm(np.abs(u) + (slacks - 1) * off) if u.any() else 0.0
    return bounds


def _named(
    layer: OutputLayer,
    mean: Floats,
    spread: Floats,
    active: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    theta: Floats,
) -> tuple[Floats, Floats, float, Floats]:
    """Return u = spread · v as computed, x = mean + u·spread, how far off x may be, and by how much u may differ.

    Any u is a witness, as it is; that another processor may compute another one is for bounds of several slacks.
    """
    if len(rows) and not _is_sound(layer, rows, theta):
        return np.zeros(len(spread)), np.full(len(mean), np.nan), np.inf, np.zeros(len(spread))
    v, v_error, _, _ = weighted_sums(layer, active, rows, theta)
    u, off = _along(spread, v, v_error)
    size = np.abs(mean) + np.abs(u) @ np.abs(spread)
    error = 2.02 * relative_error(len(spread) + 2) * float(np.linalg.norm(size)) + len(mean) * len(spread) * 2.0**-500
    return u, mean + u @ spread, error + 1.01 * float(np.linalg.norm(off @ np.abs(spread))), off


def _exact_input(mean: Floats, spread: Floats, u: Floats) -> tuple[Fraction, ...]:
    """Return mean + u·spread without rounding."""
    points = np.vstack([spread, mean])
    numerators, unit = integers(points.ravel().tolist())
    amounts, of = integers(u.tolist())
    summed = np.array([*amounts, of], dtype=object) @ np.array(numerators, dtype=object).reshape(points.shape)
    return tuple(Fraction(int(number), unit * of) for number in summed)


def _along(spread: Floats, v: Floats, v_error: Floats) -> tuple[Floats, Floats]:
    """Return spread · v and a bound on its error."""
    size = np.abs(spread)
    error = 1.01 * (relative_error(len(v)) * (size @ np.abs(v)) + size @ v_error) + len(v) * TINY
    return spread @ v, error


def _norm(numbers: Floats) -> float:
    """Return the norm, rounded up; squares of numbers below 2**-500 may underflow."""
    return float(np.linalg.norm(numbers)) * (1 + relative_error(len(numbers))) + len(numbers) * 2.0**-500


def share_bounds(
    layer: OutputLayer, examples: Examples, sets: LabelSets, weighted: list[Weighted], *, slacks: float = 1.0
) -> Floats:
    """Return for each set a share that bounds how many of inputs like the examples are predicted as it; 1 if none."""
    shares = np.ones(len(sets))
    sound = [i for i, (rows, theta) in enumerate(weighted) if len(rows) and _is_sound(layer, rows, theta)]
    for start in range(0, len(sound), AT_ONCE):
        some = sound[start : start + AT_ONCE]
        sums = [weighted_sums(layer, sets[i], *weighted[i]) for i in some]
        directions = np.array([v for v, _, _, _ in sums]).T  # (d, n_sets)
        constants = np.array([constant for _, _, constant, _ in sums])
        with np.errstate(all="ignore"):
            errors = slacks * np.array([_value_error(examples, *one) for one in sums])
            values = np.concatenate([np.asarray(block @ directions) for block in examples.blocks()]) + constants
            scale = -np.frexp(np.abs(values).max(axis=0) + errors)[1]  # so that no square underflows that counts
            values, errors = np.ldexp(values, scale), np.ldexp(errors, scale)
            highest = values.mean(axis=0) + 2 * errors  # the mean of G is at most this
            deviation = values.std(axis=0) + 2 * errors
            share = deviation**2 / (deviation**2 + highest**2) + slacks * ROOM
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


def spread_fault(examples: Examples, spread: Floats) -> str | None:
    """Return what is wrong if the features, in units of a spread, have no unit covariance, or vary elsewhere too."""
    squares = (spread**2).sum(axis=1)
    if not (np.isfinite(squares) & (squares > 0)).all():
        return "expected a spread of finite directions, got others"
    covariance, variance = np.zeros((len(spread), len(spread))), 0.0
    for block in examples.blocks():
        centred = (block.toarray() if examples.is_sparse else block) - examples.centre
        units = centred @ (spread / squares[:, None]).T
        covariance += units.T @ units / (len(examples) - 1)
        variance += float((centred**2).sum()) / (len(examples) - 1)
    if not np.abs(covariance - np.eye(len(spread))).max(initial=0.0) <= UNIT_COVARIANCE:
        return "expected a spread in units of which the features have unit covariance, got another"
    if not variance - float(squares.sum()) <= LEFT_OUT * variance:
        return "expected a spread of all directions in which the features vary, got fewer"
    return None
