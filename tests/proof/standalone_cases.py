"""Tiny classifiers and stored results for the standalone checker, made by hand: nothing here searches."""

import hashlib
import json
import math
import struct
from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof.standalone import InputError, Layer, read

__all__ = [
    "TRIANGLE",
    "example",
    "layer_of",
    "paths_in",
    "radii",
    "read_changed",
    "refuse",
    "with_offset",
    "write",
    "write_weights",
]

TRIANGLE = ((1.0, 0.0), (0.0, 1.0), (-1.0, -1.0))


def layer_of(weight, offset=None, *, low=None, high=None, rule="sigmoid", ties="open", temperature=1, is_usual=True):
    """A classifier of any rational numbers; None in a bound is infinity."""
    rows = [[Fraction(c) for c in row] for row in weight]
    offsets = [Fraction(c) for c in offset or [0] * len(rows)]
    unit = math.lcm(*(c.denominator for row in [*rows, offsets] for c in row))
    free = [None] * len(rows[0])
    return Layer(
        rule=rule,
        ties=ties,
        temperature=Fraction(temperature),
        low=[c if c is None else Fraction(c) for c in low or free],
        high=[c if c is None else Fraction(c) for c in high or free],
        weight=[[int(c * unit) for c in row] for row in rows],
        offset=[int(c * unit) for c in offsets],
        unit=unit,
        has_offset=offset is not None,
        exponents=[math.frexp(max(map(abs, (*row, o))))[1] for row, o in zip(rows, offsets, strict=True)],
        is_usual=is_usual,
    )


def example():
    """The header and the arrays of a result for the triangle that has every verdict and every kind of evidence."""
    header = {
        "format": "labelproof verification",
        "version": 1,
        "written_by": "hand",
        "n_labels": 3,
        "d": 2,
        "weight_sha256": hashlib.sha256(b"3 2 " + struct.pack("<6d", *sum(TRIANGLE, ()))).hexdigest(),
        "rule": "sigmoid",
        "ties": "open",
        "temperature": 1.0,
        "certified": True,
        "eps": 1e-8,
        "box": None,
        "fractions": {"2": ["0x1/0x1", "-0x1/0x3"]},
        "reasons": {"3": "the time was over"},
        "label_names": None,
    }
    arrays = {
        "indptr": np.array([0, 2, 5, 6, 7]),
        "indices": np.array([0, 1, 0, 1, 2, 0, 2]),
        "status": np.array([1, 0, 1, -1], np.int8),
        "points": np.array([[-1.0, -1.0], [1.0, 1.0]]),
        "point_of": np.array([1, -1, -1, -1]),
        "conflict_ptr": np.array([0, 0, 3, 3, 3]),
        "conflict_rows": np.array([0, 1, 2]),
    }
    return header, arrays


def radii():
    """The arrays of the radii of its two argmaxable sets within a box of 2: 2, and 2 / (1 + √2)."""
    second = 2 / (1 + math.sqrt(2))
    return {
        "radius_sets": np.array([0, 2]),
        "radius_lower": np.array([2, second]) * (1 - 5e-10),
        "radius_upper": np.array([2, second]) * (1 + 5e-10),
        "radius_centers": np.array([[2.0, 2.0], [2.0, -second]]),
        "radius_ptr": np.array([0, 1, 3]),
        "radius_rows": np.array([0, 1, 2]),
        "radius_multipliers": np.array([1.0, 1.0, 1.0]),
    }


def write(path, header, arrays):
    """Write a result; an array that is None is left out."""
    content = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)} | arrays
    np.savez(path, **{name: array for name, array in content.items() if array is not None})


def write_weights(path, **arrays):
    np.savez(path, **({"weight": np.array(TRIANGLE)} | arrays))


def with_offset(bias, theta=None):
    """The arrays of a result for a bias, and thresholds."""
    exact = [Fraction(b) - Fraction(t) for b, t in zip(bias, [0.0] * 3 if theta is None else theta, strict=True)]
    error = [float(x - Fraction(float(x))) for x in exact]
    return {"offset": np.array(list(map(float, exact))), "offset_error": np.array(error), "theta": theta}


def paths_in(folder):
    return str(folder / "result.npz"), str(folder / "weights.npz")


def read_changed(folder, fields=None, weights=None, **changes):
    """Read the example after changes of its header, of the weights and of its arrays."""
    header, arrays = example()
    paths = paths_in(folder)
    write(paths[0], header | (fields or {}), arrays | changes)
    write_weights(paths[1], **(weights or {}))
    return read(*paths)


def refuse(folder, message, fields=None, weights=None, **changes):
    """Expect that the changed example is refused with these words."""
    with pytest.raises(InputError) as caught:
        read_changed(folder, fields, weights, **changes)
    assert message in str(caught.value)
