"""Macro averages with exactly k labels for each example: rare labels count as much as frequent ones.

The expected counts of label j over examples with probabilities η_ij are hits_j = Σ η_ij and predicted_j over the
examples that get the label, and positives_j = Σ_i η_ij. The rules maximise the mean over labels of

=============  ===================================================================
"macro-fβ"     (1 + β²) hits / (predicted + β² positives)
"macro-recall" hits / positives
"macro-precision"  hits / predicted, 0 for a label that is not predicted
"coverage"     1 − Π (1 − η_ij): that at least one prediction of the label is right
=============  ===================================================================

β weighs recall, as everywhere. In xCOLUMNs the two are exchanged: its F-beta is ours with 1/β.
"""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.decisions import cut_kernels
from labelproof.decisions.inputs import (
    Floats,
    Labels,
    ScoreKind,
    by_blocks,
    dense,
    require_probabilities,
    row_blocks,
    to_probabilities,
)
from labelproof.decisions.options import require_number, require_score_kind
from labelproof.decisions.ranking import largest, require_enough
from labelproof.decisions.rules import Bools, Rule
from labelproof.decisions.thresholds import require_width
from labelproof.foundation.arguments import whole_number

__all__ = ["BatchMacroTopK", "MacroTopK", "expected_utility"]

Doubles = npt.NDArray[np.float64]


@dataclass(eq=False)
class BatchMacroTopK(Rule):
    """k labels for each example of a batch, chosen together for the largest expected macro average of the batch.

    Block coordinate ascent: each example in turn takes the k labels of the largest gain, given the labels of all
    others, until no example changes or ``max_sweeps`` is reached. For macro-recall one sweep is optimal; otherwise the
    result is a local optimum that no change of one example's set improves. What an example gets depends on the batch.
    ``fit`` learns nothing.

    Parameters
    ----------
    k
        Number of labels, at most n_labels.
    metric
        "macro-f1" (any β), "macro-recall", "macro-precision" or "coverage".
    scores
        "logits" (the sigmoid is taken) or "probabilities".
    max_sweeps
        The most times that all examples are visited.
    random_state
        Seed of the order in which they are.

    Attributes
    ----------
    geometry : None
        A label's gain depends on the other examples.

    Examples
    --------
    The second label is never the largest, but for the macro average one prediction of it is worth more than the
    third of the first.

    >>> rule = BatchMacroTopK(1, scores="probabilities")
    >>> rule.decide([[0.9, 0.1], [0.8, 0.1], [0.6, 0.5]]).astype(int).tolist()
    [[1, 0], [1, 0], [0, 1]]
    """

    k: int
    metric: str = "macro-f1"
    scores: ScoreKind = field(kw_only=True)
    max_sweeps: int = 50
    random_state: int = 0

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        whole_number("k", self.k, minimum=1)
        _utility(self.metric)
        require_score_kind(self.scores, needed=True)
        whole_number("max_sweeps", self.max_sweeps, minimum=1)
        whole_number("random_state", self.random_state, minimum=0)

    def _fit(self, _labels: Labels, scores: Floats) -> None:
        require_enough(self.k, scores.shape[1])
        require_probabilities(scores, self.scores)

    def _decide(self, scores: Floats) -> Bools:
        eta = to_probabilities(scores, self.scores)
        kind, beta2 = _utility(self.metric)
        chosen = np.nonzero(largest(eta, np.full(len(eta), self.k)))[1].reshape(len(eta), self.k)
        hits, predicted = _state(eta, chosen, kind)
        rng = np.random.default_rng(self.random_state)
        for _ in range(self.max_sweeps):
            order = rng.permutation(len(eta))
            if not cut_kernels.ascend(eta, kind, beta2, order, chosen, hits, predicted, eta.sum(axis=0)):
                break
        active = np.zeros(eta.shape, np.bool_)
        np.put_along_axis(active, chosen, True, axis=1)
        return active

    def _decide_blocks(self, scores: Floats, *, sparse: bool) -> Any:
        """Decide all examples together."""
        active = self._decide(scores)
        return scipy.sparse.csr_array(active) if sparse else active

    def _check_width(self, n_labels: int) -> None:
        require_enough(self.k, n_labels)


@dataclass(eq=False)
class MacroTopK(Rule):
    """The k labels with the largest gain_j · η_ij + offset_j, gains and offsets fitted to a macro average.

    At the optimum of a macro average every example takes the k labels with the largest derivative of the average,
    which has this form. ``fit`` moves through mixtures of such rules by the method of Frank and Wolfe, on expected
    counts, and keeps the gains and offsets of that single rule on the way which has the largest macro average on
    y_true. Each example is decided alone.

    Parameters
    ----------
    k
        Number of labels, at most n_labels.
    metric
        "macro-f1" (any β), "macro-recall" or "macro-precision".
    scores
        "logits" (the sigmoid is taken) or "probabilities".
    n_steps
        Steps of the method.

    Attributes
    ----------
    gains_, offsets_ : float64 arrays (n_labels,)
        What was learned.
    geometry : Geometry or None
        None: the k largest values of gain · sigmoid(logit) + offset are no linear system of the logits.

    Examples
    --------
    >>> y_true, y_score = [[1, 0], [1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.1], [0.6, 0.5]]
    >>> MacroTopK(1, scores="probabilities").fit(y_true, y_score).decide(y_score).astype(int).tolist()
    [[1, 0], [1, 0], [0, 1]]
    """

    k: int
    metric: str = "macro-f1"
    scores: ScoreKind = field(kw_only=True)
    n_steps: int = 30
    LEARNED: ClassVar[dict[str, int]] = {"gains_": 1, "offsets_": 1}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        whole_number("k", self.k, minimum=1)
        if _utility(self.metric)[0] == cut_kernels.COVERAGE:
            raise ValueError("metric must be a macro average of F, recall or precision, got 'coverage'")
        require_score_kind(self.scores, needed=True)
        whole_number("n_steps", self.n_steps, minimum=1)

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""
        super().check()
        if self.__sklearn_is_fitted__() and self.gains_.shape != self.offsets_.shape:
            raise ValueError(f"offsets_ must have the shape of gains_, {self.gains_.shape}, got {self.offsets_.shape}")

    def _fit(self, labels: Labels, scores: Floats) -> None:
        require_enough(self.k, scores.shape[1])
        eta = to_probabilities(scores, self.scores)
        self.gains_, self.offsets_ = _frank_wolfe(dense(labels), eta, int(self.k), *_utility(self.metric), self.n_steps)

    def _decide(self, scores: Floats) -> Bools:
        eta = to_probabilities(scores, self.scores)
        return largest(self.gains_ * eta + self.offsets_, np.full(len(eta), self.k))

    def _check_width(self, n_labels: int) -> None:
        require_width(n_labels, len(self.gains_))
        require_enough(self.k, n_labels)


def expected_utility(eta: Doubles, active: Bools, metric: str) -> float:
    """Return the expected macro average of a batch of label sets.

    Parameters
    ----------
    eta
        Probabilities of the labels, (n_examples, n_labels).
    active
        The label sets, bool of that shape.
    metric
        As in `BatchMacroTopK`.

    Examples
    --------
    >>> eta = np.array([[0.9, 0.1], [0.6, 0.5]])
    >>> round(expected_utility(eta, np.eye(2, dtype=bool), "macro-f1"), 4)
    0.6725
    """
    kind, beta2 = _utility(metric)
    if kind == cut_kernels.COVERAGE:
        return float(1 - np.where(active, 1 - eta, 1.0).prod(axis=0).mean())
    hits, predicted = np.where(active, eta, 0).sum(axis=0), active.sum(axis=0).astype(np.float64)
    return float(np.mean(_values(kind, beta2, hits, predicted, eta.sum(axis=0))))


def _utility(metric: str) -> tuple[int, float]:
    """Return the kind of a macro utility, and β²."""
    kinds = {
        "macro-recall": cut_kernels.RECALL,
        "macro-precision": cut_kernels.PRECISION,
        "coverage": cut_kernels.COVERAGE,
    }
    beta = re.fullmatch(r"macro-f(\d+(?:\.\d+)?)", metric) if isinstance(metric, str) else None
    if beta is not None:
        require_number("beta", float(beta[1]), low=0, above=True)
        return cut_kernels.F_BETA, float(beta[1]) ** 2
    if metric not in kinds:
        names = "'macro-f1' (any β), 'macro-recall', 'macro-precision' or 'coverage'"
        raise ValueError(f"metric must be {names}, got {metric!r}")
    return kinds[metric], 1.0


def _state(eta: Doubles, chosen: npt.NDArray[np.int64], kind: int) -> tuple[Doubles, Doubles]:
    """Return Σ η (for coverage Σ log(1 − η)) and the number of predictions of each label."""
    p = np.take_along_axis(eta, chosen, axis=1).ravel()
    weights = np.log1p(-np.minimum(p, 1 - 1e-12)) if kind == cut_kernels.COVERAGE else p
    hits = np.bincount(chosen.ravel(), weights, minlength=eta.shape[1])
    predicted = np.bincount(chosen.ravel(), minlength=eta.shape[1])
    return hits.astype(np.float64), predicted.astype(np.float64)


def _values(kind: int, beta2: float, hits: Doubles, predicted: Doubles, positives: Doubles) -> Doubles:
    tops = {cut_kernels.F_BETA: (1 + beta2) * hits}
    bottoms = {
        cut_kernels.F_BETA: predicted + beta2 * positives,
        cut_kernels.RECALL: positives,
        cut_kernels.PRECISION: predicted,
    }
    bottom = bottoms[kind]
    return np.where(bottom > 0, tops.get(kind, hits) / np.where(bottom > 0, bottom, 1), 0.0)


def _derivatives(
    kind: int, beta2: float, hits: Doubles, predicted: Doubles, positives: Doubles
) -> tuple[Doubles, Doubles]:
    """Return the derivatives of each label's value by hits and by predicted; at least half a prediction is assumed."""
    if kind == cut_kernels.RECALL:
        return 1 / np.maximum(positives, 0.5), np.zeros(len(hits))
    scale, bottom = 1.0, np.maximum(predicted, 0.5)
    if kind == cut_kernels.F_BETA:
        scale, bottom = 1 + beta2, np.maximum(predicted + beta2 * positives, 0.5)
    return scale / bottom, -scale * hits / bottom**2


def _frank_wolfe(truth: Bools, eta: Doubles, k: int, kind: int, beta2: float, n_steps: int) -> tuple[Doubles, Doubles]:
    """Return gains and offsets of the best single rule on the way; expectations lead it, y_true tells the best."""
    expected, actual = eta.sum(axis=0), truth.sum(axis=0).astype(np.float64)
    counts = np.zeros((2, eta.shape[1]))
    gains, offsets = np.ones(eta.shape[1]), np.zeros(eta.shape[1])
    best, kept = -np.inf, (gains, offsets)
    for step in range(n_steps + 1):
        right, hits, predicted = _tallies(truth, eta, k, gains, offsets)
        value = float(np.mean(_values(kind, beta2, right, predicted, actual)))
        if value > best:
            best, kept = value, (gains, offsets)
        counts += 2 / (step + 2) * (np.array([hits, predicted]) - counts)
        gains, offsets = _derivatives(kind, beta2, counts[0], counts[1], expected)
    return kept


def _tallies(truth: Bools, eta: Doubles, k: int, gains: Doubles, offsets: Doubles) -> Doubles:
    """Return true positives, expected true positives and predictions of each label, (3, n_labels)."""

    def tally(block: slice) -> Doubles:
        p = eta[block]
        active = largest(gains * p + offsets, np.full(len(p), k))
        return np.array([(active & truth[block]).sum(axis=0), np.where(active, p, 0).sum(axis=0), active.sum(axis=0)])

    return np.sum(by_blocks(tally, row_blocks(eta.shape, most_cells=2**22)), axis=0)
