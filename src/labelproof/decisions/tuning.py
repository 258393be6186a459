"""The cut that serves a metric best: one for all labels, or one for each."""

import re
from collections.abc import Callable
from typing import cast

import numpy as np

from labelproof.decisions.cuts import (
    Doubles,
    best_f,
    best_jointly,
    best_linear,
    best_of,
    counts_at_least,
    curves,
    cut_values,
    pooled_curve,
    thresholds_at,
    values_at,
)
from labelproof.decisions.inputs import Floats, Labels, dense, row_blocks
from labelproof.metrics import Metric, by_name

__all__ = ["global_threshold", "is_separable", "per_label_cuts", "require_separable", "set_metric"]

MOST_CUTS = 2048  # candidates of a global cut; with fewer distinct scores of positives all are tried
MOST_CELLS = 2**23  # candidates × labels that are counted at a time
MOST_CALLS = 128  # candidates for metrics that the counts of labels do not give


def set_metric(name: str) -> Metric:
    """Return the metric of this name, which must be one of predicted label sets."""
    if not isinstance(name, str):
        raise ValueError(f"metric must be the name of a metric, such as 'micro-f1', got {name!r}")
    metric = by_name(name)
    if metric.kind != "set":
        raise ValueError(f"metric must be one of label sets, such as 'micro-f1', got {name!r}")
    return metric


def is_separable(name: str) -> bool:
    """Return whether the best cuts for a metric can be found label by label."""
    return bool(re.fullmatch(r"(macro|weighted)-.*|micro-(f[\d.]+|jaccard|accuracy)|hamming-loss", name))


def require_separable(name: str) -> None:
    """Refuse a metric whose best cuts cannot be found label by label."""
    set_metric(name)
    if not is_separable(name):
        raise ValueError(
            "metric must be a macro or weighted average, micro-f1 (or another β), micro-jaccard, micro-accuracy or "
            f"hamming-loss to be tuned label by label, got {name!r}"
        )


# One cut for each label


def per_label_cuts(labels: Labels, scores: Floats, name: str) -> tuple[Doubles, Doubles]:
    """Return the lowest score that each label's best cut lets pass, and the label's own value there, (n_labels,) each.

    The value is that of the metric's formula for the one label: its F1 for micro-f1 too.
    """
    found = curves(labels, scores)
    average, family = ("macro", "accuracy") if name == "hamming-loss" else name.split("-", 1)
    own = _one_label(by_name(f"macro-{family}"))
    beta = re.fullmatch(r"f([\d.]+)", family)
    if average == "micro" and (beta or family == "jaccard"):  # Jaccard's index increases with F1
        places, _ = best_jointly(found, float(beta[1]) if beta else 1.0)
    elif beta:
        places, _ = best_f(found, float(beta[1]))
    elif family == "accuracy":
        places = best_linear(found, 0.5)  # right decisions are 2 tp − predicted, and a constant
    else:
        places, _ = best_of(found, own)
    return cut_values(found, places), values_at(found, places, own)


def _one_label(metric: Metric) -> Callable[[Doubles, Doubles, Doubles, Doubles], Doubles]:
    """Return the metric of single labels, larger is better: counts of any shape to values of that shape."""
    of_counts = cast(Callable[..., Doubles], metric.of_counts)
    sign = 1 if metric.greater_is_better else -1
    return lambda *counts: sign * of_counts(*(np.asarray(count, np.float64)[..., None] for count in counts))


# One cut for all labels


def global_threshold(labels: Labels, scores: Floats, name: str, *, highest: float = np.inf) -> float:
    """Return the threshold t for which the label sets ``scores > t`` are best.

    Exact for micro averages and the Hamming loss. For other metrics the candidates lie just below the scores of
    positives: below all of them where they have at most 2,048 distinct values (fewer with many labels), else below
    that many quantiles; 128 for averages over examples. Scores of ``highest`` and more are always let pass.
    """
    metric = set_metric(name)
    if name.startswith("micro-") or name == "hamming-loss":
        found = pooled_curve(labels, scores)
        least = int((found.values >= highest).sum()), int((scores >= highest).sum()) if highest < np.inf else 0
        places, _ = best_of(found, _one_label(metric), least=least)
        lowest = np.minimum(cut_values(found, places, highest=highest), highest)
    else:
        lowest = np.array([_best_candidate(labels, scores, metric, highest)])
    return float(thresholds_at(scores.reshape(-1, 1), lowest)[0])


def _best_candidate(labels: Labels, scores: Floats, metric: Metric, highest: float) -> float:
    """Return the lowest score that the best of the candidates lets pass; ``highest`` is one of them."""
    most = MOST_CALLS if metric.of_counts is None else max(2, min(MOST_CUTS, MOST_CELLS // scores.shape[1]))
    lowest = np.unique(scores[labels.rows, labels.indices]).astype(np.float64)
    if len(lowest) > most:
        lowest = lowest[np.linspace(0, len(lowest) - 1, most).round().astype(int)]
    lowest = np.append(lowest[lowest < highest], highest)
    if metric.of_counts is None:
        truth = dense(labels)
        values = np.array([metric(truth, scores >= cut) for cut in lowest])
    else:
        values = _values_by_counting(labels, scores, metric, lowest)
    values = values if metric.greater_is_better else -values
    return float(lowest[::-1][np.argmax(values[::-1])])  # the highest cut of equals


def _values_by_counting(labels: Labels, scores: Floats, metric: Metric, lowest: Doubles) -> Doubles:
    """Return the metric of ``scores >= lowest[r]`` for each r; only the last may be ∞."""
    n, n_labels = scores.shape
    finite = lowest[np.isfinite(lowest)]
    predicted = np.zeros((len(lowest), n_labels))
    predicted[: len(finite)] = counts_at_least(scores, finite).T
    hits = np.zeros((len(lowest) + 1, n_labels))
    passed = np.searchsorted(lowest, scores[labels.rows, labels.indices], side="right")  # 0: below all
    np.add.at(hits, (passed, labels.indices), 1)
    hits = np.cumsum(hits[::-1], axis=0)[::-1][1:]
    positives = np.bincount(labels.indices, minlength=n_labels)
    values = []
    for rows in row_blocks(predicted.shape, most_cells=2**20):
        tp, chosen = hits[rows], predicted[rows]
        values.append(metric.of_counts(tp, chosen - tp, positives - tp, n - chosen - positives + tp))  # type: ignore[misc]
    return np.concatenate(values)
