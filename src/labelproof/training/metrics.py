"""Any metric of `labelproof.metrics` as a torchmetrics metric: updated by batches, reduced over devices."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from torch import Tensor
from torchmetrics import Metric

from labelproof.decisions import Rule
from labelproof.foundation.arguments import check_choice
from labelproof.metrics import by_name
from labelproof.metrics.batches import Batch

__all__ = ["LabelMetric"]

CUTS = {"logits": 0.0, "probabilities": 0.5}


class LabelMetric(Metric):
    """A metric of multi-label predictions, exact over all batches and devices.

    Parameters
    ----------
    name
        Of the metric, as `labelproof.metrics.by_name` takes it: "micro-f1", "precision@5", "lrap" ...
    n_labels
        Number of labels.
    scores
        What ``update`` is given: "logits" or "probabilities"; it is never guessed.
    rule
        Fitted decision rule for metrics of label sets; by default a label is active at probability ½.
    propensity
        Propensities of the labels, (n_labels,), for "psp@k" and "psndcg@k".
    edges
        Edges of bins for average precision and AUROC over labels, which are not sums over examples.

    Examples
    --------
    >>> metric = LabelMetric("micro-f1", n_labels=2, scores="logits")
    >>> metric.update(torch.tensor([[1.0, 2.0]]), torch.tensor([[1, 0]]))
    >>> metric.update(torch.tensor([[-1.0, 3.0]]), torch.tensor([[1, 1]]))
    >>> metric.compute()
    tensor(0.6667, dtype=torch.float64)
    """

    is_differentiable = False
    full_state_update = False
    sums: Tensor

    def __init__(
        self,
        name: str,
        *,
        n_labels: int,
        scores: Literal["logits", "probabilities"],
        rule: Rule | None = None,
        propensity: Any = None,
        edges: Any = None,
    ) -> None:
        super().__init__()
        check_choice("scores", scores, CUTS)
        self.name, self.n_labels, self.scores, self.rule = name, n_labels, scores, rule
        self.propensity, self.edges = propensity, edges
        metric = self._metric()
        if not metric.additive:
            need = "propensity" if metric.name.startswith("ps") else "edges"
            raise ValueError(f"{need} must be given to compute {name} from batches, got None")
        one = np.zeros((1, n_labels))
        shape = metric.statistics(Batch(one.astype(np.bool_), y_pred=one.astype(np.bool_), y_score=one)).shape
        self.add_state("sums", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether the largest value is best."""
        return bool(self._metric().greater_is_better)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add a batch: scores and labels (0 and 1), both (n, n_labels)."""
        metric = self._metric()
        score = preds.detach().to(torch.promote_types(preds.dtype, torch.float32)).cpu().numpy()
        truth = target.detach().cpu().numpy()
        part = self._read(score, metric.kind)
        sums = metric.statistics(Batch(truth, **part))
        self.sums = self.sums + torch.from_numpy(np.asarray(sums, np.float64)).to(self.sums.device)

    def compute(self) -> Tensor:
        """Return the value over all batches."""
        return torch.tensor(float(self._metric().finish(self.sums.cpu().numpy())), dtype=torch.float64)

    def _metric(self) -> Any:
        return by_name(self.name, propensity=self.propensity, edges=self.edges)  # not kept: it cannot be pickled

    def _read(self, score: npt.NDArray[Any], kind: str) -> dict[str, Any]:
        if kind == "set":
            return {"y_pred": score > CUTS[self.scores] if self.rule is None else self.rule.decide(score)}
        if kind == "probability" and self.scores == "logits":
            return {"y_score": expit(score.astype(np.float64))}
        return {"y_score": score}
