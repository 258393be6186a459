"""Linear support vector machines as an output layer: solved for features as they are, not trained in epochs."""

import math
import time
from typing import Any

import numpy as np
import scipy.sparse
import torch

from labelproof.decisions import Threshold
from labelproof.encoders import Encoder
from labelproof.foundation.engines import Engine
from labelproof.metrics import by_name
from labelproof.training.batches import Examples
from labelproof.training.callbacks import Row
from labelproof.training.heads import LinearHead
from labelproof.training.svm_blocks import Solution, solutions

__all__ = ["COSTS", "ROUGH", "TOLERANCE", "choose_cost", "feature_matrix", "linear_svms", "solve"]

COSTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
MOST_LABELS = 200  # on which C is chosen
TOLERANCE, ROUGH = 1e-2, 1e-1  # of the slopes of the dual problem; the second to choose C
DENSE = 0.5  # share of numbers that are not 0, from which on products of matrices are faster


def solve(
    encoder: Encoder,
    head: LinearHead,
    training: Examples,
    validation: Examples | None,
    cost: float | None,
    *,
    engine: Engine = "local",
    progress: bool = False,
) -> tuple[float, Row]:
    """Give each label of a head the weights of its linear support vector machine.

    Parameters
    ----------
    encoder
        Without anything to train.
    head
        Of as many features as the encoder gives.
    training, validation
        Examples; the second say what C is where it is None.
    cost
        C: how much a wrong score costs, against the size of the weights.
    engine
        "local", or "ray": blocks of labels are tasks of a cluster, with the same numbers.
    progress
        Draw a progress bar on standard error.

    Returns
    -------
    cost, row
        C, and the row of the history: the mean squared hinge loss of the training examples, and the seconds.
    """
    begin = time.perf_counter()
    if any(parameter.requires_grad for parameter in encoder.parameters()):
        raise ValueError("head 'svm' is solved for features as they are: the encoder must train nothing (hidden: null)")
    features = feature_matrix(encoder, training)
    if cost is None:
        held_out = validation and feature_matrix(encoder, validation)
        cost = choose_cost(features, training.labels, held_out, validation, engine=engine)
    how: dict[str, Any] = {"n_jobs": torch.get_num_threads(), "engine": engine, "progress": progress}
    ((weight, bias),) = solutions(features, training.labels, [cost], tolerance=TOLERANCE, **how)
    with torch.no_grad():
        head.output.weight.copy_(torch.from_numpy(weight))
        head.output.bias.copy_(torch.from_numpy(bias))
    loss = _mean_loss(features, training.labels, weight, bias)
    return cost, {"epoch": 1, "train loss": loss, "seconds": time.perf_counter() - begin}


def feature_matrix(encoder: Encoder, examples: Examples, *, batch_size: int = 256) -> Any:
    """Return what an encoder makes of examples, in float64: a CSR array, or an array where most numbers are not 0."""
    encoder.eval()
    blocks = []
    with torch.inference_mode():
        for start in range(0, len(examples), batch_size):
            rows = np.arange(start, min(start + batch_size, len(examples)))
            batch = encoder(*encoder.collate(examples.prepared, rows))
            blocks.append(scipy.sparse.csr_array(batch.double().cpu().numpy()))
    matrix = scipy.sparse.vstack(blocks, format="csr")
    return matrix.toarray() if matrix.nnz > DENSE * math.prod(matrix.shape) else matrix


def choose_cost(
    features: Any, labels: Any, held_out: Any, validation: Examples | None, *, engine: Engine = "local"
) -> float:
    """Return the C of `COSTS` with the best micro-F1 on held-out examples, for 200 labels if there are more.

    Without held-out examples it is 1.
    """
    if validation is None:
        return 1.0
    n_labels = labels.shape[1]
    some = np.sort(np.random.default_rng(0).permutation(n_labels)[:MOST_LABELS])
    truth, metric = validation.labels[:, some], by_name("micro-f1")
    found = {}
    how: dict[str, Any] = {"n_jobs": torch.get_num_threads(), "engine": engine}
    solved = solutions(features, labels[:, some], COSTS, tolerance=ROUGH, **how)
    for cost, (weight, bias) in zip(COSTS, solved, strict=True):
        scores = held_out @ weight.T.astype(np.float64) + bias
        rule = Threshold(metric="micro-f1").fit(truth, scores)
        found[cost] = metric(truth, rule.decide(scores))
    return max(found, key=lambda cost: found[cost])


def linear_svms(features: Any, labels: Any, cost: float, *, tolerance: float = TOLERANCE) -> Solution:
    """Return weights and biases of a linear support vector machine (squared hinge loss) for each label.

    As in liblinear, the bias is the weight of a feature that is 1 everywhere.

    Parameters
    ----------
    features
        CSR array (n_examples, n_features).
    labels
        CSR array (n_examples, n_labels) of bool.
    cost
        C, positive.
    tolerance
        Of the slopes of the dual problem.

    Returns
    -------
    weight, bias
        Arrays (n_labels, n_features) and (n_labels,).

    Examples
    --------
    >>> X = scipy.sparse.csr_array(np.array([[-1.0], [1.0]]))
    >>> weight, bias = linear_svms(X, scipy.sparse.csr_array(np.array([[False], [True]])), 1.0, tolerance=1e-9)
    >>> weight.round(3), bias.round(3)  # ½w² + 2(1 - w)² is least at 4/5
    (array([[0.8]], dtype=float32), array([0.]))
    """
    (found,) = solutions(features, labels, [cost], tolerance=tolerance, n_jobs=torch.get_num_threads())
    return found


def _mean_loss(features: Any, labels: Any, weight: Any, bias: Any) -> float:
    """Return the squared hinge loss of a label and an example, in the mean, by blocks of examples."""
    total, transposed = 0.0, weight.T.astype(np.float64)
    for start in range(0, features.shape[0], 1024):
        scores = features[start : start + 1024] @ transposed + bias
        signs = np.where(labels[start : start + 1024].toarray(), 1.0, -1.0)
        total += float(np.square(np.maximum(1 - signs * scores, 0)).sum())
    return total / max(1, labels.shape[0] * labels.shape[1])
