"""All metrics of one set of scores at once, in a few passes over them."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from labelproof.foundation.arguments import check_choice, whole_number
from labelproof.metrics.arguments import read_shape
from labelproof.metrics.batches import Batch
from labelproof.metrics.coverage import group_errors, set_coverage
from labelproof.metrics.documentation import documented
from labelproof.metrics.metric import Metric
from labelproof.metrics.registry import by_name, names

__all__ = ["evaluate"]

_SCALES = (None, "logits", "probabilities", "distributions")


@documented
def evaluate(
    y_true: Any,
    y_score: Any = None,
    y_pred: Any = None,
    *,
    scores: str | None = None,
    ks: Iterable[int] = (1, 3, 5),
    propensity: Any = None,
    frequency: Any = None,
    sample_weight: Any = None,
) -> dict[str, float]:
    """Compute every metric that the arguments allow.

    Parameters
    ----------
    {y_true}
    y_score
        Scores of that shape, for ranking metrics; None leaves these out.
    y_pred
        Predicted labels of that shape, for set metrics. None predicts logits above 0 or probabilities above ½
        where `scores` names one of them, and else leaves set metrics out.
    scores
        What y_score is: None for any scale, "logits", "probabilities", or "distributions" over the labels. It is
        never guessed. Calibration metrics need "probabilities"; distribution metrics, "distributions".
    ks
        The k of metrics at k; those above n_labels are left out.
    propensity
        Propensities of the labels, (n_labels,), for propensity-scored metrics; None leaves these out.
    frequency
        Frequencies of the labels, (n_labels,), that make the deciles, such as training counts; None counts in y_true.
    sample_weight
        Weights of the examples, (n_examples,). Label-set coverage takes no notice of them.

    Returns
    -------
    dict of float
        By the names of the registry, and "label-set-coverage", "f1-of-frequency-decile-1" (the rarest labels, micro
        average; NaN where no label falls) to "f1-of-frequency-decile-10".

    Examples
    --------
    >>> values = evaluate([[1, 0], [1, 1]], [[2.0, 1.0], [-1.0, 1.0]], scores="logits")
    >>> values["micro-f1"], values["precision@1"], values["macro-auroc"]
    (0.6666666666666666, 1.0, 0.5)
    """
    check_choice("scores", scores, _SCALES)
    n_labels = read_shape(y_true, "y_true")[1]
    ks = tuple(k for k in (whole_number("ks", k, minimum=1) for k in ks) if k <= n_labels)
    batch = Batch(y_true, y_pred=y_pred, y_score=y_score, sample_weight=sample_weight)
    if y_pred is None and y_score is not None and scores in ("logits", "probabilities"):
        cut = 0.0 if scores == "logits" else 0.5
        batch = Batch(y_true, y_pred=batch.score > cut, y_score=batch.score, sample_weight=sample_weight)
    values = {metric.name: metric.evaluate(batch) for metric in _metrics(batch, scores, ks, propensity)}
    if batch.y_pred is not None:
        values.update(_coverage(batch, frequency))
    return values


def _metrics(batch: Batch, scores: str | None, ks: tuple[int, ...], propensity: Any) -> Iterator[Metric]:
    for name in names(betas=(1,), ks=ks):
        metric = by_name(name, propensity=propensity)
        if name.startswith("sigmoidf1-paper") or (name.startswith("ps") and propensity is None):
            continue
        if metric.kind == "probability":
            wanted = "distributions" if name.startswith("distribution") else "probabilities"
            if scores == wanted and batch.y_score is not None:
                yield metric
        elif (batch.y_pred if metric.kind == "set" else batch.y_score) is not None:
            yield metric


def _coverage(batch: Batch, frequency: Any) -> dict[str, float]:
    deciles = group_errors(batch.counts[0], frequency, 10)
    values = {f"f1-of-frequency-decile-{i}": d.f1 if d.n_labels else np.nan for i, d in enumerate(deciles, start=1)}
    return {"label-set-coverage": set_coverage(batch.true, batch.pred), **values}
