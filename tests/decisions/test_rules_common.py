"""What every rule does: fit and decide, survive the disk, and refuse bad input with one sentence."""

import json
from functools import partial

import numpy as np
import pytest
import scipy.sparse

from labelproof.decisions import (
    BatchMacroTopK,
    Calibrated,
    ExpectedF,
    IsotonicCalibration,
    LabelCount,
    MacroTopK,
    PerLabelThreshold,
    PlattScaling,
    RiskControlled,
    Rule,
    SoftmaxThreshold,
    SparsemaxSupport,
    Threshold,
    ThresholdAveraging,
    TopK,
    load_rule,
)
from labelproof.errors import DataFormatError

RULES = [
    Threshold(0.5),
    Threshold(),
    Threshold(metric="macro-f1"),
    PerLabelThreshold(),
    PerLabelThreshold(metric="micro-f1", min_positives=3, min_value=0.2, fallback="global", shrinkage=2.5),
    ThresholdAveraging(scores="probabilities"),
    TopK(2),
    LabelCount(),
    SoftmaxThreshold(0.2),
    SoftmaxThreshold(),
    SparsemaxSupport(1.5),
    SparsemaxSupport(),
    ExpectedF(1.0, scores="probabilities"),
    BatchMacroTopK(2, scores="probabilities"),
    MacroTopK(2, scores="probabilities"),
    RiskControlled("recall", 0.8, None),
    RiskControlled("recall", 0.7, 0.9),
    RiskControlled("precision", 0.6, 0.9, scores="probabilities"),
    Calibrated(PlattScaling(), ExpectedF(1.0, scores="probabilities")),
    Calibrated(IsotonicCalibration(pooled=True), PerLabelThreshold()),
]
every_rule = pytest.mark.parametrize("rule", RULES, ids=repr)


def problem(seed=0, n=30, n_labels=6):
    rng = np.random.default_rng(seed)
    y_true = rng.random((n, n_labels)) < 0.35
    return y_true, np.clip(0.5 * y_true + 0.6 * rng.random((n, n_labels)), 0, 1)


@every_rule
def test_fit_returns_the_rule_and_decide_label_sets(rule):
    y_true, y_score = problem()
    assert rule.fit(y_true, y_score) is rule
    active = rule.decide(y_score)
    assert active.dtype == np.bool_
    assert active.shape == y_score.shape
    sparse = rule.decide(y_score, sparse=True)
    assert scipy.sparse.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), active)


@every_rule
def test_a_rule_survives_the_disk(rule, tmp_path):
    y_true, y_score = problem()
    rule.fit(y_true, y_score).save(tmp_path / "rule.json")
    again = load_rule(tmp_path / "rule.json")
    assert repr(again) == repr(rule)
    np.testing.assert_array_equal(again.decide(y_score), rule.decide(y_score))
    assert [path.name for path in tmp_path.iterdir()] == ["rule.json"]


@every_rule
def test_labels_may_come_as_any_kind_of_zeros_and_ones(rule):
    y_true, y_score = problem()
    expected = rule.fit(y_true, y_score).decide(y_score)
    for form in (np.float32, np.int8, scipy.sparse.csr_array, scipy.sparse.coo_matrix, np.ndarray.tolist):
        given = y_true.astype(form) if isinstance(form, type) and issubclass(form, np.generic) else form(y_true)
        np.testing.assert_array_equal(rule.fit(given, y_score).decide(y_score), expected)


@every_rule
def test_the_order_of_examples_does_not_matter_to_fit(rule):
    y_true, y_score = problem()
    turn = np.random.default_rng(1).permutation(len(y_true))
    new = problem(1)[1]
    expected = rule.fit(y_true, y_score).decide(new)
    np.testing.assert_array_equal(rule.fit(y_true[turn], y_score[turn]).decide(new), expected)


@pytest.mark.parametrize("rule", [r for r in RULES if not isinstance(r, BatchMacroTopK)], ids=repr)
def test_examples_are_decided_one_by_one(rule):
    y_true, y_score = problem()
    together = rule.fit(y_true, y_score).decide(y_score)
    alone = np.concatenate([rule.decide(y_score[i : i + 1]) for i in range(len(y_score))])
    np.testing.assert_array_equal(alone, together)


@every_rule
@pytest.mark.parametrize(
    ("y_true", "y_score", "message"),
    [
        ([[0, 2]], [[0.1, 0.2]], "y_true must be 0 or 1, got 2"),
        ([[0, -1]], [[0.1, 0.2]], "y_true must be 0 or 1, got -1"),
        ([["a", "b"]], [[0.1, 0.2]], "y_true must be bool or 0/1"),
        ([[0, 1]], [[0.1, np.nan]], "y_score must not be NaN, got NaN for example 0, label 1"),
        ([[0, 1]], [[0.1, np.inf]], "y_score must be finite, got inf for example 0, label 1"),
        ([[0, 1, 0]], [[0.1, 0.2]], r"y_score must have the shape of y_true, \(1, 3\), got \(1, 2\)"),
        ([[0, 1]], [0.1, 0.2], r"y_score must have shape \(n_examples, n_labels\), got shape \(2,\)"),
        (
            np.zeros((0, 3)),
            np.zeros((0, 3)),
            r"y_score must hold at least one example and one label, got shape \(0, 3\)",
        ),
        ([[0, 1]], [[0.1, 1j]], "y_score must be numbers"),
    ],
)
def test_bad_labels_and_scores_are_refused(rule, y_true, y_score, message):
    with pytest.raises(ValueError, match=message):
        rule.fit(y_true, y_score)


@every_rule
def test_bad_scores_are_refused_when_deciding(rule):
    rule.fit(*problem())
    for scores, message in (([[np.nan] * 6], "NaN"), ([[np.inf] * 6], "finite"), ([0.5] * 6, "shape")):
        with pytest.raises(ValueError, match=message):
            rule.decide(scores)


NEEDS = [partial(ExpectedF, 1.0), partial(BatchMacroTopK, 2), partial(MacroTopK, 2)]


@pytest.mark.parametrize("make", NEEDS)
def test_rules_that_need_probabilities_refuse_other_numbers(make):
    y_true, _ = problem()
    logits = np.random.default_rng(0).standard_normal(y_true.shape)
    make(scores="logits").fit(y_true, logits).decide(logits)
    for rule, call in ((make(scores="probabilities"), "fit"), (make(scores="probabilities"), "decide")):
        with pytest.raises(ValueError, match="y_score must be probabilities between 0 and 1, got"):
            rule.fit(y_true, logits) if call == "fit" else rule.fit(*problem()).decide(logits)


@pytest.mark.parametrize("make", NEEDS)
def test_rules_that_need_probabilities_do_not_guess(make):
    for scores in (None, "sigmoid", 1):
        with pytest.raises(ValueError, match="scores must be 'logits' or 'probabilities', got"):
            make(scores=scores).fit(*problem())


def test_there_is_no_default_for_what_scores_are():
    with pytest.raises(TypeError, match="scores"):
        ExpectedF(1.0)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Threshold("0.5"), "threshold must be a finite number, got '0.5'"),
        (Threshold(np.nan), "threshold must be a finite number, got nan"),
        (Threshold(True), "threshold must be a finite number, got True"),
        (Threshold(metric="micro-f"), "expected the name of a metric, got 'micro-f'"),
        (Threshold(metric=None), "metric must be the name of a metric, such as 'micro-f1', got None"),
        (Threshold(scores="sigmoid"), "scores must be 'logits' or 'probabilities', got 'sigmoid'"),
        (PerLabelThreshold(metric="samples-f1"), "to be tuned label by label, got 'samples-f1'"),
        (PerLabelThreshold(min_positives=-1), "min_positives must be an integer of at least 0, got -1"),
        (PerLabelThreshold(min_value=2), "min_value must be a finite number from 0 to 1, got 2"),
        (PerLabelThreshold(fallback="none"), "fallback must be 'highest' or 'global', got 'none'"),
        (PerLabelThreshold(shrinkage=-1), "shrinkage must be a finite number from 0, got -1"),
        (ThresholdAveraging(scores=0), "scores must be 'logits' or 'probabilities', got 0"),
        (TopK(0), "k must be an integer of at least 1, got 0"),
        (TopK(1.5), r"k must be an integer of at least 1, got 1\.5"),
        (TopK(True), "k must be an integer of at least 1, got True"),
        (TopK(7), "k must be at most the number of labels, 6, got 7"),
        (BatchMacroTopK(7, scores="logits"), "k must be at most the number of labels, 6, got 7"),
        (MacroTopK(7, scores="logits"), "k must be at most the number of labels, 6, got 7"),
        (MacroTopK(2, "coverage", scores="logits"), "macro average of F, recall or precision, got 'coverage'"),
        (MacroTopK(2, "micro-f1", scores="logits"), "metric must be 'macro-f1'"),
        (BatchMacroTopK(2, "macro-f0", scores="logits"), "beta must be a finite number above 0, got 0.0"),
        (BatchMacroTopK(2, None, scores="logits"), "metric must be 'macro-f1'"),
        (BatchMacroTopK(2, max_sweeps=0, scores="logits"), "max_sweeps must be an integer"),
        (BatchMacroTopK(2, random_state=-1, scores="logits"), "random_state must be an integer"),
        (MacroTopK(2, n_steps=0, scores="logits"), "n_steps must be an integer"),
        (LabelCount(0), "n_features must be an integer of at least 1, got 0"),
        (SoftmaxThreshold(0), "threshold must"),
        (SoftmaxThreshold(metric="auroc"), "auroc"),
        (SparsemaxSupport(0), "t must be a finite number above 0, got 0"),
        (SparsemaxSupport(metric="auroc"), "auroc"),
        (Calibrated(None, TopK(1)), r"calibration must be a calibration, such as PlattScaling\(\), got None"),
        (Calibrated(PlattScaling(), "TopK"), "rule must be a decision rule, got 'TopK'"),
        (Calibrated(PlattScaling(), TopK(0)), "k must be an integer of at least 1, got 0"),
        (Calibrated(PlattScaling(), ExpectedF(1, scores="logits")), "rule must take scores='probabilities' after"),
        (RiskControlled("f1"), "metric must be 'recall' or 'precision', got 'f1'"),
        (RiskControlled(level=1), "level must be below 1, got 1"),
        (RiskControlled(level=0), "level must be a finite number above 0 to 1, got 0"),
        (RiskControlled(confidence=1.0), "confidence must be below 1, got 1.0"),
        (RiskControlled("precision", confidence=None), "confidence must be a number for metric='precision'"),
        (RiskControlled(scores="sigmoid"), "scores must be 'logits' or 'probabilities', got 'sigmoid'"),
        (ExpectedF(0, scores="logits"), "beta must be a finite number above 0, got 0"),
        (ExpectedF(1, scores="logits", both_empty=2), "both_empty must be a finite number from 0 to 1, got 2"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(rule, message):
    with pytest.raises(ValueError, match=message):
        rule.fit(*problem())


@pytest.mark.parametrize("rule", [Threshold(), PerLabelThreshold(), LabelCount(), SparsemaxSupport()], ids=repr)
def test_a_rule_must_be_fitted_before_it_decides(rule):
    with pytest.raises(ValueError, match="must be fitted before it decides"):
        type(rule)().decide([[0.1, 0.2]])


def test_a_rule_refuses_another_number_of_labels():
    for rule in (PerLabelThreshold(), MacroTopK(2, scores="probabilities")):
        with pytest.raises(ValueError, match="y_score must have 6 labels, as the rule was fitted to, got 4"):
            rule.fit(*problem()).decide(np.zeros((1, 4)))
    with pytest.raises(ValueError, match="n_features must be at most the number of labels, 4, got 6"):
        LabelCount().fit(*problem()).decide(np.zeros((1, 4)))
    with pytest.raises(ValueError, match="k must be at most the number of labels, 1, got 2"):
        TopK(2).decide([[1.0]])


def test_threshold_averaging_needs_a_label():
    with pytest.raises(ValueError, match="y_true must have an example with a label, got only empty label sets"):
        ThresholdAveraging().fit([[0, 0]], [[0.1, 0.2]])


# Files


def saved(tmp_path, rule=None):
    path = tmp_path / "rule.json"
    (rule or PerLabelThreshold()).fit(*problem()).save(path)
    return path


def test_every_truncated_file_is_refused(tmp_path):
    path = saved(tmp_path)
    text = path.read_text().rstrip()
    for length in range(0, len(text), 7):
        path.write_text(text[:length])
        with pytest.raises(
            DataFormatError, match=r"^rule\.json: expected a labelproof decision rule in JSON"
        ) as caught:
            load_rule(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "expected the format 'labelproof decision rule', got 'other'"),
        ({"version": 2}, "expected version 1 of the format, got 2"),
        ({"name": "Rule"}, "expected one of .*TopK.*, got 'Rule'"),
        ({"name": ["TopK"]}, "expected one of"),
        ({"options": {"speed": 3}}, "expected options .*metric.*, got speed"),
        ({"options": []}, "expected options .*, got list"),
        ({"options": {"metric": "nonsense"}}, "got 'nonsense'"),
        ({"options": {"shrinkage": "1"}}, "shrinkage must be a finite number from 0, got '1'"),
        ({"learned": {"thresholds_": [0.1, "x"]}}, "could not convert"),
        ({"learned": {"thresholds_": 0.5}}, "expected thresholds_ to be a list of numbers, got 0.5"),
        ({"learned": {"thresholds_": [[0.5]]}}, "expected thresholds_ to be a list of numbers, got 2 axes"),
        ({"learned": {"thresholds_": []}}, "thresholds_ must be finite numbers"),
        ({"learned": {"thresholds_": [10**400]}}, "too large"),
        ({"learned": {"__class__": []}}, "expected learned thresholds_, got __class__"),
        ({"learned": None}, "expected learned thresholds_, got NoneType"),
    ],
)
def test_a_file_that_was_changed_is_refused(change, message, tmp_path):
    path = saved(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataFormatError, match=message):
        load_rule(path)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "rule.json"
    for content in (b"[1, 2]", b"3", b"\x80\x04pickle", b"", b"[" * 100_000, b'{"learned": NaN}', b'{"a": Infinity}'):
        path.write_bytes(content)
        with pytest.raises(DataFormatError, match=r"^rule\.json: expected "):
            load_rule(path)
    PlattScaling().fit(*problem()).save(path)
    with pytest.raises(DataFormatError, match="expected the format 'labelproof decision rule', got 'labelproof calib"):
        load_rule(path)


@pytest.mark.parametrize(
    ("rule", "learned", "message"),
    [
        (Threshold(), {"threshold_": "0.5"}, "expected threshold_ to be a number, got '0.5'"),
        (Threshold(), {"threshold_": True}, "expected threshold_ to be a number, got True"),
        (SparsemaxSupport(), {"t_": -1.0}, r"t_ must be a finite number above 0, got -1\.0"),
        (LabelCount(), {"most_": -1}, "most_ must be a finite number from"),
        (MacroTopK(2, scores="probabilities"), {"offsets_": [0.0]}, "offsets_ must have the shape of gains_"),
    ],
    ids=str,
)
def test_learned_values_that_make_no_sense_are_refused(rule, learned, message, tmp_path):
    path = saved(tmp_path, rule)
    record = json.loads(path.read_text())
    record["learned"] |= learned
    path.write_text(json.dumps(record))
    with pytest.raises(DataFormatError, match=message):
        load_rule(path)


def test_an_inner_rule_that_was_changed_is_refused(tmp_path):
    path = saved(tmp_path, Calibrated(PlattScaling(), TopK(2)))
    record = json.loads(path.read_text())
    for change, message in (
        ({"rule": {"format": "x"}}, "expected version 1"),
        ({"rule": 3}, "rule must be a decision rule, got 3"),
        ({"rule": record["options"]["calibration"]}, "rule must be a decision rule, got PlattScaling"),
        ({"rule": record["options"]["rule"] | {"name": "PlattScaling"}}, "expected one of .*, got 'PlattScaling'"),
    ):
        path.write_text(json.dumps(record | {"options": record["options"] | change}))
        with pytest.raises(DataFormatError, match=message):
            load_rule(path)


def test_a_rule_of_another_class_is_refused(tmp_path):
    path = saved(tmp_path)
    assert isinstance(Rule.load(path), PerLabelThreshold)
    with pytest.raises(DataFormatError, match=r"rule\.json: expected TopK, got PerLabelThreshold"):
        TopK.load(path)


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = saved(tmp_path)
    before = path.read_text()
    broken = PerLabelThreshold().fit(*problem())
    broken.thresholds_[0] = np.nan
    with pytest.raises(ValueError, match="thresholds_ must be finite numbers"):
        broken.save(path)
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["rule.json"]


def test_an_unfitted_rule_can_be_saved_too(tmp_path):
    Threshold(metric="macro-f1").save(tmp_path / "rule.json")
    assert repr(load_rule(tmp_path / "rule.json")) == repr(Threshold(metric="macro-f1"))


def test_a_fitted_rule_shows_what_it_learned():
    rule = Threshold(metric="micro-f1").fit([[1, 0], [0, 1]], [[3.0, 1.0], [0.0, 3.0]])
    assert str(rule).endswith(f"; threshold_ = {rule.threshold_:.6g}")
