"""Pairs of labels and dead labels: an oracle, closed forms, attacks, bad input."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from stretch_oracle import weak_value
from typer.testing import CliRunner

import labelproof as lp
from labelproof.cli import app
from labelproof.proof import pair_bounds
from labelproof.proof.pair_store import load_pairs


def made(seed=0, n_labels=8, d=3, n=50):
    rng = np.random.default_rng(seed)
    sets = [np.sort(rng.choice(n_labels, rng.integers(1, 4), replace=False)).tolist() for _ in range(40)]
    return rng.normal(size=(n_labels, d)), rng.normal(size=n_labels) - 1.5, rng.normal(size=(n, d)), sets


def last(numbers, new):
    """Change the last of some pairs."""
    return np.vstack([numbers[:-1], new])


@pytest.mark.parametrize("seed", range(6))
def test_the_bounds_of_a_pair_enclose_the_value_of_its_programme(seed):
    weight, bias, features, sets = made(seed)
    p = lp.stretch_pairs(weight, sets, features, bias=bias, every=True, n_jobs=1)
    p.check()
    assert len(p) == 28
    for (a, b), low, high in zip(p.pairs.tolist(), p.lower, p.upper, strict=True):
        value = weak_value(weight[[a, b]], bias[[a, b]], features, features.mean(axis=0), [0, 1])
        assert low <= value * (1 + 1e-7)
        assert high >= value * (1 - 1e-7)
        assert low >= high * 0.999 - 1e-4


def test_pairs_that_occur_are_counted():
    weight, bias, features, _ = made()
    p = lp.stretch_pairs(weight, [[0, 1, 2], [0, 1], [3], []], features, bias=bias, n_jobs=1)
    assert p.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert p.counts.tolist() == [2, 1, 1]


def test_a_pair_is_apart_where_no_mixture_has_both():
    features = np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    p = lp.stretch_pairs(np.eye(2), [[0, 1]] * 3, features, bias=[-0.2, -0.2])
    assert p.apart.tolist() == [0]
    assert lp.stretch_pairs(np.eye(2), [[0, 1]] * 3, features, bias=[0.2, 0.2]).apart.tolist() == []


def test_opposite_labels_are_very_far_apart_and_never_proven_together():
    p = lp.stretch_pairs([[1.0], [-1.0]], [[0, 1]], np.linspace(-1, 1, 11)[:, None], bias=[-0.5, -0.5])
    assert p.lower[0] > 1000
    assert p.upper[0] == np.inf


def test_a_pair_that_is_on_at_the_mean_has_no_stretch():
    p = lp.stretch_pairs(np.eye(2), [[0, 1]], np.eye(2))
    assert (p.lower[0], p.upper[0]) == (0, 0)
    p.check()


def test_pairs_are_not_proven_where_subnormal_numbers_are_flushed(monkeypatch):
    def refuse():
        raise RuntimeError("flushed")

    p = lp.stretch_pairs(np.eye(2), [[0, 1]], np.eye(2))
    monkeypatch.setattr("labelproof.proof.pair_result.require_subnormals", refuse)
    with pytest.raises(RuntimeError, match="flushed"):
        p.check()


def test_sparse_features_give_the_same_pairs():
    weight, bias, features, sets = made(3)
    features[features < 0] = 0
    dense, sparse = (lp.stretch_pairs(weight, sets, f, bias=bias) for f in (features, sp.csr_matrix(features)))
    np.testing.assert_allclose(sparse.upper, dense.upper, rtol=1e-4)


@pytest.mark.parametrize(("name", "factor"), [("lower", 1.001), ("upper", 0.999), ("weights", 0.99)])
def test_bounds_of_pairs_that_are_not_proven_are_refused(name, factor):
    weight, bias, features, sets = made()
    p = lp.stretch_pairs(weight, sets, features, bias=bias)
    with pytest.raises(lp.CertificateError, match=r"the stretch of the pair .* is not proven"):
        replace(p, **{name: getattr(p, name) * factor}).check()


def test_examples_of_pairs_that_are_none_are_refused():
    weight, bias, features, sets = made()
    p = lp.stretch_pairs(weight, sets, features, bias=bias)
    with pytest.raises(lp.CertificateError, match="expected examples below 50"):
        replace(p, examples=p.examples + 50).check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: {"pairs": p.pairs + 8}, "expected pairs of labels below 8, got others"),
        (lambda p: {"pairs": p.pairs - 9}, "expected pairs of labels below 8, got others"),
        (lambda p: {"pairs": np.where(p.pairs == 7, 8, p.pairs)}, "expected pairs of labels below 8, got others"),
        (lambda p: {"pairs": p.pairs[:, ::-1]}, "expected pairs of two labels in ascending order, got others"),
        (lambda p: {"pairs": last(p.pairs, [3, 3])}, "expected pairs of two labels in ascending order, got others"),
        (lambda p: {"pairs": p.pairs[:, :1]}, r"expected two pairs for each of \d+ pairs, got"),
        (lambda p: {"examples": p.examples[1:]}, r"expected two examples for each of \d+ pairs, got"),
        (lambda p: {"examples": p.examples - 60}, "expected examples below 50, got others"),
        (lambda p: {"examples": last(p.examples, [0, 50])}, "expected examples below 50, got others"),
        (lambda p: {"examples": last(p.examples, [-1, 0])}, "expected examples below 50, got others"),
        (lambda p: {"weights": p.weights[:, :1]}, r"expected two weights for each of \d+ pairs, got"),
        (lambda p: {"multipliers": p.multipliers.ravel()}, r"expected two multipliers for each of \d+ pairs, got"),
        (lambda p: {"counts": p.counts[1:]}, r"expected counts for each of \d+ pairs, got"),
        (lambda p: {"lower": p.lower[:, None]}, r"expected lower for each of \d+ pairs, got"),
        (lambda p: {"upper": p.upper[1:]}, r"expected upper for each of \d+ pairs, got"),
        (lambda p: {"lower": p.lower * np.nan}, "is not proven"),
        (lambda p: {"upper": p.upper * np.nan}, "is not proven"),
        (
            lambda p: {"examples_of": replace(p.examples_of, centre=p.examples_of.centre + 1e-6)},
            "expected the mean of the features as centre",
        ),
    ],
)
def test_evidence_that_does_not_fit_together_is_refused(change, message):
    weight, bias, features, sets = made()
    p = lp.stretch_pairs(weight, sets, features, bias=bias)
    with pytest.raises(lp.CertificateError, match=message):
        replace(p, **change(p)).check()


def test_the_first_pair_that_is_not_proven_is_named():
    weight, bias, features, sets = made()
    p = lp.stretch_pairs(weight, sets, features, bias=bias)
    lower, upper = p.lower.copy(), p.upper.copy()
    lower[7], upper[4] = np.inf, 0.0
    with pytest.raises(lp.CertificateError, match=rf"the pair \[{p.pairs[4][0]}, {p.pairs[4][1]}\] is not proven"):
        replace(p, lower=lower, upper=upper).check()


def test_pairs_are_kept_and_proven_again(tmp_path, monkeypatch):
    weight, bias, features, sets = made()
    p = lp.stretch_pairs(weight, sets, features, bias=bias)
    p.save(tmp_path / "p.npz")
    again = load_pairs(tmp_path / "p.npz", weight, features, bias=bias)
    again.check()
    for name in ("pairs", "counts", "lower", "upper", "examples", "weights", "multipliers"):
        np.testing.assert_array_equal(getattr(again, name), getattr(p, name))
    with pytest.raises(lp.DataFormatError, match="made for other features"):
        load_pairs(tmp_path / "p.npz", weight, features + 1, bias=bias)
    monkeypatch.chdir(tmp_path)
    np.savez("W.npz", weight=weight, bias=bias)
    np.save("F.npy", features)
    words = ["check", "p.npz", "-w", "W.npz", "--features", "F.npy"]
    ran = CliRunner().invoke(app, words)
    assert (ran.exit_code, f"The stretch of {len(p)} pairs of labels proven again" in ran.output) == (0, True)
    replace(p, lower=p.lower + 1).save("p.npz")
    ran = CliRunner().invoke(app, words)
    assert (ran.exit_code, "Not proven: the stretch of the pair" in ran.output) == (1, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": None}, "pairs: expected an array of int64 with two axes"),
        ({"counts": None}, "counts: expected an array of int64 with one axis"),
        ({"lower": np.zeros(3, np.float32)}, "lower: expected an array of float64 with one axis"),
        ({"lower": np.zeros(3)}, "expected lower for each of"),
    ],
)
def test_damaged_files_of_pairs_are_refused_in_a_sentence(tmp_path, change, message):
    weight, bias, features, sets = made()
    lp.stretch_pairs(weight, sets, features, bias=bias).save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as file:
        arrays = {name: file[name] for name in file.files} | change
    np.savez(tmp_path / "p.npz", **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(lp.DataFormatError, match=f"p.npz: .*{message}"):
        load_pairs(tmp_path / "p.npz", weight, features, bias=bias)


def test_negative_multipliers_prove_nothing_of_a_pair():
    weight, bias, features, sets = made()
    p = lp.stretch_pairs(weight, sets, features, bias=bias)
    with pytest.raises(lp.CertificateError, match="is not proven"):
        replace(p, multipliers=-p.multipliers).check()


def test_multipliers_that_overflow_prove_nothing_of_a_pair():
    features = np.array([[9.0, -9.0], [-9.0, 9.0], [-1.0, -1.0]])
    p = lp.stretch_pairs(np.eye(2), [[0, 1]], features, bias=[-0.2, -0.2])
    forged = replace(p, multipliers=np.full_like(p.multipliers, 1e38), lower=np.array([np.inf]))
    with pytest.raises(lp.CertificateError, match="is not proven"):
        forged.check()


def test_too_many_pairs_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="is for up to 1,000,000 pairs of labels, got those of 2,000 labels"):
        lp.stretch_pairs(np.ones((2000, 1)), [[0]], [[1.0]], every=True)
    monkeypatch.setattr(pair_bounds, "MOST_LOGITS", 10)
    with pytest.raises(ValueError, match="pairs need labels × examples of at most 10"):
        lp.stretch_pairs(np.eye(3), [[0, 1, 2]], np.eye(3).repeat(2, axis=0))


def test_labels_that_no_input_switches_on_are_dead():
    weight, bias = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([0.0, -2.0, -1.0])
    features = np.array([[1.0, 1.0], [-1.0, -1.0]])
    dead = lp.dead_labels(weight, [[1], [0, 1, 2]], features, bias=bias)
    assert [(one.label, one.true) for one in dead] == [(1, 2), (2, 1)]
    assert dead[0].lower == pytest.approx(2)
    assert dead[0].lower < 2  # so that no more than 1.99 is said
    assert dead[0].reason == "off at every mixture of the inputs, up to 1.99 times as far out"
    assert dead[1].reason == "off for every input: its weights are all 0"
    assert dead[1].lower == np.inf or dead[1].lower > 1e6


def test_where_every_label_is_predicted_none_is_dead():
    assert lp.dead_labels(np.eye(2), [[0]], np.eye(2)) == []


def test_one_pair_with_a_label_that_is_none_is_refused():
    weight, bias, features, sets = made()
    p = lp.stretch_pairs(weight, sets, features, bias=bias)
    pairs = p.pairs.copy()
    pairs[0, 0] = -1
    with pytest.raises(lp.CertificateError, match="expected pairs of labels below 8"):
        replace(p, pairs=pairs).check()


def test_the_most_frequent_pairs_apart_come_first_and_then_the_farthest():
    weight, bias, features, sets = made()
    p = lp.stretch_pairs(weight, sets, features, bias=bias)
    n = len(p)
    counts, lower = np.arange(n) // 2, 2.0 + np.arange(n)
    lower[-1] = 1.0  # at the edge of the mixtures, not beyond
    order = replace(p, counts=counts, lower=lower).apart.tolist()
    assert order == sorted(range(n - 1), key=lambda i: (-counts[i], -lower[i]))
