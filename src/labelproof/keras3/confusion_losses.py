"""Metrics of a confusion matrix as Keras losses: 1 - metric, of smooth counts s = sigmoid(beta · (logit + eta))."""

from typing import Any, Literal

import keras
from keras import ops
from keras.src.backend import get_keras_mask  # what Keras's own losses read; it has no public name

from labelproof.foundation.arguments import check_choice
from labelproof.keras3.label_numbers import LabelNumbers, as_option, check_shapes, like
from labelproof.losses.metric_ratios import AVERAGES, SCORES, Average, Factors, Metric, Scores, read_metric

__all__ = ["ConfusionLoss", "SigmoidF1Loss", "UnboundedF1Loss"]

Empty = Literal["smooth", "skip"]
Counts = tuple[Any, Any, Any, Any]  # hits Σ s·y, predicted Σ s, positives Σ y, total Σ 1


@keras.saving.register_keras_serializable(package="labelproof")
class ConfusionLoss(keras.losses.Loss):
    """1 - metric of the smooth confusion matrix of a batch; the twin of `labelproof.ConfusionLoss`.

    ``y_pred`` are logits (..., n_labels), so the last layer has no activation; ``y_true`` has their shape, with values
    from 0 to 1. A Keras mask or ``sample_weight`` says how much each example counts, within the counts.

    Parameters
    ----------
    metric
        "f1", "fbeta" (with ``f_beta``), "accuracy", "precision", "recall", "specificity", "npv", "jaccard",
        "balanced-accuracy" or "mcc".
    beta, eta
        Slope and shift of the sigmoid: numbers, or one for each label. beta must be positive.
    average
        "macro" is the mean of the labels' metrics, "weighted" weighs them by the number of positives, "micro" pools the
        counts of all labels, "samples" is the mean of the examples' metrics.
    f_beta
        How many times as much recall counts as precision, for ``metric="fbeta"``.
    scores
        What is counted: the "sigmoid" s, or beta · (logit + eta) itself with "logits".
    empty
        What to do with a label (or an example, for "samples") without a positive in the batch: "smooth" counts
        ``smoothing`` more hits for it, "skip" leaves it out of the mean.
    smoothing
        The number of hits that "smooth" adds.
    label_weight
        Weights of the labels, one for each: in the mean, or in the pooled counts for micro and samples.
    reduction
        "sum_over_batch_size", "mean" or "mean_with_sample_weight" for the mean over labels or examples; "sum", the same
        without its divisor; None for the loss of each label or example.
    name, dtype
        As for every Keras loss.

    Examples
    --------
    >>> loss = ConfusionLoss("jaccard", average="micro")
    >>> round(float(loss([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]])), 4)  # 1 - 1 / (2 + 2 - 1)
    0.6667
    """

    def __init__(
        self,
        metric: str = "f1",
        *,
        beta: LabelNumbers = 1.0,
        eta: LabelNumbers = 0.0,
        average: Average = "macro",
        f_beta: float = 1.0,
        scores: Scores = "sigmoid",
        empty: Empty = "smooth",
        smoothing: float = 1.0,
        label_weight: LabelNumbers | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        read_metric(metric, f_beta)
        check_choice("average", average, AVERAGES)
        check_choice("scores", scores, SCORES)
        check_choice("empty", empty, ("smooth", "skip"))
        if not smoothing > 0:
            raise ValueError(f"smoothing must be positive, got {smoothing:g}")
        self.metric, self.average, self.f_beta, self.scores = metric, average, f_beta, scores
        self.empty, self.smoothing = empty, smoothing
        self.beta, self.eta = as_option("beta", beta, positive=True), as_option("eta", eta)
        self.label_weight = None if label_weight is None else as_option("label_weight", label_weight)

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return the loss of a batch; weights of examples go into the counts, so they cannot come after them."""
        mask = get_keras_mask(y_pred)
        y_true, y_pred = (ops.convert_to_tensor(values, dtype=self.dtype) for values in (y_true, y_pred))
        check_shapes(y_true, y_pred)
        weight = ops.ones_like(y_pred[..., 0])
        for given in (mask, sample_weight):
            weight = weight if given is None else weight * self._of_examples(given, weight)
        return self._loss(y_true, y_pred, weight)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of a batch without weights."""
        return self._loss(y_true, y_pred, ops.ones_like(y_pred[..., 0]))

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        names = ("metric", "beta", "eta", "average", "f_beta", "scores", "empty", "smoothing", "label_weight")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def _of_examples(self, given: Any, like_this: Any) -> Any:
        """Return weights of examples with as many axes as they have: (n,), (n, 1) and (n, time) are Keras's forms."""
        given = ops.convert_to_tensor(given, dtype=self.dtype)
        rank = len(like_this.shape)
        if len(given.shape) == rank + 1 and given.shape[-1] == 1:
            given = ops.squeeze(given, -1)
        if len(given.shape) > rank:
            raise ValueError(f"sample_weight must have shape {tuple(like_this.shape)}, got {tuple(given.shape)}")
        return ops.reshape(given, (*ops.shape(given), *[1] * (rank - len(given.shape))))

    def _loss(self, y_true: Any, y_pred: Any, weight: Any) -> Any:
        n_labels = y_pred.shape[-1]
        y, z = (ops.reshape(values, (-1, n_labels)) for values in (y_true, y_pred))
        weight = ops.reshape(weight, (-1,))
        of_label = None if self.label_weight is None else like(self.label_weight, z)
        by_example = self.average == "samples"
        known = ops.ones_like(z)
        known = known * (weight[:, None] if not by_example else 1.0 if of_label is None else of_label)
        counts = self._counts(y, z, known, axis=1 if by_example else 0)
        if self.average == "micro":
            counts = tuple(ops.sum(count if of_label is None else count * of_label) for count in counts)
        losses, kept, support = self._losses(counts)
        return self._reduced(losses, kept, support, weight if by_example else of_label)

    def _counts(self, y: Any, z: Any, known: Any, axis: int) -> Counts:
        steep = like(self.beta, z) * (z + like(self.eta, z))
        s = (_steps(steep) if self.scores == "sigmoid" else steep) * known
        return ops.sum(s * y, axis), ops.sum(s, axis), ops.sum(known * y, axis), ops.sum(known, axis)

    def _losses(self, counts: Counts) -> tuple[Any, Any, Any]:
        """Return 1 - metric of each label or example, 1 where it is kept and 0 where not, and its support."""
        metric = read_metric(self.metric, self.f_beta)
        hits, predicted, positives, total = counts
        left_out = total <= 0
        if self.empty == "smooth":  # as if a hit, or a label that is rightly not predicted, had been seen as well
            if metric.needs_positives:
                more = self.smoothing * ops.cast(positives <= 0, total.dtype)
                hits, predicted, positives, total = (count + more for count in (hits, predicted, positives, total))
            if metric.needs_negatives:
                total = total + self.smoothing * ops.cast(_lacks_negatives(positives, total), total.dtype)
        else:
            if metric.needs_positives:
                left_out = ops.logical_or(left_out, positives <= 0)
            if metric.needs_negatives:
                left_out = ops.logical_or(left_out, _lacks_negatives(positives, total))
        losses = ops.where(left_out, 0.0, 1.0 - _formula(metric, (hits, predicted, positives, total)))
        return losses, ops.cast(ops.logical_not(left_out), losses.dtype), ops.stop_gradient(positives)

    def _reduced(self, losses: Any, kept: Any, support: Any, weight: Any) -> Any:
        if self.average == "micro" or self.reduction in (None, "none"):
            return losses
        share = kept * support if self.average == "weighted" else kept
        share = share if weight is None else share * weight
        above, below = ops.sum(share * losses), ops.sum(share)
        return above if self.reduction == "sum" else above / ops.where(below == 0, 1.0, below)


@keras.saving.register_keras_serializable(package="labelproof")
class SigmoidF1Loss(ConfusionLoss):
    """1 - F1 of smooth counts, with s = sigmoid(beta · (logit + eta)); see `ConfusionLoss` for the options.

    Examples
    --------
    >>> round(float(SigmoidF1Loss(beta=2.0)([[1.0], [0.0]], [[1.0], [-1.0]])), 4)
    0.1192
    """

    def __init__(self, beta: LabelNumbers = 1.0, eta: LabelNumbers = 0.0, **options: Any) -> None:
        super().__init__("f1", beta=beta, eta=eta, **options)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return _without_metric(super().get_config())


@keras.saving.register_keras_serializable(package="labelproof")
class UnboundedF1Loss(ConfusionLoss):
    """1 - F1 of counts of the logits as they are, or of plain sigmoids with ``scores="sigmoid"``.

    Of logits the loss has no bounds, and its denominator can change its sign: it is there to reproduce the definition
    (equation 4 of the sigmoidF1 paper). See `ConfusionLoss` for the other options.

    Examples
    --------
    >>> float(UnboundedF1Loss()([[1.0], [0.0]], [[3.0], [0.0]]))  # 1 - 6 / 4
    -0.5
    """

    def __init__(self, scores: Scores = "logits", **options: Any) -> None:
        super().__init__("f1", scores=scores, **options)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return _without_metric(super().get_config())


def _without_metric(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != "metric"}


def _steps(z: Any) -> Any:
    """Return sigmoid(z) whose gradient keeps its digits at both ends, where 1 - sigmoid would round to 0."""
    return ops.where(z > 0, 1.0 - ops.sigmoid(-z), ops.sigmoid(z))


def _lacks_negatives(positives: Any, total: Any) -> Any:
    rounding = 4 * {"float64": 2.0**-52}.get(keras.backend.standardize_dtype(total.dtype), 2.0**-23)
    return total - positives <= rounding * total  # sums of weights cancel here


def _formula(metric: Metric, counts: Counts) -> Any:
    if not metric.ratios:
        return _correlation(counts)
    values = [_ratio(_weighted(above, counts), _weighted(below, counts)) for above, below in metric.ratios]
    return sum(values[1:], values[0]) / len(values)


def _weighted(factors: Factors, counts: Counts) -> Any:
    return sum(factor * count for factor, count in zip(factors, counts, strict=True) if factor)


def _ratio(above: Any, below: Any) -> Any:
    """Return above / below, and 0 with gradient 0 where below is 0."""
    empty = below == 0
    return ops.where(empty, 0.0, above / ops.where(empty, 1.0, below))


def _correlation(counts: Counts) -> Any:
    """Return Matthews' correlation, from shares of the total."""
    hits, predicted, positives = (_ratio(count, counts[3]) for count in counts[:3])
    spread = predicted * (1 - predicted) * positives * (1 - positives)
    flat = spread <= 0
    return ops.where(flat, 0.0, (hits - predicted * positives) / ops.sqrt(ops.where(flat, 1.0, spread)))
