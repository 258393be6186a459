"""Tiny classifiers, examples and stored stretches for the standalone checker, made by hand: nothing here searches."""

import hashlib
import json
import math
import struct
from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof.standalone_stretch import Claim, InputError, Problem, read

__all__ = ["FEATURES", "WEIGHT", "claim_of", "example", "problem_of", "read_changed", "refuse", "write"]

WEIGHT = ((1.0, 0.0), (0.0, 2.0), (-1.0, 0.5))
FEATURES = ((1.0, 0.0), (-1.0, 0.5), (0.0, 1.0), (2.0, 0.5))  # with the mean (0.5, 0.5)


def whole(table):
    """Return integers and a unit for a table of rational numbers."""
    rows = [[Fraction(c) for c in row] for row in table]
    unit = math.lcm(*(c.denominator for row in rows for c in row))
    return [[int(c * unit) for c in row] for row in rows], unit


def problem_of(weight=WEIGHT, features=FEATURES, *, offset=None, centre=None, rule="sigmoid", ties="open"):
    """A classifier and examples of any rational numbers; the centre is their mean unless given."""
    mean = [sum(map(Fraction, column), Fraction(0)) / len(features) for column in zip(*features, strict=True)]
    rows, w_unit = whole([[*w, o] for w, o in zip(weight, offset or [0] * len(weight), strict=True)])
    points, f_unit = whole([*features, centre or mean])
    *examples, middle = points
    weights, offsets = [row[:-1] for row in rows], [row[-1] for row in rows]
    return Problem(rule, ties, weights, offsets, w_unit, examples, middle, f_unit)


def claim_of(active, *, lower=0.0, upper=math.inf, mixture=((), ()), weighted=((), ()), conflict=()):
    return Claim(frozenset(active), lower, upper, mixture, weighted, conflict)


def digest(text, *numbers):
    return hashlib.sha256(text.encode() + struct.pack(f"<{len(numbers)}d", *numbers)).hexdigest()


def example():
    """The header and the arrays of a stretch of three sets, with a bias and a bar of four predictions.

    The bias is (-1, -1, 0.25), so that the logits at the centre (0.5, 0.5) are (-0.5, 0, 0).
    {0} is predicted at 2.5 of the last example: x_0 = 0.5 + 2.5 · 1.5 = 4.25, x_1 = 0.5, so z = (3.25, 0, -3.75).
    """
    header = {
        "format": "labelproof stretch",
        "version": 1,
        "written_by": "hand",
        "n_labels": 3,
        "d": 2,
        "n_examples": 4,
        "weight_sha256": digest("3 2 ", *sum(WEIGHT, ())),
        "features_sha256": digest("4 2 ", *sum(FEATURES, ())),
        "rule": "sigmoid",
        "ties": "inactive",
        "bar": None,
    }
    arrays = {
        "centre": np.array([0.5, 0.5]),
        "offset": np.array([-1.0, -1.0, 0.25]),
        "offset_error": np.zeros(3),
        "indptr": np.array([0, 1, 3, 3]),
        "indices": np.array([0, 0, 2]),
        "lower": np.array([0.25, 0.0, 0.0]),
        "upper": np.array([2.5, np.inf, 0.0]),
        "mixture_ptr": np.array([0, 1, 1, 1]),
        "mixture_examples": np.array([3]),
        "mixture_weights": np.array([2.5]),
        "weighted_ptr": np.array([0, 1, 1, 1]),
        "weighted_labels": np.array([0]),
        "multipliers": np.array([1.5]),
        "conflict_ptr": np.array([0, 0, 0, 0]),
        "conflict_rows": np.empty(0, np.int64),
    }
    return header, arrays


def with_bar(n=8, alpha=0.5, rank=1, value=2.5):
    """The header's bar and the arrays of n predictions of {0}: P(Bin(8, ½) ≤ 1) = 9/256, and ≤ 2 it is 37/256."""
    _, arrays = example()
    once = {
        "indices": [0],
        "mixture_examples": [3],
        "mixture_weights": [2.5],
        "weighted_labels": [0],
        "multipliers": [1.5],
    }
    made = {f"bar_{name}": np.array(part * n, arrays[name].dtype) for name, part in once.items()}
    ends = {"indptr": 1, "mixture_ptr": 1, "weighted_ptr": 1, "conflict_ptr": 0}
    made |= {f"bar_{name}": np.arange(n + 1) * step for name, step in ends.items()}
    upper = np.array([2.5] * (n - 1) + [3.0])
    made |= {"bar_conflict_rows": np.empty(0, np.int64), "bar_lower": np.full(n, 0.25), "bar_upper": upper}
    return {"value": value, "alpha": alpha, "n": n, "rank": rank, "sha256": "", "k": None}, made


def write(folder, header, arrays, features=None, weights=None):
    """Write a result, weights and features; an array that is None is left out. Return the paths."""
    paths = [str(folder / name) for name in ("result.npz", "weights.npz", "features.npz")]
    content = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)} | arrays
    np.savez(paths[0], **{name: array for name, array in content.items() if array is not None})
    given = {"weight": np.array(WEIGHT), "bias": np.array([-1.0, -1.0, 0.25])} | (weights or {})
    np.savez(paths[1], **{name: array for name, array in given.items() if array is not None})
    np.savez(paths[2], **({"features": np.array(FEATURES)} if features is None else features))
    return paths


def read_changed(folder, fields=None, features=None, weights=None, **changes):
    """Read the example after changes of its header, of features and weights, and of its arrays."""
    header, arrays = example()
    return read(*write(folder, header | (fields or {}), arrays | changes, features, weights))


def refuse(folder, message, fields=None, features=None, weights=None, **changes):
    """Expect that the changed example is refused with these words."""
    with pytest.raises(InputError) as caught:
        read_changed(folder, fields, features, weights, **changes)
    assert message in str(caught.value)
