"""Every metric by its name, such as "micro-f1", "precision@5" or "hamming-loss"."""

import difflib
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from labelproof.metrics import calibration_error, distributions, formulas, ranking_curves, topk
from labelproof.metrics.arguments import FloatArray
from labelproof.metrics.batches import Batch
from labelproof.metrics.binned import binned_curve, read_edges
from labelproof.metrics.counts import Counts
from labelproof.metrics.coverage import never_predicted_share
from labelproof.metrics.metric import Metric, from_counts, mean_over_examples
from labelproof.metrics.propensity import normalised, propensities, sum_psndcg, sum_psp
from labelproof.metrics.ranks import Ranks

__all__ = ["by_name", "names"]

_AVERAGES = ("micro", "macro", "weighted", "samples")


def by_name(name: str, *, propensity: Any = None, edges: Any = None) -> Metric:
    """Return the metric of this name.

    Parameters
    ----------
    name
        One of `names()`, with any β for F and any k for a metric at k: "micro-f0.5", "precision@7".
    propensity
        Propensities of the labels, (n_labels,), for "psp@k" and "psndcg@k", as `propensities` estimates them from
        training labels. None estimates them from the evaluated labels, which is not what published figures do.
    edges
        Ascending edges of bins, to compute average precision and AUROC over labels from histograms, so that they
        can be computed from a stream; None computes them exactly, from all examples at once.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        For any other name; the message lists the nearest ones.

    Examples
    --------
    >>> by_name("micro-f1")([[1, 0], [1, 1]], [[1, 1], [0, 1]])
    0.6666666666666666
    >>> by_name("micro-f-1")
    Traceback (most recent call last):
    ValueError: expected the name of a metric, got 'micro-f-1'; the nearest are micro-f1, micro-f2, macro-f1
    """
    metric = _plain(name) or _averaged(name, edges) or _at_k(name, propensity)
    if metric is None:
        averages = [known for known in names() if known in {f"{average}-{name}" for average in _AVERAGES}]
        near = averages or difflib.get_close_matches(str(name), list(names()), n=3, cutoff=0.3)
        hint = f"; the nearest are {', '.join(near)}" if near else ""
        raise ValueError(f"expected the name of a metric, got {name!r}{hint}")
    return metric


def names(*, betas: tuple[float, ...] = (1, 2, 0.5), ks: tuple[int, ...] = (1, 3, 5)) -> Iterator[str]:
    """Yield the names of all metrics, those with a β or a k for the given ones.

    Parameters
    ----------
    betas
        Of F-β, for each average.
    ks
        Of the metrics at k.

    Examples
    --------
    >>> [name for name in names() if name.startswith("macro-f")]
    ['macro-f1', 'macro-f2', 'macro-f0.5']
    """
    families = [*(f"f{beta:g}" for beta in betas), *formulas.FORMULAS, *_CURVES]
    yield from (f"{average}-{family}" for family in families for average in _AVERAGES)
    yield from (f"{average}-ece" for average in _AVERAGES[:3])
    yield from (*_FROM_COUNTS, *_PER_EXAMPLE, "brier-loss")
    yield from (f"{family}@{k}" for family in (*_AT_K, "f1", "coverage", "psp", "psndcg") for k in ks)


_FROM_COUNTS: dict[str, Callable[[Counts], FloatArray]] = {
    "hamming-loss": partial(formulas.average_counts, formulas.error, average="micro"),
    "never-predicted-share": never_predicted_share,
    "f1-of-mean-precision-and-recall": formulas.f1_of_mean_precision_and_recall,
    "sigmoidf1-paper-macro-f1": partial(formulas.average_counts, formulas.fbeta(1.0), average="micro"),
    "sigmoidf1-paper-micro-f1": partial(formulas.average_counts, formulas.fbeta(1.0), average="macro"),
    "sigmoidf1-paper-weighted-f1": formulas.paper_weighted_f1,
}


def _exact_match(batch: Batch) -> FloatArray:
    examples = batch.counts[1]
    return (examples.fp + examples.fn == 0).astype(np.float64)


_PER_EXAMPLE: dict[str, Callable[..., Metric]] = {
    "exact-match": partial(mean_over_examples, kind="set", values=_exact_match),
    "lrap": partial(mean_over_examples, kind="ranking", values=ranking_curves.example_lrap),
    "ranking-loss": partial(mean_over_examples, kind="ranking", values=ranking_curves.example_ranking_loss),
    "coverage-error": partial(mean_over_examples, kind="ranking", values=ranking_curves.example_coverage),
    "distribution-jsd": partial(mean_over_examples, kind="probability", values=distributions.example_js),
    "distribution-kl": partial(mean_over_examples, kind="probability", values=distributions.example_kl),
    "distribution-mse": partial(mean_over_examples, kind="probability", values=distributions.example_mse),
}

_LOWER_IS_BETTER = ("-loss", "-error", "-share", "-jsd", "-kl", "-mse", "-ece")

_AT_K = {
    "precision": topk.example_precision,
    "recall": topk.example_recall,
    "samples-f1": topk.example_f1,
    "rp": topk.example_r_precision,
    "ndcg": topk.example_ndcg,
}

_CURVES: dict[str, Callable[[Ranks], FloatArray]] = {
    "average-precision": ranking_curves.average_precision,
    "interpolated-average-precision": partial(ranking_curves.interpolated_average_precision, points=None),
    "interpolated-average-precision-11": partial(ranking_curves.interpolated_average_precision, points=11),
    "interpolated-average-precision-101": partial(ranking_curves.interpolated_average_precision, points=101),
    "auroc": ranking_curves.roc_auc,
}


def _plain(name: str) -> Metric | None:
    greater = not str(name).endswith(_LOWER_IS_BETTER)
    if name in _FROM_COUNTS:
        return from_counts(name, _FROM_COUNTS[name], greater_is_better=greater)
    if name in _PER_EXAMPLE:
        return _PER_EXAMPLE[name](name, greater_is_better=greater)
    if name == "brier-loss":
        return _reliability(name, partial(calibration_error.mean_squared_error, average="macro"))
    return None


def _averaged(name: str, edges: Any) -> Metric | None:
    """Return the metric of "<average>-<family>"; average precision and AUROC alone mean their macro average."""
    name = f"macro-{name}" if name in _CURVES else name
    parts = re.fullmatch(r"(micro|macro|weighted|samples)-([a-z][a-z0-9.-]*)", str(name))
    if parts is None:
        return None
    average, family = parts[1], parts[2]
    if family in _CURVES:
        return _curve(name, _CURVES[family], average, edges)
    if family == "ece" and average != "samples":
        return _reliability(name, partial(calibration_error.average_calibration_error, average=average))
    formula = _formula(family)
    if formula is None:
        return None
    if average == "samples":
        return mean_over_examples(name, "set", partial(_of_examples, formula))
    return from_counts(name, partial(formulas.average_counts, formula, average=average))


def _at_k(name: str, propensity: Any) -> Metric | None:
    parts = re.fullmatch(r"([a-z0-9-]+)@([1-9]\d*)", str(name))
    if parts is None:
        return None
    family, k = parts[1], int(parts[2])
    if family in _AT_K:
        return mean_over_examples(name, "ranking", partial(_AT_K[family], k=k), undefined=0.0)
    if family == "f1":
        return Metric(name, "ranking", True, partial(_sum_f1_at_k, k=k), _harmonic)
    if family == "coverage":
        return Metric(name, "ranking", True, partial(topk.sum_coverage, k=k), topk.coverage_value)
    sums = {"psp": sum_psp, "psndcg": sum_psndcg}.get(family)
    if sums is None:
        return None
    statistics = partial(_with_propensity, sums, propensity, k)
    return Metric(name, "ranking", True, statistics, normalised, additive=propensity is not None)


def _formula(family: str) -> formulas.Formula | None:
    beta = re.fullmatch(r"f(\d+(?:\.\d+)?)", family)
    if beta and float(beta[1]) > 0:
        return formulas.fbeta(float(beta[1]))
    return formulas.FORMULAS.get(family)


def _of_examples(formula: formulas.Formula, batch: Batch) -> FloatArray:
    return formulas.average_counts(formula, batch.counts[1], average=None)


def _curve(name: str, value: Callable[[Ranks], FloatArray], average: str, edges: Any) -> Metric:
    if average == "samples":
        return mean_over_examples(name, "ranking", lambda batch: value(batch.ranks("examples")))
    if edges is not None:
        return binned_curve(name, value, average, read_edges(edges))

    def statistics(batch: Batch) -> FloatArray:
        ranks = batch.ranks(ranking_curves.axis_of(average))
        return np.stack([value(ranks), ranks.n_true])

    def finish(sums: FloatArray) -> float:
        weight = sums[1] if average == "weighted" else np.ones(sums.shape[1])
        return float(formulas.mean_of_defined(sums[0], weight, zero_division=np.nan))

    return Metric(name, "ranking", True, statistics, finish, additive=False)


def _reliability(name: str, finish: Callable[[FloatArray], float]) -> Metric:
    return Metric(name, "probability", False, Batch.reliability, finish)


def _sum_f1_at_k(batch: Batch, k: int) -> FloatArray:
    recall = np.nan_to_num(topk.example_recall(batch, k))
    precision = topk.example_precision(batch, k)
    return np.array([batch.weight @ precision, batch.weight @ recall, batch.weight.sum()])


def _harmonic(sums: FloatArray) -> float:
    precision, recall, weight = sums
    return float(2 * precision * recall / (precision + recall) / weight) if precision + recall else 0.0


def _with_propensity(sums: Callable[..., FloatArray], propensity: Any, k: int, batch: Batch) -> FloatArray:
    return sums(batch, k, propensities(batch.true) if propensity is None else propensity)
