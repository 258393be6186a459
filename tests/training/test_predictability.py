"""Which label sets of the training part a model can predict, and thresholds under which more of them can be."""

import json

import numpy as np
import pytest
import scipy.sparse

import labelproof as lp
from labelproof.data import Dataset
from labelproof.decisions import ExpectedF, PerLabelThreshold, Threshold, TopK
from labelproof.proof.labels import read_label_sets
from labelproof.training import ConfigError, TrainConfig, fit
from labelproof.training.predictability import (
    Predictable,
    entering_domain,
    lower_thresholds,
    measure_predictable,
    training_sets,
)

NAMES = ("ant", "bee", "cat", "dog")
RNG = np.random.default_rng(0)
Y = RNG.random((120, 4)) < 0.35
TEXTS = [" ".join(name for name, on in zip(NAMES, row, strict=True) if on for _ in range(2)) or "none" for row in Y]


def texts():
    return Dataset(Y, NAMES, texts=TEXTS)


def config(**decision):
    return TrainConfig.from_dict(
        {
            "encoder": {"kind": "tfidf", "hidden": None},
            "head": {"kind": "svm", "C": 0.02},
            "decision": {"kind": "fixed", **decision},
        }
    )


def share_of(fitted):
    weight, bias = fitted.head.weight.detach().double().numpy(), fitted.head.bias.detach().double().numpy()
    domain = entering_domain(fitted.encoder, fitted.head)
    return measure_predictable(weight, bias, fitted.rule, domain, fitted.training_sets.sets)


def test_a_share_of_the_training_sets_is_made_predictable():
    before = fit(config(), texts(), progress=False)
    after = fit(config(require_predictable=0.9), texts(), progress=False)
    assert share_of(before).share < 0.9 <= share_of(after).share
    assert isinstance(after.rule, PerLabelThreshold)
    assert after.notes[0].startswith("Thresholds were moved, so that 9")


def test_what_is_predictable_already_keeps_its_rule():
    fitted = fit(config(require_predictable=0.01), texts(), progress=False)
    assert (type(fitted.rule).__name__, fitted.notes) == ("Threshold", [])


def test_only_labels_of_conflicts_move_and_no_further_than_conflicts_ask_for():
    weight, sets = np.eye(3), read_label_sets([[0], [1], [2], [0, 1]], 3)
    rule, found = lower_thresholds(weight, np.full(3, -0.8), Threshold(0.0, scores="logits"), "unit", sets, 1.0)
    exact = np.sqrt(0.5) - 0.8  # both coordinates of the input that gives most
    assert found == Predictable(4, 0, 0)
    assert rule.thresholds_[2] == 0
    np.testing.assert_array_less(rule.thresholds_[:2], exact)
    np.testing.assert_allclose(rule.thresholds_[:2], exact, atol=0.01)


def test_only_as_many_sets_as_are_asked_for_are_made_predictable():
    weight, sets = np.eye(3), read_label_sets([[0], [1], [2], [0, 1], [0, 1, 2]], 3)
    rule, found = lower_thresholds(weight, np.full(3, -0.8), Threshold(0.0, scores="logits"), "unit", sets, 0.8)
    assert (found, rule.thresholds_[2]) == (Predictable(4, 1, 0), 0)


def test_thresholds_of_inactive_labels_rise_where_no_active_label_takes_part():
    sets = read_label_sets([[], [0]], 1)
    rule, found = lower_thresholds([[1.0]], [0.5], Threshold(0.0, scores="logits"), "nonnegative", sets, 1.0)
    assert (found.possible, rule.thresholds_[0]) == (2, pytest.approx(0.5, abs=0.03))


def test_a_share_that_no_thresholds_give_is_approached():
    weight, sets = [[1.0], [-1.0]], read_label_sets([[], [0, 1]], 2)  # θ₀ + θ₁ would have to be ≥ 0, and < 0
    start = Threshold(0.0, scores="logits")
    rule, found = lower_thresholds(weight, None, start, None, sets, 1.0)
    assert (rule, found) == (start, Predictable(1, 1, 0))
    Z = np.array([[0, 0], [1, 1], [1, 0], [0, 1]] * 10, bool)
    features = np.column_stack([Z[:, 0], Z[:, 1]]).astype(np.float32)
    sections = {"head": {"kind": "bottleneck", "d": 1, "bias": False}, "trainer": {"epochs": 1}}
    asked = TrainConfig.from_dict(sections | {"decision": {"kind": "fixed", "require_predictable": 1.0}})
    fitted = fit(asked, Dataset(Z, ("a", "b"), features=features), progress=False)
    assert "of the 4 label sets of the training part can be predicted, not 100 %." in fitted.notes[0]


def test_rules_without_thresholds_are_not_counted_or_moved():
    sets = read_label_sets([[0]], 2)
    assert measure_predictable(np.eye(2), None, TopK(1), None, sets) is None
    assert measure_predictable(np.eye(2), None, ExpectedF(1.0, "logits"), None, sets) is None
    with pytest.raises(ValueError, match="of a rule that cuts logits, got TopK"):
        lower_thresholds(np.eye(2), None, TopK(1), None, sets, 1.0)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ({"kind": "top-k", "require_predictable": 0.9}, "kind must be one of fixed, global, .*, got 'top-k'"),
        ({"require_predictable": 0.0}, "decision.require_predictable: input should be greater than 0, got 0"),
        (
            {"require_predictable": 1.5},
            "decision.require_predictable: input should be less than or equal to 1, got 1.5",
        ),
        ({"require_predictable": "most"}, "decision.require_predictable: .* number, .*got 'most'"),
    ],
)
def test_shares_that_make_no_sense_are_refused(decision, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_dict({"decision": decision})


def test_the_recipe_takes_the_share_and_nothing_else_of_the_decision():
    share = {"require_predictable": 0.9}
    assert TrainConfig.from_dict({"decision": share}).head.kind == "auto"
    assert TrainConfig.from_dict({"decision": {**share, "kind": "global"}}).head.kind == "dft"
    assert TrainConfig.from_dict({"decision": share}).to_dict()["decision"]["require_predictable"] == 0.9
    assert "require_predictable" not in TrainConfig().to_dict()["decision"]


def test_the_sets_that_are_looked_at_are_spread_over_all():
    known = training_sets(scipy.sparse.csr_array(np.tril(np.ones((40, 40)))), most=10)
    sizes = [len(known.sets[i]) for i in range(len(known.sets))]
    assert (known.total, len(sizes), sizes[0], sizes[-1]) == (40, 10, 1, 37)
    assert Predictable(8, 1, 1).sentence(known) == (
        "Proven for 10 of the 40 label sets of the training part, evenly spread: 8 (80.0 %) can be predicted, 1 never, "
        "whatever the input; 1 undecided."
    )


def test_the_model_folder_keeps_what_was_moved(tmp_path):
    after = fit(config(require_predictable=0.9), texts(), progress=False)
    model = lp.models.Model.of(after)
    model.save(tmp_path / "model")
    again = lp.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.rule.thresholds_, after.rule.thresholds_)
    assert json.loads((tmp_path / "model" / "config.json").read_text())
    found = lp.audit(again, Y)
    assert found.document["layer"]["domain"] == "nonnegative inputs within 1 of 0"
