"""The comparison of rules: what is fitted where, and how it is shown."""

import sys

import numpy as np
import pytest

from labelproof.decisions import PerLabelThreshold, Threshold, TopK, evaluate_rules
from labelproof.metrics import by_name


def problem(n=200, n_labels=20, seed=0, signal=1.0):
    rng = np.random.default_rng(seed)
    y_true = rng.random((n, n_labels)) < np.geomspace(0.5, 0.01, n_labels)
    return y_true, signal * y_true + rng.standard_normal((n, n_labels))


def test_noise_that_is_tuned_to_shows_as_optimism():
    y_true, y_score = problem(signal=0.0)
    rows = {row.name: row for row in evaluate_rules(y_true, y_score, metric="macro-f1", inner_cv=0).rows}
    assert rows["per-label thresholds"].optimism > 0.05
    assert rows["per-label thresholds"].optimism > 2 * rows["global threshold"].optimism


def test_a_rule_that_learns_nothing_has_the_value_of_all_examples():
    y_true, y_score = problem()
    result = evaluate_rules(y_true, y_score, [TopK(2)], metric="samples-f1", cv=4, inner_cv=0)
    row = result.rows[0]
    assert row.held_out == pytest.approx(by_name("samples-f1")(y_true, TopK(2).decide(y_score)))
    assert row.in_sample == pytest.approx(row.held_out)
    assert len(row.held_out_folds) == 4


def test_held_out_values_are_those_of_rules_fitted_to_the_other_folds():
    y_true, y_score = problem(n=60)
    row = evaluate_rules(y_true, y_score, [Threshold()], cv=3, inner_cv=0, random_state=5).rows[0]
    parts = np.array_split(np.random.default_rng(5).permutation(60), 3)
    for part, value in zip(parts, row.held_out_folds, strict=True):
        rest = np.setdiff1d(np.arange(60), part)
        rule = Threshold().fit(y_true[rest], y_score[rest])
        assert by_name("micro-f1")(y_true[part], rule.decide(y_score[part])) == value


def test_choosing_in_inner_folds_is_a_row_of_its_own():
    y_true, y_score = problem(signal=5.0)
    result = evaluate_rules(y_true, y_score, {"three": TopK(3), "all": TopK(20)}, cv=3)
    rows = {row.name: row for row in result.rows}
    assert rows["chosen in inner folds"].held_out == rows["three"].held_out


def test_a_loss_is_sorted_the_other_way():
    y_true, y_score = problem()
    rules = {"few": TopK(1), "many": TopK(15), "most": TopK(19)}
    result = evaluate_rules(y_true, y_score, rules, metric="hamming-loss", cv=2)
    held_out = [row.held_out for row in result.rows]
    assert held_out == sorted(held_out)
    chosen = next(row for row in result.rows if row.name == "chosen in inner folds")
    assert chosen.held_out == pytest.approx(min(held_out))


def test_the_same_seed_gives_the_same_table_and_rules_are_not_changed():
    y_true, y_score = problem()
    rule = PerLabelThreshold()
    tables = [str(evaluate_rules(y_true, y_score, [rule], random_state=s)) for s in (1, 1, 2)]
    assert tables[0] == tables[1] != tables[2]
    assert not hasattr(rule, "thresholds_")


def test_the_table_reads_as_text_and_as_plain_values():
    result = evaluate_rules(*problem(), {"top one": TopK(1)}, cv=2, inner_cv=0)
    first, head, line = str(result).splitlines()
    assert first == "micro-f1, 2 folds"
    assert head.split() == ["rule", "in-sample", "held-out", "spread", "optimism"]
    assert line.startswith("top one")
    assert set(result.to_dict()["rows"][0]) == {"name", "in_sample", "held_out", "spread", "optimism"}


def test_rules_for_known_scores_join_the_default_ones():
    y_true, y_score = problem()
    names = {row.name for row in evaluate_rules(y_true, y_score, scores="logits", cv=2, inner_cv=0).rows}
    assert {"expected F1", "fixed at ½", "per-label thresholds"} <= names
    other = {row.name for row in evaluate_rules(y_true, y_score, metric="exact-match", cv=2, inner_cv=0).rows}
    assert names - other == {"expected F1", "expected F1, calibrated", "fixed at ½"}


def test_a_picture_is_written(tmp_path):
    evaluate_rules(*problem(n=60), cv=2, inner_cv=2).plot(tmp_path / "rules.png")
    assert (tmp_path / "rules.png").read_bytes()[:4] == b"\x89PNG"


def test_without_matplotlib_the_picture_says_what_is_missing(tmp_path, monkeypatch):
    result = evaluate_rules(*problem(n=20), [TopK(1)], cv=2, inner_cv=0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"a plot needs the package matplotlib: pip install 'labelproof\[plots\]'"):
        result.plot(tmp_path / "rules.png")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "cv must be an integer of at least 2, got 1"),
        ({"cv": 200}, "y_true must have at least 400 examples for 200 folds, got 200"),
        ({"inner_cv": -1}, "inner_cv must be an integer of at least 0, got -1"),
        ({"metric": "f"}, "expected the name of a metric"),
        ({"rules": []}, "rules must be at least one"),
        ({"rules": [TopK(1), TopK(1)]}, "no two with the same options"),
        ({"rules": [max]}, "rules must be decision rules, got <built-in"),
        ({"rules": [TopK(0)]}, "k must be an integer"),
        ({"scores": "scores"}, "scores must be 'logits' or 'probabilities', got 'scores'"),
    ],
)
def test_a_comparison_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        evaluate_rules(*problem(), **options)
