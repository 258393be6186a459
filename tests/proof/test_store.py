import dataclasses
import io
import json
import os
import zipfile
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import labelproof as lp
from labelproof.errors import CertificateError, DataFormatError
from labelproof.proof import store
from labelproof.proof.radius_bounds import Radii

RNG = np.random.default_rng(5)
WEIGHT = RNG.standard_normal((9, 3)).astype(np.float32)
BIAS = RNG.standard_normal(9)
THRESHOLDS = RNG.uniform(0.1, 0.9, 9)
SETS = [[], [0], [1, 4], [2, 3, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8], [5, 7], [0, 8]]
# A top-1 region that lies between neighbouring floats.
NARROW_WEIGHT, NARROW_BIAS = np.array([[1.0], [-(2.0**-60)], [2.0]]), np.array([0.0, 1.0, -1.0])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "result.npz"


def saved(path, weight=WEIGHT, sets=SETS, **options):
    v = lp.verify(weight, sets, **options)
    v.save(path)
    return v


def rewrite(path, *, arrays=None, **fields):
    """Write a file of results again with other arrays, or other fields in its header."""
    with np.load(path) as archive:
        content = dict(archive)
    header = json.loads(content["header"].tobytes()) | fields
    content["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    content |= arrays or {}
    np.savez_compressed(path, **{name: array for name, array in content.items() if array is not None})


def assert_same(v, w):
    assert [np.array_equal(a, b) for a, b in zip(v.label_sets, w.label_sets, strict=True)] == [True] * len(v)
    for name in ("status", "points", "point_of", "conflict_ptr", "conflict_rows"):
        kept, loaded = getattr(v, name), getattr(w, name)
        assert kept.dtype == loaded.dtype, name
        np.testing.assert_array_equal(kept, loaded, err_msg=name)
    assert (v.fractions, v.reasons, v.certified) == (w.fractions, w.reasons, w.certified)
    for name in ("rule", "ties", "temperature"):
        assert getattr(v.layer, name) == getattr(w.layer, name)
    np.testing.assert_array_equal(v.layer.weight, w.layer.weight)


OPTIONS = {
    "sigmoid": {},
    "bias": {"bias": BIAS},
    "thresholds": {"thresholds": THRESHOLDS},
    "bias and thresholds": {"bias": BIAS, "thresholds": 0.3},
    "inactive ties": {"ties": "inactive"},
    "topk": {"rule": "topk", "bias": BIAS},
    "sparsemax": {"rule": "sparsemax"},
    "sparsemax with bias": {"rule": "sparsemax", "bias": BIAS},
    "nonnegative": {"domain": "nonnegative"},
    "box": {"domain": (np.array([-1.0, 0.5, -np.inf]), np.array([1.0, 0.5, 2.0])), "bias": BIAS},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_what_is_loaded_is_what_was_saved(name, path):
    options = OPTIONS[name]
    v = saved(path, **options)
    loaded = lp.load_verification(path, WEIGHT.astype(np.float64), bias=options.get("bias"))
    assert_same(v, loaded)
    loaded.check()
    assert set(v.status) >= {0, 1}
    for i in range(len(v)):
        assert type(v[i]) is type(loaded[i])
        if isinstance(v[i], lp.Unargmaxable):
            assert (v[i].extra, v[i].multipliers) == (loaded[i].extra, loaded[i].multipliers)


def test_no_field_of_a_result_is_forgotten():
    in_arrays, in_header = (
        set(store._RESULT_ARRAYS) - {"indptr", "indices"},
        {"fractions", "multipliers", "reasons", "certified", "eps", "sample"},
    )
    stored = {field.name for field in dataclasses.fields(lp.Verification)}
    assert stored == in_arrays | in_header | {"layer", "label_sets", "radii"}
    assert {field.name for field in dataclasses.fields(Radii)} == set(store._RADII_ARRAYS) | {"box"}


def test_balls_and_multipliers_survive_in_a_file_of_the_second_version(path):
    weight, bias = np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([-6.0, 0.0])
    saved(path, weight, [[1]], bias=bias)
    assert json.loads(np.load(path)["header"].tobytes())["version"] == 1
    v = saved(path, weight, [[0], [1]], bias=bias, domain=("ball", 1.0, [0.25, 0.0]))
    assert v.status.tolist() == [0, 1]
    assert json.loads(np.load(path)["header"].tobytes())["version"] == 2
    loaded = lp.load_verification(path, weight, bias=bias)
    assert loaded.multipliers == v.multipliers
    assert loaded.layer.balls[0].centre.tolist() == [0.25, 0.0]
    loaded.check()
    rewrite(path, multipliers={"0": ["-0x1/0x1"]})
    with pytest.raises(lp.CertificateError, match="expected 1 positive fractions"):
        lp.load_verification(path, weight, bias=bias).check()
    rewrite(path, arrays={"ball_radius": np.array([-1.0])})
    with pytest.raises(DataFormatError, match="ball_radius: expected positive numbers"):
        lp.load_verification(path, weight, bias=bias)


def version_of(path):
    return json.loads(np.load(path)["header"].tobytes())["version"]


def test_what_the_first_version_cannot_hold_makes_the_second(path):
    lp.verify(np.eye(2), [[0]], domain=("ball", 1.0)).save(path)
    assert version_of(path) == 2
    v = lp.verify(np.array([[1.0], [1.0]]), [[0]])
    v.save(path)
    assert version_of(path) == 1
    dataclasses.replace(v, multipliers={0: (Fraction(1), Fraction(1))}).save(path)
    assert version_of(path) == 2


def test_a_file_of_the_first_version_may_have_no_multipliers(path):
    saved(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    del header["multipliers"]
    np.savez(path, **(arrays | {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}))
    lp.load_verification(path, WEIGHT).check()


def test_radii_survive_and_are_checked(path):
    v = saved(path, radius=True, box=7.0, eps=0.5, bias=BIAS)
    loaded = lp.load_verification(path, WEIGHT, bias=BIAS)
    np.testing.assert_array_equal(loaded.radius, v.radius)
    np.testing.assert_array_equal(loaded.radius_upper, v.radius_upper)
    np.testing.assert_array_equal(loaded.eps_argmaxable, v.eps_argmaxable)
    loaded.check()


def test_a_sparse_weight_stays_one_unless_there_are_radii(path):
    weight = scipy.sparse.csr_array(WEIGHT)
    for options in ({}, {"radius": True, "box": 7.0}):
        saved(path, **options)
        loaded = lp.load_verification(path, weight)
        assert (loaded.layer.sparse is None) == bool(options)
        loaded.check()


def test_a_witness_of_fractions_survives(path):
    v = saved(path, NARROW_WEIGHT, [[0]], bias=NARROW_BIAS, rule="topk")
    assert isinstance(v[0].witness, tuple)
    loaded = lp.load_verification(path, NARROW_WEIGHT, bias=NARROW_BIAS)
    assert loaded[0].witness == v[0].witness
    loaded.check()


def test_a_fraction_of_ten_thousand_digits_survives(path):
    v = saved(path, NARROW_WEIGHT, [[0]], bias=NARROW_BIAS, rule="topk")
    (x,) = v[0].witness
    v.fractions[0] = (x - Fraction(1, 10**10_000),)
    v.save(path)
    loaded = lp.load_verification(path, NARROW_WEIGHT, bias=NARROW_BIAS)
    assert loaded.fractions == v.fractions
    loaded.check()


def test_undecided_sets_keep_their_reason(path):
    v = saved(path, time_limit=0)
    undecided = np.flatnonzero(v.status == -1)
    assert len(undecided)
    loaded = lp.load_verification(path, WEIGHT)
    assert_same(v, loaded)
    assert "time limit" in loaded[int(undecided[0])].reason


def test_verdicts_without_evidence_can_be_stored_but_not_checked(path):
    assert_same(saved(path, certify=False), lp.load_verification(path, WEIGHT))
    with pytest.raises(CertificateError, match="no evidence was kept"):
        lp.load_verification(path, WEIGHT).check()


def test_no_label_sets_are_a_result_too(path):
    assert len(saved(path, sets=[])) == len(lp.load_verification(path, WEIGHT)) == 0


def test_label_names_are_kept(path):
    v = saved(path)
    assert store.load_label_names(path) is None
    names = [f"größe {i}" for i in range(9)]
    v.save(path, label_names=names)
    assert store.load_label_names(path) == names


def test_label_names_must_be_one_for_each_label(path):
    with pytest.raises(ValueError, match="label_names must hold 9 names, one for each label, got 2"):
        lp.verify(WEIGHT, SETS).save(path, label_names=["a", "b"])
    assert not path.exists()


def test_a_negative_zero_is_the_same_weight(path):
    saved(path, np.array([[1.0, 0.0], [0.0, 1.0]]), [[0]])
    assert lp.load_verification(path, np.array([[1.0, -0.0], [0.0, 1.0]])).status.tolist() == [1]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    v = saved(path)
    before = path.read_bytes()

    def fail(stream, **arrays):
        stream.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="no space left"):
        v.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


# Another classifier than the one that was verified


def test_other_weights_are_refused(path):
    saved(path)
    other = WEIGHT.copy()
    other[4, 1] = np.nextafter(other[4, 1], np.float32(9))
    with pytest.raises(DataFormatError, match=r"result\.npz: made for another weight of the same shape"):
        lp.load_verification(path, other)


def test_a_weight_of_another_shape_is_refused(path):
    saved(path)
    with pytest.raises(DataFormatError, match=r"made for a weight of shape \(9, 3\), got \(8, 3\)"):
        lp.load_verification(path, WEIGHT[:8])


def test_another_bias_is_refused(path):
    saved(path, bias=BIAS)
    other = BIAS.copy()
    other[6] += 1e-9
    with pytest.raises(DataFormatError, match="made with another bias: for label 6"):
        lp.load_verification(path, WEIGHT, bias=other)
    with pytest.raises(DataFormatError, match="made with a bias, got none"):
        lp.load_verification(path, WEIGHT)


def test_a_bias_that_was_not_verified_is_refused(path):
    saved(path)
    with pytest.raises(DataFormatError, match="made without a bias, got one"):
        lp.load_verification(path, WEIGHT, bias=BIAS)


def test_the_thresholds_are_kept_with_the_result(path):
    v = saved(path, bias=BIAS, thresholds=THRESHOLDS)
    loaded = lp.load_verification(path, WEIGHT, bias=BIAS)
    np.testing.assert_array_equal(loaded.layer.theta, v.layer.theta)
    with pytest.raises(DataFormatError, match="made with another bias: for label 0"):
        lp.load_verification(path, WEIGHT)


# Files that are damaged, foreign or forged


def test_a_truncated_file_is_refused(path):
    saved(path)
    content = path.read_bytes()
    for length in (0, 1, 40, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(DataFormatError, match=r"^result\.npz: damaged, or not a file of this kind"):
            lp.load_verification(path, WEIGHT)


def test_no_damage_of_single_bytes_gives_another_error_or_a_wrong_verdict(path):
    v = saved(path, bias=BIAS)
    content = path.read_bytes()
    refused = 0
    for place in np.random.default_rng(0).integers(len(content), size=300).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            loaded = lp.load_verification(path, WEIGHT, bias=BIAS)
            loaded.check()
        except (DataFormatError, CertificateError):
            refused += 1
        else:
            np.testing.assert_array_equal(loaded.status, v.status)
    assert refused > 200


def test_a_missing_file_is_an_ordinary_error(path):
    with pytest.raises(FileNotFoundError):
        lp.load_verification(path, WEIGHT)


def test_a_foreign_file_is_refused(path):
    np.savez(path, weight=WEIGHT)
    with pytest.raises(DataFormatError, match="expected a result of labelproof verify, got another"):
        lp.load_verification(path, WEIGHT)
    saved(path)
    rewrite(path, format="something else")
    with pytest.raises(DataFormatError, match="expected the format 'labelproof verification', got 'something else'"):
        lp.load_verification(path, WEIGHT)


def test_a_file_of_a_future_version_says_who_wrote_it(path):
    saved(path)
    rewrite(path, version=3, written_by="labelproof 9.0")
    with pytest.raises(DataFormatError, match=r"expected version 1 or 2 .* got 3: .*\(labelproof 9\.0\)"):
        lp.load_verification(path, WEIGHT)


def test_pickles_are_refused(path):
    saved(path)
    rewrite(path, arrays={"points": np.array([{}], dtype=object)})
    with pytest.raises(DataFormatError, match="points: expected plain numbers, got pickled Python objects"):
        lp.load_verification(path, WEIGHT)


def test_a_file_that_would_fill_the_memory_is_refused(path, monkeypatch):
    saved(path)
    monkeypatch.setattr("labelproof.foundation.array_files.MAX_BYTES", 1000)
    with pytest.raises(DataFormatError, match="expected at most 1000 bytes of arrays"):
        lp.load_verification(path, WEIGHT)


def test_an_array_that_declares_more_than_it_holds_is_refused(path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (2**50, 2)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", stream.getvalue())
    with pytest.raises(DataFormatError, match="expected 18014398509481984 bytes"):
        lp.load_verification(path, WEIGHT)


def test_an_array_that_comes_twice_is_refused(path):
    saved(path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("status.npy", b"")
    with pytest.raises(DataFormatError, match="expected each array once, got 'status' twice"):
        lp.load_verification(path, WEIGHT)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rule": "softmax"}, "rule: expected a known rule"),
        ({"ties": "closed"}, "ties: expected a known treatment of ties"),
        ({"temperature": -1.0}, "temperature: expected a positive number"),
        ({"certified": "yes"}, "certified: expected true or false"),
        ({"label_names": ["a"]}, "label_names: expected one name for each label"),
        ({"fractions": {"0": ["1/0"]}}, "fractions: expected numbers like 0x1/0x2, got '1/0'"),
        ({"fractions": {"0": ["0x1/0x0"]}}, r"damaged, or not a file of this kind \(Fraction"),
        ({"fractions": {"0": ["0x1/0x2"]}}, "fractions: expected 3 features each"),
        ({"reasons": 3}, "damaged"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(path, fields, message):
    saved(path)
    rewrite(path, **fields)
    with pytest.raises(DataFormatError, match=message):
        lp.load_verification(path, WEIGHT)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("status", lambda _: None, "status: expected an array of that name"),
        ("status", lambda a: a.astype(np.int64), "status: expected 1-d int8"),
        ("status", lambda a: a[1:], "status: expected one verdict for each of 7 label sets"),
        ("status", lambda a: a + np.int8(2), "status: expected 1, 0 or -1"),
        ("status", lambda a: np.full_like(a, -1), "reasons: expected a reason for each undecided set"),
        ("points", lambda a: a[:, 1:], "points: expected 3 features"),
        ("point_of", lambda a: a[1:], "point_of: expected 7 numbers"),
        ("point_of", lambda a: a + len(SETS), "point_of: expected numbers from -1"),
        ("point_of", lambda a: np.full_like(a, -1), "fractions: expected a witness for each argmaxable set"),
        ("conflict_ptr", lambda a: a[::-1].copy(), "conflict_ptr: expected numbers from 0"),
        ("conflict_ptr", lambda a: np.append(a[:-1], a[-1] + 1), "conflict_ptr: expected numbers from 0"),
        ("conflict_ptr", lambda a: np.r_[0, a[-1], np.zeros_like(a[2:-1]), a[-1]], "conflict_ptr: expected ascending"),
        (
            "conflict_ptr",
            lambda a: np.r_[0, 2**63 - 1, -(2**63), np.zeros_like(a[3:-1]), a[-1]],
            "conflict_ptr: expected ascending",
        ),
        ("conflict_rows", lambda a: a + 1000, "conflict_rows: expected numbers from 0 to 17"),
        ("conflict_rows", lambda a: a - 1000, "conflict_rows: expected numbers from 0 to 17"),
        ("indices", lambda a: a + 5, "indices: expected labels from 0 to 8"),
        ("indices", lambda a: a[::-1].copy(), "indices: expected ascending labels in each set"),
        ("indptr", lambda a: a[:0], "indptr: expected 0 numbers"),
        ("indptr", lambda a: a + 1, "indptr: expected numbers from 0"),
        ("low", lambda _: np.zeros(2), "low: expected 3 numbers"),
        ("low", lambda _: np.full(3, np.nan), "low: expected no NaN"),
        ("low", lambda _: np.full(3, np.inf), "low: expected a domain that is not empty"),
        ("low", lambda _: np.full(3, 5.0), "the domain: expected low ≤ high"),
        ("offset", lambda a: a[1:], "offset: expected 9 numbers"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(path, name, change, message):
    saved(path, bias=BIAS, domain=(-4.0, 4.0))
    with np.load(path) as archive:
        array = archive[name]
    rewrite(path, arrays={name: change(array)})
    with pytest.raises(DataFormatError, match=message):
        lp.load_verification(path, WEIGHT, bias=BIAS)


@pytest.mark.parametrize("verdict", [1, 0])
def test_a_forged_verdict_is_found_by_check(path, verdict):
    v = saved(path)
    i = int(np.flatnonzero(v.status == 1 - verdict)[0])
    donor = int(np.flatnonzero(v.status == verdict)[0])
    status, point_of = v.status.copy(), v.point_of.copy()
    status[i], point_of[i] = verdict, v.point_of[donor]
    rewrite(path, arrays={"status": status, "point_of": point_of})
    loaded = lp.load_verification(path, WEIGHT)
    with pytest.raises(CertificateError, match=f"label set {i} is not proven"):
        loaded.check()


def test_a_forged_label_set_is_found_by_check(path):
    v = saved(path)
    i = int(np.flatnonzero((v.status == 1) & (np.diff(v.label_sets.indptr) > 0))[0])
    sets = [active.tolist() for active in v.label_sets]
    sets[i][0] = next(label for label in range(9) if label not in sets[i])
    rewrite(path, arrays={"indices": np.concatenate([np.sort(active) for active in sets]).astype(np.int64)})
    with pytest.raises(CertificateError, match=f"label set {i} is not proven: label"):
        lp.load_verification(path, WEIGHT).check()


@pytest.mark.parametrize(
    ("fields", "arrays"),
    [
        ({"temperature": True}, {}),
        ({"temperature": float("inf")}, {}),
        ({"eps": float("inf")}, {}),
        ({"box": float("nan")}, {}),
        ({}, {"offset_error": None}),
        ({}, {"offset": None}),
        ({}, {"offset": BIAS.astype(np.float32)}),
        ({}, {"header": np.zeros(3)}),
    ],
)
def test_fields_and_arrays_of_other_types_are_refused(path, fields, arrays):
    saved(path, bias=BIAS, radius=True)
    rewrite(path, arrays=arrays, **fields)
    with pytest.raises(DataFormatError):
        lp.load_verification(path, WEIGHT, bias=BIAS)


@pytest.mark.parametrize("rule", ["topk", "sparsemax"])
def test_thresholds_do_not_pass_as_those_of_another_rule(path, rule):
    saved(path, thresholds=THRESHOLDS)
    rewrite(path, rule=rule)
    with pytest.raises((DataFormatError, ValueError), match="thresholds go with rule='sigmoid' only"):
        lp.load_verification(path, WEIGHT)
