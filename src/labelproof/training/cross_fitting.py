"""Training by folds: the rule and validation metrics from out-of-fold logits, the model from all training examples."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.data import Dataset
from labelproof.data.splits import iterative_stratification
from labelproof.training.choices import build_rule
from labelproof.training.config import DataConfig, DecisionConfig, TrainConfig
from labelproof.training.data_parts import divide, inputs_of, without_validation
from labelproof.training.fitted import Fitted
from labelproof.training.scoring import batch_logits, metrics_of

__all__ = ["fit_by_folds", "fold_rows"]

Fit = Callable[[TrainConfig, Dataset], Fitted]


def fit_by_folds(config: TrainConfig, dataset: Dataset, fit: Fit) -> Fitted:
    """Train once without each fold, fit the decision rule to the logits of what was left out, and train on all.

    Parameters
    ----------
    config
        With ``data.folds``.
    dataset
        Its validation part, if it has one, is part of the training part.
    fit
        Trains a model on a data set without folds.

    Returns
    -------
    Fitted
        The model of all training examples. Its rule and its validation metrics are from out-of-fold logits.
    """
    parts = divide(
        without_validation(dataset), config.data.model_copy(update={"validation": 0.0}), seed=config.trainer.seed
    )
    training = parts.training.with_split(None)
    plain = config.model_copy(
        update={
            "data": DataConfig(validation=0.0, min_count=0),
            "decision": DecisionConfig(kind="fixed"),
        }
    )
    logits = np.zeros((len(training), training.n_labels), np.float32)
    for held in fold_rows(training, config.data.folds or 2, seed=config.trainer.seed):
        kept = np.setdiff1d(np.arange(len(training)), held)
        logits[held] = _logits(fit(plain, training.select(kept)), training.select(held))
    cardinality = float(training.labels.nnz / len(training))
    rule = build_rule(config.decision.kind, config.decision.options, cardinality=cardinality)
    rule.fit(training.labels, logits)
    whole = fit(plain, training)
    metrics: dict[str, dict[str, Any]] = {
        "sizes": {"training": len(training)},
        "validation": metrics_of(training.labels, iter([logits]), rule),
    }
    if parts.test is not None and len(parts.test):
        metrics["sizes"]["test"] = len(parts.test)
        metrics["test"] = metrics_of(parts.test.labels, iter([_logits(whole, parts.test)]), rule)
    final = whole.config.model_copy(update={"data": config.data, "decision": config.decision})
    return replace(whole, rule=rule, config=final, metrics=metrics)


def fold_rows(training: Dataset, n_folds: int, *, seed: int) -> list[npt.NDArray[np.int64]]:
    """Return the rows of each fold: by iterative stratification, groups kept together.

    >>> data = Dataset(np.ones((6, 2), bool), ("a", "b"), features=np.zeros((6, 1)))
    >>> [len(rows) for rows in fold_rows(data, 3, seed=0)]
    [2, 2, 2]
    """
    if n_folds > len(training):
        raise ValueError(f"data.folds must be at most the {len(training)} training examples, got {n_folds}")
    names = [str(fold) for fold in range(n_folds)]
    found = iterative_stratification(training.labels, dict.fromkeys(names, 1.0), groups=training.groups, seed=seed)
    return [rows for name in names if len(rows := np.flatnonzero(found == name))]


def _logits(fitted: Fitted, examples: Dataset) -> npt.NDArray[Any]:
    prepared = fitted.encoder.prepare(inputs_of(examples, fitted.encoder.input_kind))
    return np.concatenate(list(batch_logits(fitted.encoder, fitted.head, prepared)))
