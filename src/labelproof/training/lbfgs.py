"""Linear models by L-BFGS: the loss of all training examples at once, with a penalty on the squared weights."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize
from torch import nn

from labelproof.encoders import Encoder
from labelproof.losses.targets import SparseTargets
from labelproof.training.batches import Examples
from labelproof.training.callbacks import Row
from labelproof.training.config import TrainerConfig
from labelproof.training.heads import LinearHead
from labelproof.training.svm import feature_matrix

__all__ = ["LinearSolution", "fit_linear", "solve_lbfgs"]

MEMORY = 10  # pairs of steps and gradients that the method keeps


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Weights (n_labels, n_features) and biases (n_labels,) in float64, and the objective after each iteration.

    Attributes
    ----------
    weight, bias
        float64 (n_labels, n_features) and (n_labels,).
    objectives
        Loss and penalty after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> LinearSolution(np.eye(2), np.zeros(2), (1.0, 0.5)).objectives[-1]
    0.5
    """

    weight: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    objectives: tuple[float, ...]


def fit_linear(
    features: Any,
    targets: Any,
    loss: nn.Module,
    n_labels: int,
    *,
    decay: float = 0.0,
    bias: bool = True,
    iterations: int = 100,
) -> LinearSolution:
    """Minimise loss(X Wᵀ + b, targets) + ½ decay ‖W‖² from zero weights. The bias is not penalised.

    Parameters
    ----------
    features
        X, array or CSR array (n_examples, n_features).
    targets
        What the loss takes: a 0/1 tensor (n_examples, n_labels), proportions, or `SparseTargets`.
    loss
        Of logits and targets, in this order; differentiable, without parameters of its own.
    n_labels
        Number of labels.
    decay
        Weight of the penalty.
    bias
        Whether labels have biases.
    iterations
        At most so many.

    Examples
    --------
    >>> from labelproof.losses import SparsemaxLoss
    >>> X, q = np.array([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2, dtype=torch.float64)
    >>> found = fit_linear(X, q, SparsemaxLoss(), 2, decay=1e-6)
    >>> (X @ found.weight.T + found.bias).argmax(axis=1).tolist(), found.objectives[-1] < 1e-5
    ([0, 1], True)
    """
    if any(parameter.requires_grad for parameter in loss.parameters()):
        raise ValueError(f"loss must have nothing to train for L-BFGS, got {type(loss).__name__} with parameters")
    n_features, objectives = features.shape[1], []

    def value_and_slope(packed: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        weight, offset = _unpacked(packed, n_labels, n_features)
        logits = torch.from_numpy(features @ weight.T + offset).requires_grad_()
        value = loss(logits, targets)
        (slope,) = torch.autograd.grad(value, logits)
        residual = slope.numpy()  # (n_examples, n_labels)
        of_weight = residual.T @ features + decay * weight
        of_bias = residual.sum(axis=0) if bias else np.zeros(n_labels)
        total = float(value.detach()) + decay / 2 * float(np.square(weight).sum())
        return total, np.concatenate([of_weight.ravel(), of_bias])

    answer = minimize(
        value_and_slope,
        np.zeros(n_labels * n_features + n_labels),
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: objectives.append(float(intermediate_result.fun)),
        options={"maxiter": iterations, "maxcor": MEMORY},
    )
    return LinearSolution(*_unpacked(answer.x, n_labels, n_features), tuple(objectives or [float(answer.fun)]))


def solve_lbfgs(
    encoder: Encoder, head: nn.Module, loss: nn.Module, training: Examples, config: TrainerConfig
) -> list[Row]:
    """Give a linear head the weights that minimise a loss; return the history, one row for each iteration.

    Parameters
    ----------
    encoder
        Without anything to train.
    head
        A `LinearHead`.
    loss
        Of logits and targets.
    training
        Examples.
    config
        ``weight_decay`` is the penalty, ``epochs`` the most iterations.
    """
    if not isinstance(head, LinearHead):
        raise ValueError(f"trainer.optimizer lbfgs is for a linear head, got {type(head).__name__}")
    if any(parameter.requires_grad for parameter in encoder.parameters()):
        raise ValueError(
            "trainer.optimizer lbfgs is for features as they are: the encoder must train nothing (hidden: null)"
        )
    begin = time.perf_counter()
    features = feature_matrix(encoder, training)
    if head.relu:
        features = np.maximum(features, 0) if isinstance(features, np.ndarray) else features.maximum(0)
    found = fit_linear(
        features,
        _targets(training),
        loss,
        head.n_labels,
        decay=config.weight_decay,
        bias=head.bias is not None,
        iterations=config.epochs,
    )
    with torch.no_grad():
        head.output.weight.copy_(torch.from_numpy(found.weight))
        if head.bias is not None:
            head.output.bias.copy_(torch.from_numpy(found.bias))
    seconds = round((time.perf_counter() - begin) / len(found.objectives), 6)
    return [{"epoch": i, "train loss": value, "seconds": seconds} for i, value in enumerate(found.objectives, 1)]


def _targets(training: Examples) -> SparseTargets:
    """Return the labels of all examples in the form in which all losses take them."""
    return training.batch(np.arange(len(training))).targets(training.labels.shape[1])


def _unpacked(
    packed: npt.NDArray[np.float64], n_labels: int, n_features: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    return packed[: n_labels * n_features].reshape(n_labels, n_features), packed[n_labels * n_features :]
