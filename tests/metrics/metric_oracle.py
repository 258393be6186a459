"""Slow, literal definitions, and data with everything that is awkward: ties, empty rows, absent labels, full rows."""

import itertools
import math

import numpy as np


def awkward(seed=0, n=40, n_labels=7, levels=5):
    """Labels (bool), tied scores, probabilities with ties, and predictions, all (n, n_labels)."""
    rng = np.random.default_rng(seed)
    y_true = rng.random((n, n_labels)) < np.linspace(0.1, 0.6, n_labels)
    y_true[0] = False
    y_true[1] = True
    y_true[:, 2] = False
    y_score = rng.integers(-levels, levels, (n, n_labels)) + 2.0 * y_true
    y_prob = np.clip((y_score + levels) / (2 * levels + 2), 0, 1)
    return y_true, y_score, y_prob, y_score > 0.5


def orders_of(scores):
    """Every ranking of the labels that the scores allow: all orders of equal scores, each once per permutation."""
    labels = range(len(scores))
    for tie_break in itertools.permutations(labels):
        yield sorted(labels, key=lambda j: (-scores[j], tie_break[j]))


def hits(order, y, k):
    return sum(bool(y[j]) for j in order[:k])


def dcg(order, gain, k):
    return sum(gain[j] / math.log2(place + 2) for place, j in enumerate(order[:k]))


def average_precision(y, score):
    """Σ (R_n - R_{n-1}) P_n over distinct thresholds."""
    total, recall_before = 0.0, 0.0
    for threshold in sorted(set(score), reverse=True):
        chosen = [truth for truth, s in zip(y, score, strict=True) if s >= threshold]
        recall = sum(chosen) / sum(y)
        total += (recall - recall_before) * sum(chosen) / len(chosen)
        recall_before = recall
    return total


def interpolated_average_precision(y, score, points):
    """VOC's definitions, from the list of all (recall, precision)."""
    curve = []
    for threshold in set(score):
        chosen = [truth for truth, s in zip(y, score, strict=True) if s >= threshold]
        curve.append((sum(chosen) / sum(y), sum(chosen) / len(chosen)))

    def best(recall):
        return max((p for r, p in curve if r >= recall - 1e-12), default=0.0)

    if points is not None:
        return sum(best(i / (points - 1)) for i in range(points)) / points
    recalls = sorted({0.0} | {r for r, _ in curve})
    return sum((b - a) * best(b) for a, b in itertools.pairwise(recalls))
