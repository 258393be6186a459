"""What proves a stretch is checked: tampered evidence, other weights, other features, damaged files."""

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from stretch_oracle import made_case

import labelproof as lp
from labelproof.proof import standalone_stretch
from labelproof.proof.measured_store import format_of
from labelproof.proof.stretch_bounds import StretchBounds, exact_lower, exact_mixture

every_rule = pytest.mark.parametrize("rule", ["sigmoid", "topk"])


def measured(rule="sigmoid", seed=3, **options):
    weight, bias, features, _ = made_case(seed)
    n_labels = len(weight)
    sets = [[i for i in range(n_labels) if (number >> i) & 1] for number in range(2**n_labels)][:12]
    s = lp.stretch(weight, sets, features, bias=bias, rule=rule, n_jobs=1, **options)
    return s, weight, bias, features


def first(s, condition):
    return int(np.flatnonzero(condition)[0])


@every_rule
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_floating_point_proves_a_little_less_than_fractions_do(rule, seed):
    s, *_ = measured(rule, seed)
    bounds = StretchBounds(s.layer, s.examples)
    some = np.flatnonzero(np.isfinite(s.lower) & (s.lower > 0)).tolist()
    proven = bounds.lowers(s.label_sets.take(some), [s._weighted(i) for i in some])
    assert some
    for i, low in zip(some, proven.tolist(), strict=True):
        exact = exact_lower(s.layer, s.examples, s.label_sets[i], *s._weighted(i))
        assert s.lower[i] <= low <= exact <= Fraction(low) * Fraction(1 + 1e-9)


def test_a_mixture_is_where_its_weights_say():
    s, *_ = measured()
    i = first(s, np.diff(s.mixture_ptr) > 0)
    which, weights = s._mixture(i)
    x = s.examples.centre + weights @ (s.examples.take(which) - s.examples.centre)
    np.testing.assert_allclose([float(v) for v in exact_mixture(s.examples, which, weights)], x, atol=1e-12)


def tampered(s, **arrays):
    return replace(s, **arrays)


def scaled(array, i, factor):
    array = array.copy()
    array[i] *= factor
    return array


def test_a_lower_bound_that_is_too_high_is_not_proven():
    s, *_ = measured()
    i = first(s, (s.lower > 0) & np.isfinite(s.lower))
    with pytest.raises(lp.CertificateError, match=rf"label set {i} is not proven: .*lower bound"):
        tampered(s, lower=scaled(s.lower, i, 1.0001)).check()
    with pytest.raises(lp.CertificateError, match="lower bound"):
        tampered(s, lower=scaled(s.lower, i, 1.0001)).check(exact=True)


def test_an_exact_check_believes_no_floats(monkeypatch):
    s, *_ = measured()
    i = first(s, np.isfinite(s.lower) & (s.lower > 0))
    forged = tampered(s, lower=scaled(s.lower, i, 1.001))
    monkeypatch.setattr(StretchBounds, "lowers", lambda _, sets, __: np.full(len(sets), np.inf))
    forged.check(n_jobs=1)
    with pytest.raises(lp.CertificateError, match=f"label set {i} is not proven: expected weighted labels"):
        forged.check(exact=True, n_jobs=1)


def test_a_conflict_counts_only_where_a_stretch_is_said_to_be_infinite():
    s = lp.stretch([[1.0]], [[0]], [[0.0], [1.0]], bias=[-0.75], n_jobs=1)
    assert 0 < s.lower[0] < np.inf
    tampered(s, conflict_ptr=np.array([0, 1]), conflict_rows=np.array([0])).check(exact=True, n_jobs=1)


def test_a_stretch_is_not_proven_where_subnormal_numbers_are_flushed(monkeypatch):
    def refuse():
        raise RuntimeError("flushed")

    s, *_ = measured()
    monkeypatch.setattr("labelproof.proof.stretch_result.require_subnormals", refuse)
    with pytest.raises(RuntimeError, match="flushed"):
        s.check(n_jobs=1)


def test_an_upper_bound_that_is_too_low_is_not_proven():
    s, *_ = measured()
    i = first(s, (s.upper > 0) & np.isfinite(s.upper))
    with pytest.raises(lp.CertificateError, match="expected an upper bound of at least"):
        tampered(s, upper=scaled(s.upper, i, 0.9999)).check()


def test_a_lighter_mixture_is_not_predicted_as_its_set():
    s, *_ = measured()
    i = first(s, (s.upper > 0) & np.isfinite(s.upper))
    weights = s.mixture_weights.copy()
    weights[s.mixture_ptr[i] : s.mixture_ptr[i + 1]] *= 0.9
    with pytest.raises(lp.CertificateError, match=r"expected a (positive|negative) logit"):
        tampered(s, mixture_weights=weights).check()


@pytest.mark.parametrize(
    ("wrong", "message"), [(-1.0, "weights ≥ 0"), (np.nan, "weights ≥ 0"), (np.inf, "weights ≥ 0")]
)
def test_weights_that_are_none_are_refused(wrong, message):
    s, *_ = measured()
    i = first(s, (s.upper > 0) & np.isfinite(s.upper))
    weights = s.mixture_weights.copy()
    weights[s.mixture_ptr[i]] = wrong
    with pytest.raises(lp.CertificateError, match=message):
        tampered(s, mixture_weights=weights).check()


@pytest.mark.parametrize("wrong", [-1, 10**6])
def test_examples_that_are_none_are_refused(wrong):
    s, *_ = measured()
    i = first(s, (s.upper > 0) & np.isfinite(s.upper))
    examples = s.mixture_examples.copy()
    examples[s.mixture_ptr[i]] = wrong
    with pytest.raises(lp.CertificateError, match="examples in ascending order"):
        tampered(s, mixture_examples=examples).check()


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_multipliers_below_zero_or_no_numbers_prove_nothing(wrong):
    s, *_ = measured()
    i = first(s, (s.lower > 0) & np.isfinite(s.lower))
    multipliers = s.multipliers.copy()
    multipliers[s.weighted_ptr[i]] = wrong
    with pytest.raises(lp.CertificateError, match="lower bound"):
        tampered(s, multipliers=multipliers).check()


def test_multipliers_that_do_not_cancel_prove_nothing_under_topk():
    s, *_ = measured("topk")
    i = first(s, (s.lower > 0) & np.isfinite(s.lower))
    multipliers = s.multipliers.copy()
    multipliers[s.weighted_ptr[i]] += 1  # in 2**40
    with pytest.raises(lp.CertificateError, match="lower bound"):
        tampered(s, multipliers=multipliers).check()


def test_no_finite_set_becomes_infinite_by_another_ones_conflict():
    weight, bias = np.array([[1.0], [-1.0]]), np.array([-1.5, 0.5])
    s = lp.stretch(weight, [[0], [0, 1]], [[-1.0], [1.0]], bias=bias)
    wrong = replace(
        s, lower=np.array([np.inf, np.inf]), conflict_ptr=np.array([0, 2, 4]), conflict_rows=np.array([0, 1] * 2)
    )
    with pytest.raises(
        lp.CertificateError, match="label set 0 is not proven: expected rows with one linear dependence"
    ):
        wrong.check()
    with pytest.raises(lp.CertificateError, match=r"label set 0 is not proven: .*lower bound inf"):
        replace(s, lower=np.array([np.inf, np.inf])).check()


def test_conflicts_of_a_stretch_have_no_more_rows_than_they_need():
    weight = np.array([[1.0], [-1.0], [2.0]])
    s = lp.stretch(weight, [[0, 1, 2]], [[-1.0], [1.0]])
    bounds = StretchBounds(s.layer, s.examples)
    several = [np.arange(2), np.arange(3)]
    faults = bounds.conflict_faults(s.label_sets.take([0, 0]), several)
    assert faults == [None, "expected a conflict of 1 to 2 rows, got 3"]


def test_a_centre_that_is_not_the_mean_is_refused():
    s, *_ = measured()
    examples = replace(s.examples, centre=s.examples.centre + 0.01)
    with pytest.raises(lp.CertificateError, match="expected the mean of the features as centre"):
        tampered(s, examples=examples).check()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"upper": np.zeros(3)}, "expected bounds of 12 label sets"),
        ({"lower": np.full(12, np.nan)}, "bounds of at least 0"),
        ({"mixture_ptr": np.zeros(13, np.int64)}, "ends of each mixture"),
        ({"multipliers": np.zeros(99)}, "integers with a weight each as weighted labels"),
        ({"conflict_rows": np.zeros(1)}, "integers with a weight each as conflict"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, message):
    s, *_ = measured(seed=5)
    assert len(s) == 12
    with pytest.raises(lp.CertificateError, match=message):
        tampered(s, **arrays).check()


def saved(tmp_path, s, weight, bias, features):
    s.save(tmp_path / "s.npz")
    np.savez(tmp_path / "w.npz", weight=weight, bias=bias)
    np.save(tmp_path / "f.npy", features)
    return [str(tmp_path / name) for name in ("s.npz", "w.npz", "f.npy")]


def test_a_saved_stretch_is_read_and_proven_again(tmp_path):
    s, weight, bias, features = measured()
    saved(tmp_path, s, weight, bias, features)
    again = lp.load_stretch(tmp_path / "s.npz", weight, features, bias=bias)
    np.testing.assert_array_equal(again.lower, s.lower)
    np.testing.assert_array_equal(again.upper, s.upper)
    again.check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w, b, f: (w + 1, b, f), "made for another weight"),
        (lambda w, b, f: (w[:1], b[:1], f), "made for a weight of shape"),
        (lambda w, b, f: (w, b + 1, f), "made with another bias"),
        (lambda w, _, f: (w, None, f), "made with a bias, got none"),
        (lambda w, b, f: (w, b, f + 1), "made for other features"),
        (lambda w, b, f: (w, b, f[1:]), r"made for features of \d+ examples, got \d+"),
    ],
)
def test_a_saved_stretch_is_tied_to_weights_and_features(tmp_path, change, message):
    s, weight, bias, features = measured()
    saved(tmp_path, s, weight, bias, features)
    weight, bias, features = change(weight, bias, features)
    with pytest.raises(lp.DataFormatError, match=message):
        lp.load_stretch(tmp_path / "s.npz", weight, features, bias=bias)


def test_another_file_is_no_stretch(tmp_path):
    np.savez(tmp_path / "s.npz", a=np.zeros(1))
    with pytest.raises(lp.DataFormatError, match="expected a result of labelproof stretch"):
        lp.load_stretch(tmp_path / "s.npz", np.eye(2), np.eye(2))
    lp.verify(np.eye(2), [[0]]).save(tmp_path / "v.npz")
    with pytest.raises(lp.DataFormatError, match="expected the format 'labelproof stretch'"):
        lp.load_stretch(tmp_path / "v.npz", np.eye(2), np.eye(2))


def test_the_format_of_another_file_is_nothing(tmp_path):
    s, *_ = measured()
    s.save(tmp_path / "s.npz")
    assert format_of(tmp_path / "s.npz") == "labelproof stretch"
    for arrays in ({"x": np.ones(1)}, {"header": np.zeros(1, np.uint8)}, {"header": np.array([0x31], np.uint8)}):
        np.savez(tmp_path / "x.npz", **arrays)
        assert format_of(tmp_path / "x.npz") == ""


def rewritten(path, **changes):
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes().decode()) | changes.pop("header", {})
    arrays |= changes
    np.savez(path, **(arrays | {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"header": {"rule": "other"}}, "rule: expected sigmoid or topk"),
        ({"header": {"ties": "other"}}, "ties: expected"),
        ({"header": {"d": "2"}}, "d: expected a whole number"),
        ({"centre": np.zeros(9)}, "centre: expected"),
        ({"lower": np.zeros(12, np.float32)}, "lower: expected an array of float64"),
        ({"upper": np.zeros((12, 1))}, "upper: expected an array of float64 with one axis"),
        ({"mixture_ptr": np.ones(13, np.int64)}, "ends of each mixture"),
    ],
)
def test_damage_is_told_in_one_sentence(tmp_path, changes, message):
    s, weight, bias, features = measured()
    saved(tmp_path, s, weight, bias, features)
    rewritten(tmp_path / "s.npz", **changes)
    with pytest.raises(lp.DataFormatError, match=message):
        lp.load_stretch(tmp_path / "s.npz", weight, features, bias=bias)


def test_the_standalone_file_needs_the_standard_library_alone(tmp_path):
    import ast

    tree = ast.parse(Path(standalone_stretch.__file__).read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


@every_rule
@pytest.mark.parametrize("ties", ["open", "inactive"])
def test_the_standalone_file_proves_what_is_true(tmp_path, rule, ties, capsys):
    s, weight, bias, features = measured(rule, ties=ties)
    assert standalone_stretch.main(saved(tmp_path, s, weight, bias, features)) == 0
    assert "Proven: the stretch of" in capsys.readouterr().out


def test_the_standalone_file_proves_infinite_ones_and_those_with_thresholds(tmp_path):
    features = np.column_stack([np.linspace(-1, 1, 9), np.full(9, 0.3)])
    weight, bias = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.0, -0.5])
    s = lp.stretch(weight, [[0], [0, 1]], features, bias=bias, thresholds=0.6)
    assert s.lower[1] == np.inf
    assert standalone_stretch.main(saved(tmp_path, s, weight, bias, features)) == 0


def test_the_standalone_file_reads_sparse_features(tmp_path):
    s, weight, bias, features = measured()
    features[features < 0] = 0
    sparse = lp.stretch(weight, s.label_sets, sp.csr_matrix(features), bias=bias, n_jobs=1)
    paths = saved(tmp_path, sparse, weight, bias, features)
    sp.save_npz(tmp_path / "f.npz", sp.csr_matrix(features))
    assert standalone_stretch.main([*paths[:2], str(tmp_path / "f.npz")]) == 0
    assert standalone_stretch.main(paths) == 2  # the same numbers, but not as a sparse matrix


@pytest.mark.parametrize(("name", "factor"), [("lower", 1.0001), ("upper", 0.9999), ("mixture_weights", 0.9)])
def test_the_standalone_file_refuses_what_is_not_proven(tmp_path, name, factor, capsys):
    s, weight, bias, features = measured()
    finite = np.where(np.isfinite(getattr(s, name)), getattr(s, name), 0) * factor
    forged = tampered(s, **{name: np.where(np.isfinite(getattr(s, name)), finite, getattr(s, name))})
    assert standalone_stretch.main(saved(tmp_path, forged, weight, bias, features)) == 1
    assert "Not proven" in capsys.readouterr().err


def test_the_standalone_file_refuses_other_features(tmp_path, capsys):
    s, weight, bias, features = measured()
    assert standalone_stretch.main(saved(tmp_path, s, weight, bias, features + 1)) == 2
    assert "the features that were measured" in capsys.readouterr().err


def test_the_standalone_file_runs_by_itself(tmp_path):
    s, weight, bias, features = measured()
    paths = saved(tmp_path, s, weight, bias, features)
    command = [sys.executable, "-I", standalone_stretch.__file__, *paths]
    assert subprocess.run(command, capture_output=True, check=True).returncode == 0  # noqa: S603


def test_twenty_sets_among_ten_thousand_examples_are_proven_in_fractions(tmp_path):
    rng = np.random.default_rng(0)
    weight, features = rng.normal(size=(40, 24)), rng.normal(size=(10_000, 24)).astype(np.float32)
    bias = rng.normal(size=40) - 8
    sets = [np.sort(rng.choice(40, 4, replace=False)).tolist() for _ in range(20)]
    s = lp.stretch(weight, sets, features, bias=bias, n_jobs=1)
    assert ((s.lower > 0.1) & (s.upper < np.inf)).sum() > 10
    assert standalone_stretch.main(saved(tmp_path, s, weight, bias, features)) == 0
