"""Metrics of a stream of batches, in memory that does not grow with the number of examples."""

from collections.abc import Iterable
from typing import Any

from labelproof.metrics.arguments import FloatArray
from labelproof.metrics.batches import Batch
from labelproof.metrics.binned import read_edges
from labelproof.metrics.metric import Metric
from labelproof.metrics.registry import by_name

__all__ = ["Accumulator"]


class Accumulator:
    """Metrics that are updated batch by batch, and merged with those of other workers.

    Every set metric, metric at k, LRAP, ranking loss, coverage error, samples average, distribution and calibration
    metric is exact: the value of all batches together, but for the rounding of sums. Average precision and AUROC over
    labels have no such sums; with ``edges`` they are computed from histograms, as `binned` says, without they are
    refused. So are "psp@k" and "psndcg@k" without ``propensity``. Memory is a few numbers per label and
    metric: 4 for counts, 60 for calibration, twice the number of bins for histograms.

    Parameters
    ----------
    metrics
        Names, as `by_name` takes them.
    propensity
        Propensities of the labels, (n_labels,), for "psp@k" and "psndcg@k".
    edges
        Ascending edges of the bins for average precision and AUROC, on the scale of the scores.

    Examples
    --------
    >>> stream = Accumulator(["micro-f1", "precision@1"])
    >>> stream.update([[1, 0]], y_pred=[[1, 1]], y_score=[[0.9, 0.8]])
    >>> stream.update([[1, 1]], y_pred=[[0, 1]], y_score=[[0.1, 0.7]])
    >>> stream.compute()
    {'micro-f1': 0.6666666666666666, 'precision@1': 1.0}
    """

    def __init__(self, metrics: Iterable[str], *, propensity: Any = None, edges: Any = None) -> None:
        self.names = tuple(metrics)
        self.propensity = propensity
        self.edges = None if edges is None else read_edges(edges)
        self._metrics = self._make_metrics()
        self._sums: dict[str, FloatArray] = {}
        self._n_labels: int | None = None

    def update(self, y_true: Any, *, y_pred: Any = None, y_score: Any = None, sample_weight: Any = None) -> None:
        """Add a batch.

        Parameters
        ----------
        y_true, y_pred
            Bool or 0/1 arrays, or scipy sparse matrices, of shape (n_examples, n_labels).
        y_score
            Scores, of the same shape; probabilities where a metric needs them.
        sample_weight
            Weights of the examples, (n_examples,).
        """
        batch = Batch(y_true, y_pred=y_pred, y_score=y_score, sample_weight=sample_weight)
        if self._n_labels not in (None, batch.shape[1]):
            raise ValueError(f"y_true must have {self._n_labels} labels as before, got {batch.shape[1]}")
        sums = {metric.name: metric.statistics(batch) for metric in self._metrics}
        self._n_labels = batch.shape[1]
        self._add(sums)

    def merge(self, other: "Accumulator") -> None:
        """Add what another accumulator of the same metrics has seen; the other one stays as it is."""
        if self._settings() != other._settings():
            raise ValueError(
                f"other must have the metrics {self.names} with the same edges and propensities, got {other.names}"
            )
        if None not in (self._n_labels, other._n_labels) and self._n_labels != other._n_labels:
            raise ValueError(f"other must have {self._n_labels} labels, got {other._n_labels}")
        self._n_labels = other._n_labels if self._n_labels is None else self._n_labels
        self._add(other._sums)

    def compute(self) -> dict[str, float]:
        """Return the value of every metric over all batches so far."""
        if not self._sums:
            raise ValueError("compute needs at least one batch, got none")
        return {metric.name: float(metric.finish(self._sums[metric.name])) for metric in self._metrics}

    def _add(self, sums: dict[str, FloatArray]) -> None:
        self._sums = {name: self._sums[name] + value if name in self._sums else value for name, value in sums.items()}

    def _settings(self) -> tuple[Any, ...]:
        arrays = (None if x is None else tuple(x) for x in (self.edges, self.propensity))
        return self.names, *arrays

    def _make_metrics(self) -> list[Metric]:
        metrics = [by_name(name, propensity=self.propensity, edges=self.edges) for name in self.names]
        for metric in metrics:
            if not metric.additive:
                need = "propensity" if metric.name.startswith("ps") else "edges"
                raise ValueError(f"{need} must be given to compute {metric.name} from a stream, got None")
        return metrics

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_metrics"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._metrics = self._make_metrics()
