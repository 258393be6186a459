"""A threshold with a promise: recall, or precision, of at least a level on examples to come.

What is controlled is a risk: the expected share of an example's labels that is missed (recall), or of its predicted
labels that is wrong (precision). Its mean over n examples may be at most r*, which is lower than the risk allowed,
α = 1 − level, by what chance can do:

- in expectation, for a risk that only falls with the threshold: r* = α − (1 − α)/n (conformal risk control);
- with a confidence: the largest r whose p-value against "the risk exceeds α" is at most 1 − confidence, the lesser of
  Hoeffding's and Bentkus' (learn then test).

Recall takes the highest threshold whose mean risk is at most r*. The risk of precision may rise and fall with the
threshold, so thresholds are tested one after the other from the highest down, which no choice of ours may depend on,
and the last before the first failure is taken. All real numbers are tested, so that there is no grid to choose: a false
promise would need the highest threshold that breaks it to pass its own test.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.special import bdtr

from labelproof.decisions import risk_kernels
from labelproof.decisions.geometry import Geometry
from labelproof.decisions.inputs import Floats, Labels, ScoreKind, read_pair
from labelproof.decisions.options import require_number, require_score_kind
from labelproof.decisions.rules import Bools, Rule
from labelproof.foundation.arguments import check_choice
from labelproof.metrics.arguments import read_labels

__all__ = ["RiskControlled", "largest_mean_risk", "promised_rules"]

EXACT = 1e-12  # numbers such as 1 − 0.9 are not closer to what they mean
ROUNDING = 1e-9  # of a mean of shares that is kept up to date by additions


@dataclass(eq=False)
class RiskControlled(Rule):
    """One threshold for all labels that keeps a promise about recall or precision on examples to come.

    With n examples in ``fit`` and one to come that are exchangeable (such as independent draws from one source, none of
    which the model or its calibration was trained on):

    - ``metric="recall", confidence=None``: the expected recall of the example to come is at least ``level``, where the
      expectation is over the examples of ``fit`` too: conformal risk control.
    - ``metric="recall"`` with a confidence: with this probability over the examples of ``fit``, which must be
      independent draws, the expected recall of the rule that was found is at least ``level``.
    - ``metric="precision"`` with a confidence: the same of the expected precision, where an example for which nothing
      is predicted has precision 1: learn then test, down from the highest threshold.

    Recall is that of examples with at least one label; those without are left out of ``fit`` and of the promise. The
    promise is about the mean over examples, not about each example or label, and says nothing about the other metric:
    a rule that promises recall may predict very many labels, one that promises precision none at all.

    Parameters
    ----------
    metric
        "recall" or "precision".
    level
        What it is to be at least, above 0 and below 1.
    confidence
        Probability, above 0 and below 1, with which the promise holds; None for recall in expectation.
    scores
        "logits" or "probabilities", for `geometry`; None if neither.

    Attributes
    ----------
    threshold_ : float
        A label is active iff its score is larger.
    risk_ : float
        Mean risk on the examples of ``fit``: lower than 1 − level by what chance can do.
    geometry : Geometry
        "sigmoid" with this one threshold.

    Raises
    ------
    ValueError
        If there are too few examples for any threshold to keep the promise, whatever their scores; the message says
        how many are needed.

    Notes
    -----
    Scores may be sparse: an entry that is not stored is a score of 0. They are not made dense as long as the threshold
    is not below 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((500, 4)) < 0.3
    >>> y_score = y_true + 0.8 * rng.standard_normal((500, 4))
    >>> rule = RiskControlled("recall", level=0.9, confidence=0.95).fit(y_true, y_score)
    >>> missed = (y_true & ~rule.decide(y_score)).sum(1) / np.maximum(y_true.sum(1), 1)
    >>> bool(missed[y_true.any(1)].mean() < 0.1)
    True
    """

    metric: Literal["recall", "precision"] = "recall"
    level: float = 0.9
    confidence: float | None = 0.95
    scores: ScoreKind | None = None
    LEARNED: ClassVar[dict[str, int]] = {"threshold_": 0, "risk_": 0}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        check_choice("metric", self.metric, ("recall", "precision"))
        _require_inside("level", self.level)
        if self.confidence is not None:
            _require_inside("confidence", self.confidence)
        elif self.metric == "precision":
            raise ValueError("confidence must be a number for metric='precision', whose risk is not monotone, got None")
        require_score_kind(self.scores, needed=False)

    def fit(self, y_true: Any, y_score: Any) -> Self:
        """Find the threshold; see `Rule.fit`. Scores may be a scipy sparse matrix, whose missing entries are 0."""
        self.check_options()
        if not scipy.sparse.issparse(y_score):
            self._fit(*read_pair(y_true, y_score))
            return self
        labels, stored = read_labels(y_true, "y_true"), _read_stored(y_score)
        if labels.shape != stored.shape:
            raise ValueError(f"y_score must have the shape of y_true, {labels.shape}, got {stored.shape}")
        most = self._most_risk(labels)
        if self.metric == "recall":
            self._keep_recall(labels, _stored_at(stored, labels), most)
        elif not self._keep_precision(len(labels.sizes), _above_zero(stored, labels), most, rest=0.0):
            self._fit(*read_pair(labels, stored.toarray()))
        return self

    def decide(self, y_score: Any, *, sparse: bool = False) -> Any:
        """Return the label sets of examples; see `Rule.decide`."""
        if not scipy.sparse.issparse(y_score) or not getattr(self, "threshold_", -1.0) >= 0:
            return super().decide(y_score, sparse=sparse)
        self.check()
        stored = _read_stored(y_score)
        above = stored.data > np.array([self.threshold_])
        active = scipy.sparse.csr_array((above, stored.indices, stored.indptr), stored.shape, copy=True)
        active.eliminate_zeros()
        return active if sparse else active.toarray()

    @property
    def geometry(self) -> Geometry | None:
        """Return "sigmoid" with one threshold; None before ``fit``."""
        return Geometry("sigmoid", np.array(self.threshold_), self.scores) if hasattr(self, "threshold_") else None

    def _fit(self, labels: Labels, scores: Floats) -> None:
        most = self._most_risk(labels)
        if self.metric == "recall":
            self._keep_recall(labels, scores[labels.rows, labels.indices], most)
            return
        n_wanted = max(4 * len(labels.indices), 2**16)
        while True:
            cut = _cut_above(scores, n_wanted)
            lowest = float(np.nextafter(scores.min(), -np.inf)) if cut == -np.inf else cut
            if self._keep_precision(len(scores), _above(scores, labels, cut), most, rest=lowest) or cut == -np.inf:
                return
            n_wanted *= 8

    def _decide(self, scores: Floats) -> Bools:
        return scores > np.array([self.threshold_])

    def _most_risk(self, labels: Labels) -> float:
        """Return r*, or refuse to promise anything."""
        n = int((labels.sizes > 0).sum()) if self.metric == "recall" else len(labels.sizes)
        most = largest_mean_risk(n, 1 - self.level, self.confidence)
        if most is None:
            needed = _fewest(1 - self.level, self.confidence)
            kind = " with a label" if self.metric == "recall" else ""
            given = "" if self.confidence is None else f" and confidence={self.confidence:g}"
            raise ValueError(
                f"y_true must have at least {needed} examples{kind} to promise level={self.level:g}{given}, got {n}"
            )
        return most

    def _keep_recall(self, labels: Labels, values: Floats, most: float) -> None:
        """Set the highest threshold at which the mean share of missed labels is at most `most`."""
        order = np.argsort(values, kind="stable")
        share = 1 / labels.sizes[labels.rows[order]] / (labels.sizes > 0).sum()
        missed, ascending = np.cumsum(share), values[order]
        place = int(np.searchsorted(missed, most - ROUNDING, side="right"))  # the first that must not be missed
        lowest = ascending[min(place, len(ascending) - 1)]
        self.threshold_ = float(np.nextafter(np.float64(lowest), -np.inf))
        self.risk_ = float(share[ascending < lowest].sum())

    def _keep_precision(self, n: int, entries: "_Entries", most: float, *, rest: float) -> bool:
        """Set the lowest threshold that passes with all above it; False if it may be lower than all entries.

        rest is below all entries, and not below any score that is not among them.
        """
        order = np.argsort(-entries.values, kind="stable")
        counts = np.zeros((2, n), np.int64)
        place, risk = risk_kernels.first_too_risky(
            entries.rows, entries.values, entries.hits, order, max(most - ROUNDING, 0.0), counts[0], counts[1]
        )
        failed = float(entries.values[order[place]]) if place < len(order) else rest
        passed = float(entries.values[order[place - 1]]) if place else failed
        middle = passed / 2 + failed / 2
        self.threshold_ = middle if failed <= middle < passed else failed
        self.risk_ = float(risk)
        return bool(place < len(order))


@dataclass(frozen=True, eq=False)
class _Entries:
    """Scores with their examples, and whether each label is true."""

    rows: npt.NDArray[np.int64]
    values: Floats
    hits: Bools


def largest_mean_risk(n: int, alpha: float, confidence: float | None) -> float | None:
    """Return the largest mean risk of n examples at which a risk of at most alpha may be promised; None if none is.

    Examples
    --------
    >>> round(largest_mean_risk(99, 0.1, None), 4)  # (99 r + 1) / 100 ≤ 0.1
    0.0909
    >>> round(largest_mean_risk(100, 0.1, 0.95), 4)
    0.0355
    >>> largest_mean_risk(5, 0.1, 0.95)
    """
    if confidence is None:
        most = alpha - (1 - alpha) / n if n else -1.0
        return max(most, 0.0) if most >= -EXACT else None
    delta = 1 - confidence
    if not n or (1 - alpha) ** n > delta + EXACT:
        return None
    low, high = 0.0, alpha
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp(-n * _divergence(middle, alpha)) <= delta else (low, middle)
    counts = np.arange(math.ceil(n * alpha) + 1)
    passing = np.flatnonzero(math.e * bdtr(counts, n, alpha) <= delta)
    return max(low, float(passing[-1]) / n if len(passing) else 0.0)


def promised_rules(
    *, level: float = 0.9, confidence: float | None = 0.95, scores: ScoreKind | None = None
) -> dict[str, Rule]:
    """Return the rules that promise something, by the names that ``labelproof tune`` gives them.

    Parameters
    ----------
    level, confidence, scores
        As for `RiskControlled`.

    Examples
    --------
    >>> sorted(promised_rules(level=0.8))
    ['promised precision', 'promised recall']
    """
    return {
        "promised recall": RiskControlled("recall", level, confidence, scores),
        "promised precision": RiskControlled("precision", level, confidence, scores),
    }


def _fewest(alpha: float, confidence: float | None) -> int:
    """Return the least number of examples at which something can be promised."""
    if confidence is None:
        return math.ceil((1 - alpha) / alpha - EXACT)
    return math.ceil(math.log(1 - confidence) / math.log1p(-alpha) - EXACT)


def _divergence(r: float, alpha: float) -> float:
    """Return the Kullback–Leibler divergence of coins with these chances."""
    first = 0.0 if r == 0 else r * math.log(r / alpha)
    return first + (1 - r) * math.log((1 - r) / (1 - alpha))


def _require_inside(name: str, value: Any) -> None:
    require_number(name, value, low=0, high=1, above=True)
    if value == 1:
        raise ValueError(f"{name} must be below 1, got {value!r}")


def _cut_above(scores: Floats, n_wanted: int) -> float:
    """Return a cut above which about so many scores lie, −∞ for all."""
    if 2 * n_wanted >= scores.size:
        return -math.inf
    flat = scores.reshape(-1)
    sample = flat[:: max(1, flat.size // 2**20)]
    return float(np.quantile(sample, 1 - n_wanted / flat.size))


def _above(scores: Floats, labels: Labels, cut: float) -> _Entries:
    counts = np.zeros(len(scores) + 1, np.int64)
    risk_kernels.count_above(scores, cut, counts[1:])
    ends = np.cumsum(counts)
    rows, values, hits = np.empty(ends[-1], np.int64), np.empty(ends[-1], scores.dtype), np.empty(ends[-1], np.bool_)
    risk_kernels.fill_above(scores, cut, labels.indptr, labels.indices, ends, rows, values, hits)
    return _Entries(rows, values, hits)


def _read_stored(y_score: Any) -> scipy.sparse.csr_array:
    """Read sparse scores: finite numbers, each stored once, ascending in each row."""
    stored = scipy.sparse.csr_array(y_score)
    stored.check_format(full_check=True)
    if stored.dtype.kind not in "biuf":
        raise ValueError(f"y_score must be numbers, got a sparse matrix of dtype {stored.dtype}")
    if not (stored.shape[0] and stored.shape[1]):
        raise ValueError(f"y_score must hold at least one example and one label, got shape {stored.shape}")
    if stored.dtype not in (np.float32, np.float64):
        stored = stored.astype(np.float64)
    if not stored.has_canonical_format:
        stored = stored.copy()
        stored.sum_duplicates()
    if not np.isfinite(stored.data).all():
        raise ValueError(f"y_score must be finite, got {stored.data[~np.isfinite(stored.data)][0]}")
    return stored


def _stored_at(stored: scipy.sparse.csr_array, labels: Labels) -> Floats:
    """Return the scores of the true labels, 0 where none is stored."""
    keys, rows = _keys(stored), labels.rows
    wanted = rows * labels.n_labels + labels.indices
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    if not len(keys):
        return np.zeros(len(wanted))
    return np.where(keys[place] == wanted, stored.data[place], 0)


def _above_zero(stored: scipy.sparse.csr_array, labels: Labels) -> _Entries:
    kept = stored.data > 0
    rows = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))[kept]
    keys, true = _keys(stored)[kept], labels.rows * labels.n_labels + labels.indices
    place = np.minimum(np.searchsorted(true, keys), max(len(true) - 1, 0))
    hits = true[place] == keys if len(true) else np.zeros(len(keys), np.bool_)
    return _Entries(rows.astype(np.int64), stored.data[kept], hits)


def _keys(stored: scipy.sparse.csr_array) -> npt.NDArray[np.int64]:
    rows = np.repeat(np.arange(stored.shape[0], dtype=np.int64), np.diff(stored.indptr))
    return rows * stored.shape[1] + stored.indices
