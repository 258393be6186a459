"""The bar: its rank, its statement, and what it refuses."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import labelproof as lp
from labelproof.proof import standalone_stretch, stretch_bar
from labelproof.proof.examples import read_examples
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.stretch_bar import Bar, bar_rank, bar_value, least_alpha


def made(n=320, seed=0, **options):
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=(6, 3)), rng.normal(size=6)
    features, held_out = rng.normal(size=(100, 3)), rng.normal(size=(n, 3))
    s = lp.stretch(weight, [[0], [1, 2]], features, bias=bias, calibration=held_out, n_jobs=1, **options)
    return s, weight, bias, features, held_out


@pytest.mark.parametrize(("n", "alpha"), [(299, 0.01), (472, 0.01), (473, 0.01), (1500, 0.01), (200, 0.05), (60, 0.05)])
def test_the_rank_is_the_largest_that_the_binomial_allows(n, alpha):
    r = bar_rank(n, alpha)
    assert binom.cdf(r, n, alpha) <= 0.05 < binom.cdf(r + 1, n, alpha)


def test_the_risk_is_what_the_confidence_leaves_and_a_little_less():
    assert stretch_bar.CONFIDENCE == 0.95
    assert 0.05 * (1 - 1e-8) < stretch_bar.RISK < 0.05


class Predicted(SimpleNamespace):
    """Sets with upper bounds, as a bar reads them."""

    def __len__(self):
        return len(self.upper)


def test_a_bar_is_of_the_sets_that_are_predicted_for_its_inputs():
    """Two labels, of which one input in sixty switches the first on."""
    inputs = read_examples(np.vstack([[[1.0]], -np.ones((59, 1))]), 1)
    layer, upper = make_layer([[1.0], [-1.0]]), np.arange(60.0)
    bar = Bar(bar_value(upper, 0.05), 0.05, 60, 0, inputs.sha256, None, Predicted(layer=layer, upper=upper))
    others = [[1]] * 58
    for sets, holds in [
        ([[0], [1], *others], True),
        ([[1], [1], *others], False),  # another label
        ([[0, 1], [], *others], False),  # the same labels, in other sets
    ]:
        predicted = Predicted(layer=layer, upper=upper, label_sets=read_label_sets(sets, 2))
        fault = replace(bar, predicted=predicted).fault(inputs)
        assert fault == (None if holds else "expected the sets that are predicted for its inputs, got others")


def test_too_few_inputs_are_told_which_alpha_they_allow():
    with pytest.raises(
        ValueError, match=r"at least 299 inputs for alpha=0.01, got 298: with these, alpha can be 0.01001"
    ):
        bar_rank(298, 0.01)
    assert bar_rank(298, least_alpha(298)) == 0
    with pytest.raises(ValueError, match="calibration must hold at least 299 inputs"):
        made(100)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1])
def test_a_share_that_is_none_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha must be a share between 0 and 1"):
        bar_rank(1000, alpha)


def test_the_bar_is_the_largest_stretch_but_r():
    s, _, _, _, held_out = made(500)
    assert s.bar.rank == 1
    assert s.bar.value == np.sort(s.bar.predicted.upper)[-2]
    assert (s.bar.predicted.upper > s.bar.value).sum() == 1
    np.testing.assert_array_equal(s.beyond, s.lower > s.bar.value)
    s.check(calibration=held_out)


def test_a_set_at_the_bar_is_not_beyond_it():
    s, *_ = made()
    assert not replace(s, lower=np.full(2, s.bar.value)).beyond.any()


def test_the_bar_says_what_it_may_and_no_more():
    s, *_ = made()
    assert s.bar.statement == (
        "With 95 % confidence, all sets beyond the bar together get at most 1 % of this model's predictions."
    )
    assert "chosen without them" in s.bar.assumption


def test_predictions_are_measured_as_what_the_model_predicts():
    s, weight, bias, _, held_out = made()
    on = held_out @ weight.T + bias > 0
    assert [active.tolist() for active in s.bar.predicted.label_sets] == [np.flatnonzero(row).tolist() for row in on]


def test_under_topk_the_k_largest_are_predicted():
    s, weight, bias, _, held_out = made(rule="topk", k=2)
    largest = np.sort(np.argsort(-(held_out @ weight.T + bias), axis=1)[:, :2], axis=1)
    np.testing.assert_array_equal(np.array(list(s.bar.predicted.label_sets)), largest)
    s.check(calibration=held_out)
    with pytest.raises(ValueError, match="k must be given with rule='topk'"):
        made(rule="topk")


def test_inputs_that_are_among_the_examples_are_refused():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 3))
    held_out = np.vstack([rng.normal(size=(300, 3)), features[5:7]])
    with pytest.raises(ValueError, match="not in features, got 2 that are, the first in row 300"):
        lp.stretch(np.eye(3), [[0]], features, calibration=held_out)


def test_inputs_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"calibration must have shape \(n_examples, 3\)"):
        lp.stretch(np.eye(3), [[0]], np.eye(3), calibration=np.ones((300, 4)))


def test_without_inputs_there_is_no_bar():
    s = lp.stretch(np.eye(3), [[0]], np.eye(3))
    assert s.bar is None
    with pytest.raises(ValueError, match="a bar needs held-out inputs"):
        _ = s.beyond


def test_the_bar_is_kept_and_proven_again(tmp_path):
    s, weight, bias, features, held_out = made()
    s.save(tmp_path / "s.npz")
    again = lp.load_stretch(tmp_path / "s.npz", weight, features, bias=bias)
    again.check(calibration=held_out)
    assert again.bar.value == s.bar.value
    np.savez(tmp_path / "w.npz", weight=weight, bias=bias)
    np.save(tmp_path / "f.npy", features)
    assert standalone_stretch.main([str(tmp_path / name) for name in ("s.npz", "w.npz", "f.npy")]) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": 0.1}, "the bar is not proven: expected"),
        ({"rank": 3}, "bounds of 320 predictions and their rank"),
        ({"n": 319}, "bounds of 319 predictions"),
        ({"sha256": "0"}, "expected the inputs that it was made from"),
    ],
)
def test_a_bar_that_its_predictions_do_not_give_is_refused(changes, message, tmp_path):
    s, weight, bias, features, held_out = made()
    forged = replace(s, bar=replace(s.bar, **changes))
    with pytest.raises(lp.CertificateError, match=message):
        forged.check(calibration=held_out)
    forged.save(tmp_path / "s.npz")
    np.savez(tmp_path / "w.npz", weight=weight, bias=bias)
    np.save(tmp_path / "f.npy", features)
    code = standalone_stretch.main([str(tmp_path / name) for name in ("s.npz", "w.npz", "f.npy")])
    assert code == (0 if "sha256" in changes else 1)


def test_predictions_that_are_not_the_models_are_refused():
    s, *_, held_out = made()
    shifted = s.bar.predicted.label_sets.take([*range(1, 320), 0])
    forged = replace(s.bar.predicted, label_sets=shifted)
    assert "predicted for its inputs" in replace(s.bar, predicted=forged).fault(
        lp.stretch(np.eye(3), [], held_out).examples
    )
