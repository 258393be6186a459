"""Decisions by trying everything, written from the definitions alone."""

from itertools import combinations, product

import numpy as np


def f_of(truth, predicted, beta=1.0):
    """Fβ of two 0/1 arrays; 0 where it is 0/0."""
    truth, predicted = np.asarray(truth, bool), np.asarray(predicted, bool)
    tp = (truth & predicted).sum()
    bottom = predicted.sum() + beta**2 * truth.sum()
    return (1 + beta**2) * tp / bottom if bottom else 0.0


def candidate_cuts(scores):
    """One threshold for each way to cut these scores: t with score > t."""
    values = np.unique(scores)
    return np.concatenate([[values[0] - 1], values])


def best_label_f(truth, scores, beta=1.0):
    """The largest Fβ of one label over all cuts."""
    return max(f_of(truth, scores > t, beta) for t in candidate_cuts(scores))


def best_over_label_cuts(truth, scores, value):
    """The largest value of label sets over all combinations of one cut for each label."""
    return max(value(truth, scores > np.array(t)) for t in product(*(candidate_cuts(column) for column in scores.T)))


def expected_f(p, chosen, beta, both_empty=1.0):
    """The expected Fβ of predicting some labels when labels are independent, over all 2^L label sets."""
    total = 0.0
    for truth in product((0, 1), repeat=len(p)):
        chance = np.prod(np.where(truth, p, 1 - p))
        value = f_of(truth, chosen, beta) if any(truth) or any(chosen) else both_empty
        total += chance * value
    return total


def best_expected_f(p, beta, both_empty=1.0):
    """The largest expected Fβ over all 2^L predictions."""
    n_labels = len(p)
    truths = np.array(list(product((0, 1), repeat=n_labels)), bool)  # (2^L, L)
    chances = np.where(truths, p, 1 - np.asarray(p)).prod(axis=1)
    tp = truths.astype(float) @ truths.T.astype(float)  # (truth, prediction)
    sizes = truths.sum(axis=1).astype(float)
    bottom = sizes[None, :] + beta**2 * sizes[:, None]
    values = (1 + beta**2) * tp / np.where(bottom == 0, 1, bottom)
    values[0, 0] = both_empty
    return float((chances @ values).max())


def all_selections(n, n_labels, k):
    """Every way to give k labels to each of n examples, as bool arrays."""
    rows = []
    for labels in combinations(range(n_labels), k):
        row = np.zeros(n_labels, bool)
        row[list(labels)] = True
        rows.append(row)
    return (np.array(choice) for choice in product(rows, repeat=n))
