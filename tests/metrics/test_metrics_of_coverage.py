"""Labels and label sets that predictions miss, and errors by label frequency."""

import math

import numpy as np
import pytest
from scipy import sparse

from labelproof import metrics


def test_never_predicted_labels_are_those_that_occur_and_are_never_predicted():
    y_true = np.array([[1, 1, 0, 0], [1, 0, 0, 0]])
    y_pred = np.array([[0, 0, 0, 1], [1, 0, 0, 1]])
    assert metrics.never_predicted_labels(y_true, y_pred).tolist() == [1]
    assert metrics.never_predicted_labels(sparse.csr_array(y_true), y_pred).tolist() == [1]
    assert metrics.by_name("never-predicted-share")(y_true, y_pred) == 0.5
    assert metrics.by_name("never-predicted-share")(0 * y_true, y_pred) == 0.0


def test_label_set_coverage_counts_distinct_sets_whoever_has_them():
    y_true = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]])
    assert metrics.label_set_coverage_score(y_true, y_true[::-1]) == 1.0
    assert metrics.label_set_coverage_score(y_true, np.zeros_like(y_true)) == pytest.approx(1 / 3)
    assert metrics.label_set_coverage_score(y_true, sparse.csr_array(np.ones_like(y_true))) == 0.0
    assert math.isnan(metrics.label_set_coverage_score(y_true[:0], y_true[:0]))


def test_deciles_go_from_the_rarest_label_to_the_most_frequent():
    n_labels = 20
    y_true = np.arange(40)[:, None] < 2 * np.arange(1, n_labels + 1)  # label j occurs 2(j + 1) times
    y_pred = y_true & (np.arange(n_labels) >= 4)  # the four rarest are never predicted
    groups = metrics.errors_by_frequency(y_true, y_pred)
    assert [g.n_labels for g in groups] == [2] * 10
    assert [(g.lowest, g.highest) for g in groups[:2]] == [(2, 4), (6, 8)]
    assert [g.never_predicted for g in groups] == [2, 2] + [0] * 8
    assert [g.f1 for g in groups] == [g.macro_f1 for g in groups] == [0.0] * 2 + [1.0] * 8


def test_labels_of_one_frequency_stay_in_one_group():
    y = np.ones((3, 7), bool)
    groups = metrics.errors_by_frequency(y, y)
    assert sorted(g.n_labels for g in groups) == [0] * 9 + [7]
    assert math.isnan(groups[0].macro_f1)
    assert math.isnan(groups[0].lowest)


def test_frequencies_may_come_from_the_training_set():
    y = np.eye(4, dtype=bool)
    rare, frequent = metrics.errors_by_frequency(y, y & (np.arange(4) < 2), frequency=[9, 8, 1, 2], n_groups=2)
    assert (rare.recall, frequent.recall) == (0.0, 1.0)
    assert (rare.lowest, frequent.highest) == (1.0, 9.0)
