"""A rule that promises recall or precision keeps its promise, and says when it cannot make one."""

import math

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import binom

import labelproof as lp
from labelproof.decisions import RiskControlled, promised_rules
from labelproof.decisions.risk_control import largest_mean_risk

LEVEL, CONFIDENCE = 0.8, 0.9


def source(rng, n, n_labels=6):
    """Return labels and scores that say something about them."""
    y_true = rng.random((n, n_labels)) < np.linspace(0.05, 0.6, n_labels)
    return y_true, y_true + 0.9 * rng.standard_normal((n, n_labels))


def missed(y_true, y_pred):
    """Return the share of missed labels of each example that has a label."""
    some = y_true.any(1)
    return ((y_true & ~y_pred).sum(1) / np.maximum(y_true.sum(1), 1))[some]


def wrong(y_true, y_pred):
    """Return the share of wrong predictions of each example, 0 where there is none."""
    return (~y_true & y_pred).sum(1) / np.maximum(y_pred.sum(1), 1)


RISKS = {"recall": missed, "precision": wrong}


def fitted_risks(rule, n_fits=200, n=120):
    """Return the risk of each of many fits to new examples, measured on many others."""
    rng = np.random.default_rng(5)
    y_true, y_score = source(rng, 20_000)
    risks = []
    for _ in range(n_fits):
        rule.fit(*source(rng, n))
        risks.append(RISKS[rule.metric](y_true, rule.decide(y_score)).mean())
    return np.array(risks)


@pytest.mark.parametrize("metric", ["recall", "precision"])
def test_with_a_confidence_the_promise_is_broken_no_more_often_than_said(metric):
    risks = fitted_risks(RiskControlled(metric, LEVEL, CONFIDENCE))
    assert (risks > 1 - LEVEL).mean() <= 1 - CONFIDENCE
    assert risks.mean() > 0.03  # and the promise is not kept by predicting everything, or nothing


def test_without_a_confidence_recall_is_right_on_average_and_no_better_than_needed():
    risks = fitted_risks(RiskControlled("recall", LEVEL, None))
    error = risks.std() / math.sqrt(len(risks))
    assert risks.mean() < 1 - LEVEL + 2 * error
    assert risks.mean() > 1 - LEVEL - 1 / 60 - 2 * error  # at most 1/(n + 1) less, and some for examples without labels


@pytest.mark.parametrize("metric", ["recall", "precision"])
def test_every_threshold_between_two_scores_would_have_been_refused_or_allowed_alike(metric):
    rng = np.random.default_rng(2)
    y_true, y_score = source(rng, 60)
    rule = RiskControlled(metric, 0.6, 0.9).fit(y_true, y_score.round(1))  # with ties
    n = int(y_true.any(1).sum()) if metric == "recall" else 60
    most = largest_mean_risk(n, 0.4, 0.9)
    cuts = np.unique(y_score.round(1))
    risks = np.array([RISKS[metric](y_true, y_score.round(1) >= cut).mean() for cut in cuts])
    if metric == "recall":
        allowed = cuts[risks <= most].max()
    else:
        refused = np.flatnonzero(risks > most)
        allowed = cuts[refused[-1] + 1]  # the highest that fails stops the walk, though lower ones may pass
    np.testing.assert_array_equal(rule.decide(y_score.round(1)), y_score.round(1) >= allowed)
    assert rule.risk_ == pytest.approx(risks[cuts == allowed][0])


@pytest.mark.parametrize(("n", "alpha", "confidence"), [(30, 0.1, 0.95), (100, 0.1, 0.95), (1000, 0.3, 0.8)])
def test_the_largest_mean_risk_is_where_the_p_value_passes(n, alpha, confidence):
    def p_value(r):
        r = min(r, alpha)
        h = (r * math.log(r / alpha) if r else 0) + (1 - r) * math.log((1 - r) / (1 - alpha))
        return min(math.exp(-n * h), math.e * binom.cdf(math.ceil(n * r - 1e-9), n, alpha))

    most = largest_mean_risk(n, alpha, confidence)
    assert p_value(most) <= 1 - confidence + 1e-9
    assert p_value(most + 1.5 / n) > 1 - confidence


@pytest.mark.parametrize("metric", ["recall", "precision"])
@pytest.mark.parametrize("confidence", [0.95, None])
def test_too_few_examples_are_refused_with_the_number_that_is_needed(metric, confidence):
    if metric == "precision" and confidence is None:
        return
    needed = 29 if confidence else 9
    y_true, y_score = np.ones((needed, 2), bool), np.ones((needed, 2))
    RiskControlled(metric, 0.9, confidence).fit(y_true, y_score)
    with pytest.raises(ValueError, match=f"y_true must have at least {needed} examples.* level=0.9.*got {needed - 1}"):
        RiskControlled(metric, 0.9, confidence).fit(y_true[1:], y_score[1:])


def test_examples_without_labels_do_not_count_for_recall():
    y_true = np.zeros((100, 2), bool)
    y_true[:5] = True
    with pytest.raises(ValueError, match=r"at least 9 examples with a label to promise level=0\.9, got 5"):
        RiskControlled("recall", 0.9, None).fit(y_true, y_true.astype(float))
    RiskControlled("precision", 0.9).fit(y_true, y_true.astype(float))


def test_scores_that_say_nothing_predict_nothing_where_precision_is_promised():
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((400, 5)) < 0.1, rng.random((400, 5))
    y_true[np.arange(400), y_score.argmax(1)] = False
    rule = RiskControlled("precision", 0.95, 0.99).fit(y_true, y_score)
    assert rule.decide(y_score).mean() < 0.02
    everything = RiskControlled("precision", 0.5).fit(np.ones((50, 3), bool), rng.random((50, 3)))
    assert everything.decide(rng.random((9, 3))).all() or everything.threshold_ < 1
    assert everything.decide(np.full((1, 3), 0.99)).all()


def test_the_walk_goes_on_where_the_first_scores_do_not_decide():
    rng = np.random.default_rng(1)
    y_true = rng.random((2000, 300)) < 0.6
    y_true[:, 150:] = False
    y_score = np.where(np.arange(300) < 150, 1.0, 0.0) + 0.5 * rng.random((2000, 300))
    rule = RiskControlled("precision", 0.35, 0.9).fit(y_true, y_score)
    cuts = np.sort(y_score.ravel())[::3000]
    risks = np.array([wrong(y_true, y_score > cut).mean() for cut in cuts])
    lowest = cuts[np.flatnonzero(risks > largest_mean_risk(2000, 0.65, 0.9))[-1]]
    assert abs(rule.threshold_ - lowest) < 0.01


@pytest.mark.parametrize(
    "rule", [RiskControlled("recall", 0.8), RiskControlled("recall", 0.8, None), RiskControlled("precision", 0.7)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kept", [0.9, 0.3])  # of scores; with few stored ones recall needs those that are not
def test_sparse_scores_are_the_dense_ones_that_they_equal(rule, dtype, kept):
    rng = np.random.default_rng(3)
    y_true, y_score = source(rng, 150)
    y_score = np.where((rng.random(y_score.shape) < kept) & (y_score > 0.2), y_score, 0).astype(dtype)
    dense = rule.fit(y_true, y_score)
    threshold, risk, expected = dense.threshold_, dense.risk_, dense.decide(y_score)
    for form in (scipy.sparse.csr_array(y_score), scipy.sparse.coo_matrix(y_score)):
        rule.fit(scipy.sparse.csr_array(y_true), form)
        assert rule.threshold_ == threshold
        assert rule.risk_ == pytest.approx(risk)
        np.testing.assert_array_equal(rule.decide(form), expected)
        np.testing.assert_array_equal(rule.decide(form, sparse=True).toarray(), expected)


def test_sparse_scores_that_make_no_sense_are_refused():
    rule, y_true = RiskControlled(), np.ones((40, 2), bool)
    for scores, message in (
        (np.full((40, 2), np.nan), "y_score must be finite, got nan"),
        (np.ones((40, 3)), r"y_score must have the shape of y_true, \(40, 2\), got \(40, 3\)"),
        (np.ones((40, 2), complex), "y_score must be numbers"),
        (np.ones((0, 2)), "y_score must hold at least one example and one label"),
    ):
        with pytest.raises(ValueError, match=message):
            rule.fit(y_true, scipy.sparse.csr_array(scores))
    assert RiskControlled("recall", 0.5).fit(y_true, scipy.sparse.csr_array((40, 2))).decide(np.zeros((1, 2))).all()
    nothing = RiskControlled("precision", 0.5).fit(np.zeros((40, 2)), scipy.sparse.csr_array(np.ones((40, 2))))
    assert not nothing.decide(np.ones((1, 2))).any()


def test_a_fitted_rule_is_verified_like_any_other_threshold():
    rng = np.random.default_rng(0)
    rule = RiskControlled("recall", 0.8, scores="logits")
    assert rule.geometry is None
    rule.fit(*source(rng, 200))
    assert rule.geometry.rule == "sigmoid"
    assert rule.geometry.logit_cuts(2).tolist() == [rule.threshold_] * 2
    weight = rng.standard_normal((6, 3))
    result = lp.verify(weight, [[0, 1]], rule=rule, n_jobs=1)
    assert len(result) == 1
    assert str(rule).endswith(f"; threshold_ = {rule.threshold_:.6g}; risk_ = {rule.risk_:.6g}")


def test_promised_rules_have_the_names_of_the_command_line():
    rules = promised_rules(level=0.7, confidence=None, scores="logits")
    assert list(rules) == ["promised recall", "promised precision"]
    assert rules["promised recall"].level == 0.7
