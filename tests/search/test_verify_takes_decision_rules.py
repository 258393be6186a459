"""`verify` takes the fitted rule that is really used, with its thresholds and its temperature."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.decisions import ExpectedF, PerLabelThreshold, SparsemaxSupport, Threshold, TopK

WEIGHT = np.random.default_rng(0).standard_normal((8, 3))
BIAS = np.random.default_rng(1).standard_normal(8)
SETS = (np.random.default_rng(2).random((40, 8)) < 0.4).astype(int)


def test_cuts_on_probabilities_are_thresholds():
    v = lp.verify(WEIGHT, SETS, bias=BIAS, rule=Threshold(0.3, scores="probabilities"))
    assert np.array_equal(v.status, lp.verify(WEIGHT, SETS, bias=BIAS, thresholds=np.full(8, 0.3)).status)


def test_cuts_on_logits_shift_the_bias():
    v = lp.verify(WEIGHT, SETS, bias=BIAS, rule=Threshold(0.25, scores="logits"))
    assert np.array_equal(v.status, lp.verify(WEIGHT, SETS, bias=BIAS - 0.25).status)
    v.check()


def test_every_set_that_a_fitted_rule_decides_is_argmaxable_for_it():
    x = np.random.default_rng(3).standard_normal((300, 3))
    scores = x @ WEIGHT.T + BIAS
    truth = (scores + np.random.default_rng(4).standard_normal(scores.shape) > 0.2).astype(int)
    rules = [
        Threshold(0.1, scores="logits"),
        PerLabelThreshold(scores="logits"),
        TopK(3),
        SparsemaxSupport(1.5),
    ]
    for rule in rules:
        decided = rule.fit(truth, scores).decide(scores)
        v = lp.verify(WEIGHT, decided.astype(int), bias=BIAS, rule=rule, ties="inactive")
        assert (v.status == 1).all(), rule


def test_a_rule_of_a_fixed_number_of_labels_never_gives_others():
    with pytest.raises(ValueError, match="labels must have the 2 labels that TopK gives, got 3 in set 1"):
        lp.verify(WEIGHT, [[0, 1], [0, 1, 2]], rule=TopK(2))


def test_thresholds_belong_to_the_rule():
    with pytest.raises(ValueError, match="thresholds must be left to the rule, got both thresholds and TopK"):
        lp.verify(WEIGHT, SETS, rule=TopK(2), thresholds=0.5)


def test_a_rule_that_does_not_know_its_scores_cannot_be_verified():
    with pytest.raises(ValueError, match="scores='logits' or scores='probabilities'"):
        lp.verify(WEIGHT, SETS, rule=Threshold(0.5))


def test_the_radius_goes_with_cuts_only():
    with pytest.raises(ValueError, match="radius goes with rule='sigmoid' only, got rule='topk'"):
        lp.verify(WEIGHT, SETS, rule=ExpectedF(1.0, scores="logits"), radius=True)
    assert lp.verify(WEIGHT, SETS, rule=Threshold(0.0, scores="logits"), radius=True).radii is not None


class Oracle:
    geometry = None


def test_a_rule_without_geometry_is_refused():
    with pytest.raises(ValueError, match="rule must have label sets that linear inequalities describe, got Oracle"):
        lp.verify(WEIGHT, SETS, rule=Oracle())
