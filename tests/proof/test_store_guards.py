"""Files of results that were changed in one place are refused, and those at the edge of the form are read."""

import hashlib
import json
import os
import stat
import struct

import numpy as np
import pytest

from labelproof.errors import CertificateError, DataFormatError
from labelproof.proof import store
from labelproof.proof.labels import read_label_sets
from labelproof.proof.radius_bounds import Radii, RadiusBounds
from labelproof.proof.regions import make_layer
from labelproof.proof.result import Verification
from labelproof.proof.rounding import float_rows
from labelproof.proof.sparse_weights import sha256_of
from labelproof.proof.store import _label_sets, load_verification

WEIGHT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
THRESHOLDS = np.array([0.3, 0.4, 0.6])
BIAS = np.array([0.1, 0.7, 0.3])


def made(sets=((0, 1), (0,)), points=((1.0, 1.0), (2.0, -1.0)), radii=None, eps=1e-8, **options):
    """A result of float witnesses alone."""
    n = len(sets)
    return Verification(
        make_layer(WEIGHT, **options),
        read_label_sets([list(active) for active in sets], 3),
        np.ones(n, np.int8),
        np.array(points),
        np.arange(n),
        np.zeros(n + 1, np.int64),
        np.empty(0, np.int64),
        {},
        {},
        True,
        radii,
        eps,
    )


def radii(**changes):
    fields = {
        "box": 2.0,
        "sets": np.array([0, 1]),
        "lower": np.zeros(2),
        "upper": np.full(2, np.inf),
        "centers": np.zeros((2, 2)),
        "ptr": np.zeros(3, np.int64),
        "rows": np.empty(0, np.int64),
        "multipliers": np.empty(0),
    }
    return Radii(**(fields | changes))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "result.npz"


def rewrite(path, fields=None, **arrays):
    with np.load(path) as archive:
        content = dict(archive)
    header = json.loads(content["header"].tobytes()) | (fields or {})
    content["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    content |= arrays
    np.savez(path, **{name: array for name, array in content.items() if array is not None})


def refuse(path, message, **given):
    with pytest.raises(DataFormatError, match=message):
        load_verification(path, WEIGHT, **given)


# --- the header -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"temperature": 0.0}, "temperature: expected a positive number"),
        ({"temperature": -0.5}, "temperature: expected a positive number"),
        ({"temperature": float("inf")}, "temperature: expected a positive number"),
        ({"eps": 1}, "eps: expected a number ≥ 0"),
        ({"eps": -0.5}, "eps: expected a number ≥ 0"),
        ({"eps": -2.0}, "eps: expected a number ≥ 0"),
        ({"eps": float("nan")}, "eps: expected a number ≥ 0"),
        ({"box": "2"}, "box: expected a number"),
        ({"box": 2}, "box: expected a number"),
    ],
)
def test_a_number_of_the_header_that_is_out_of_its_range_is_refused(path, fields, message):
    made(rule="sparsemax").save(path)
    rewrite(path, fields)
    refuse(path, message)


def test_numbers_at_the_edge_of_their_range_are_read(path):
    made(eps=0.0).save(path)
    assert load_verification(path, WEIGHT).eps == 0.0
    made(rule="sparsemax", temperature=5e-324).save(path)
    assert load_verification(path, WEIGHT).layer.temperature == 5e-324


# --- the layer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        (np.zeros(2), "theta: expected one number a label"),
        (np.zeros((3, 1)), "theta: expected one number a label"),
        (np.zeros(3, np.float32), "theta: expected one number a label"),
        (np.array([0.0, np.nan, 0.0]), "theta: expected finite numbers"),
        (np.array([np.inf, 0.0, 0.0]), "theta: expected finite numbers"),
    ],
)
def test_thresholds_that_do_not_fit_are_refused(path, theta, message):
    made(bias=BIAS, thresholds=THRESHOLDS).save(path)
    rewrite(path, theta=theta)
    refuse(path, message, bias=BIAS)


def test_other_thresholds_and_other_rounding_errors_are_refused(path):
    verification = made(bias=BIAS, thresholds=THRESHOLDS)
    verification.save(path)
    error = verification.layer.offset_error
    assert error.any()
    load_verification(path, WEIGHT, bias=BIAS)
    rewrite(path, offset_error=error * 2)
    refuse(path, "made with another bias: for label 0", bias=BIAS)
    rewrite(path, offset_error=error, theta=verification.layer.theta + 1)
    refuse(path, "made with another bias: for label 0", bias=BIAS)
    rewrite(path, theta=verification.layer.theta, offset_error=None)
    refuse(path, "offset: expected two arrays, offset and offset_error, or neither", bias=BIAS)
    rewrite(path, offset_error=error, offset=None)
    refuse(path, "offset: expected two arrays, offset and offset_error, or neither", bias=BIAS)
    rewrite(path, offset_error=None, offset=None)
    refuse(path, "made without a bias, got one", bias=BIAS)
    rewrite(path, offset=verification.layer.offset, offset_error=error)
    rewrite(path, offset=verification.layer.offset, offset_error=error[:2])
    refuse(path, "offset: expected 3 numbers", bias=BIAS)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"low": np.zeros(2, np.float32)}, "low: expected 2 numbers"),
        ({"low": np.array([0.0, np.nan])}, "low: expected no NaN"),
        ({"low": np.array([0.0, np.inf])}, "low: expected a domain that is not empty"),
        ({"high": np.array([5.0, -np.inf])}, "high: expected a domain that is not empty"),
        ({"high": np.full(2, -np.inf)}, "high: expected a domain that is not empty"),
        ({"high": np.array([5.0, -5.0])}, "the domain: expected low ≤ high"),
        ({"high": np.array([5.0, -5.0]), "low": np.array([9.0, -9.0])}, "the domain: expected low ≤ high"),
    ],
)
def test_bounds_that_leave_no_domain_are_refused(path, arrays, message):
    made(domain=(-4.0, 4.0)).save(path)
    rewrite(path, **arrays)
    refuse(path, message)


@pytest.mark.parametrize("domain", [None, "nonnegative", (-4.0, 4.0), (-np.inf, [5.0, np.inf])])
def test_every_domain_is_read_as_it_was_written(path, domain):
    verification = made(points=((1.0, 1.0), (2.0, -1.0)), domain=domain)
    verification.save(path)
    layer = load_verification(path, WEIGHT).layer
    assert (layer.low is None) == (domain is None)
    if domain is not None:
        assert layer.low.tolist() == verification.layer.low.tolist()
        high = verification.layer.high
        assert layer.high.tolist() == ([np.inf, np.inf] if high is None else high.tolist())
        rewrite(path, low=None)
        low = load_verification(path, WEIGHT).layer.low
        assert low is None if high is None else low.tolist() == [-np.inf, -np.inf]


def test_the_hash_is_that_of_shape_and_numbers_in_eight_bytes_each():
    for weight, shape in (([[1.0, -0.0]], b"1 2 "), ([[1.0], [0.0]], b"2 1 ")):
        expected = hashlib.sha256(shape + struct.pack("<2d", 1.0, 0.0)).hexdigest()
        assert sha256_of(np.array(weight)) == expected
    swapped = np.array([[1.0, 2.0]]).astype(">f8")
    assert sha256_of(swapped) == sha256_of(np.array([[1.0, 2.0]]))


# --- the arrays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"point_of": np.array([0, -2])}, "point_of: expected numbers from -1 to 1"),
        ({"point_of": np.array([0, 2])}, "point_of: expected numbers from -1 to 1"),
        ({"points": np.ones(4)}, "points: expected 2-d float64"),
        ({"status": np.ones((2, 1), np.int8)}, "status: expected 1-d int8"),
        (
            {"conflict_rows": np.array([-1]), "conflict_ptr": np.array([0, 0, 1])},
            "conflict_rows: expected numbers from 0",
        ),
        (
            {"conflict_rows": np.array([10]), "conflict_ptr": np.array([0, 0, 1])},
            "conflict_rows: expected numbers from 0",
        ),
        ({"indices": np.array([-1, 1, 0])}, "indices: expected labels from 0 to 2"),
        ({"indices": np.array([0, 3, 0])}, "indices: expected labels from 0 to 2"),
        ({"indices": np.array([1, 1, 0])}, "indices: expected ascending labels in each set"),
        ({"conflict_ptr": np.array([0, 0])}, "conflict_ptr: expected 3 numbers"),
        ({"conflict_ptr": np.array([1, 0, 0])}, "conflict_ptr: expected numbers from 0 to 0"),
        ({"indptr": np.array([1, 2, 3])}, "indptr: expected numbers from 0 to 3"),
    ],
)
def test_an_array_with_a_number_out_of_range_is_refused(path, arrays, message):
    made().save(path)
    rewrite(path, **arrays)
    refuse(path, message)


def test_numbers_at_the_ends_of_their_range_are_read(path):
    made().save(path)
    rewrite(path, conflict_rows=np.array([9]), conflict_ptr=np.array([0, 0, 1]))
    assert load_verification(path, WEIGHT).conflict_rows.tolist() == [9]


@pytest.mark.parametrize("sets", [[[1], [0]], [[0, 2], []], [[], [0, 1]], [[], []], [], [[2], [], [0, 1, 2], [], [1]]])
def test_sets_of_any_length_are_read_in_any_place(sets):
    given = read_label_sets(sets, 3)
    assert [active.tolist() for active in _label_sets(given.indptr, given.indices, 3)] == sets


@pytest.mark.parametrize(
    ("ends", "indices"),
    [([0, 3], [0, 2, 1]), ([0, 0, 2], [1, 0]), ([0, 0, 3], [0, 2, 1]), ([0, 2, 4], [0, 1, 2, 1]), ([0, 2, 2], [1, 0])],
)
def test_labels_that_do_not_ascend_in_their_set_are_refused(ends, indices):
    with pytest.raises(ValueError, match="indices: expected ascending labels in each set"):
        _label_sets(np.array(ends), np.array(indices), 3)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"radius_sets": None}, "radius_sets: expected an array of int64"),
        ({"radius_lower": None}, "radius_lower: expected an array of float64"),
        ({"radius_lower": np.zeros(2, np.float32)}, "radius_lower: expected an array of float64"),
        ({"radius_ptr": np.zeros(3)}, "radius_ptr: expected an array of int64"),
        ({"radius_ptr": np.zeros(2, np.int64)}, "radii: expected ends of multipliers"),
        ({"radius_upper": np.zeros(3)}, "radii: expected bounds and centres"),
    ],
)
def test_radii_that_do_not_fit_are_refused(path, arrays, message):
    made(radii=radii()).save(path)
    load_verification(path, WEIGHT).check(n_jobs=1)
    rewrite(path, **arrays)
    refuse(path, message)


def test_a_radius_that_lies_within_less_than_one_slack_is_not_proven():
    layer = make_layer(WEIGHT)
    center, active, rows, nu = np.array([2.0, 1.0]), np.array([0, 1]), np.array([0, 2]), np.array([1.0, 0.5])

    def bounds(slacks):
        found = RadiusBounds(layer, float_rows(layer), 2.0, slacks=slacks)
        return found.lower(active, center), found.upper(active, rows, nu)

    def check(lower, upper):
        stored = radii(
            sets=np.array([0]),
            lower=np.array([lower]),
            upper=np.array([upper]),
            centers=center[None],
            ptr=np.array([0, 2]),
            rows=rows,
            multipliers=nu,
        )
        made(sets=[(0, 1)], points=[(1.0, 1.0)], radii=stored).check(n_jobs=1)

    for slacks in (1.0, 3.0, 9.0):
        check(*bounds(slacks))
    with pytest.raises(CertificateError, match="expected a radius of at most"):
        check(bounds(0.75)[0], bounds(1.0)[1])
    with pytest.raises(CertificateError, match="expected an upper bound of at least"):
        check(bounds(1.0)[0], bounds(0.75)[1])


# --- writing ----------------------------------------------------------------------------------------------


def test_a_file_is_complete_on_the_disk_before_it_takes_its_place(path, monkeypatch):
    sizes = []

    def record(descriptor):
        told = os.fstat(descriptor)
        if stat.S_ISREG(told.st_mode):  # the folder follows
            assert not path.exists()
            sizes.append(told.st_size)

    monkeypatch.setattr(store.os, "fsync", record)
    made().save(path)
    assert sizes == [path.stat().st_size]


def test_offsets_of_another_type_are_refused_though_their_values_are_the_same(path):
    halves = np.array([0.5, 0.25, 1.0])
    made(bias=halves).save(path)
    for name in ("offset", "offset_error"):
        made(bias=halves).save(path)
        with np.load(path) as archive:
            rewrite(path, **{name: archive[name].astype(np.float32)})
        refuse(path, "offset: expected numbers of type float64", bias=halves)


def test_a_header_is_a_list_of_bytes(path):
    made().save(path)
    with np.load(path) as archive:
        header = archive["header"]
    padded = np.append(header, np.full(-len(header) % 8, ord(" "), np.uint8))
    for other in (padded.reshape(-1, 2), padded.view(np.int8), padded.view(np.uint16)):
        rewrite_header(path, other)
        refuse(path, "header: expected bytes of JSON")
    rewrite_header(path, padded)
    load_verification(path, WEIGHT)


def rewrite_header(path, header):
    with np.load(path) as archive:
        content = dict(archive) | {"header": header}
    np.savez_compressed(path, **content)
