"""The bar: a stretch beyond which, with 95 % confidence, at most a share α of a model's predictions lie.

Of n inputs drawn like those to come, the bar is the (r + 1)-th largest stretch of the sets that the model predicts for
them, r the largest integer with P(Bin(n, α) ≤ r) ≤ 5 %: had a stretch more than α of all predictions beyond it, more
than r of the n would lie there with a probability over 95 %. r depends on n and α alone, and serves any score.
Trusted code: what is said of all predictions rests on this.
"""

from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from labelproof.errors import CertificateError
from labelproof.proof.examples import Examples, read_examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer

__all__ = [
    "ASSUMPTION",
    "CONFIDENCE",
    "Bar",
    "Measured",
    "bar_rank",
    "bar_value",
    "least_alpha",
    "make_bar",
    "predicted_sets",
    "statement",
]

Floats = npt.NDArray[np.float64]
CONFIDENCE = 0.95
RISK = 0.05 * (1 - 1e-9)  # that this confidence leaves; the binomial is off by less than is taken from it
ASSUMPTION = (
    "It assumes inputs drawn like these, and that model, thresholds, examples, score and α were chosen without them; "
    "each further bar costs another 5 %."
)


def bar_rank(n: int, alpha: float) -> int:
    """Return r, the number of n predictions that may lie beyond the bar.

    Examples
    --------
    >>> bar_rank(299, 0.01), bar_rank(472, 0.01), bar_rank(473, 0.01), bar_rank(1500, 0.01)
    (0, 0, 1, 8)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be a share between 0 and 1, got {alpha}")
    ranks = np.flatnonzero(bdtr(np.arange(n, dtype=np.float64), n, alpha) <= RISK)
    if not len(ranks):
        least = int(np.ceil(np.log(RISK) / np.log1p(-alpha)))
        raise ValueError(
            f"calibration must hold at least {least:,} inputs for alpha={alpha}, got {n:,}: "
            f"with these, alpha can be {least_alpha(n)} or more"
        )
    return int(ranks[-1])


def least_alpha(n: int) -> float:
    """Return the least α for which n inputs give a bar, rounded up to four digits.

    Examples
    --------
    >>> least_alpha(100)
    0.02952
    """
    exact = 1 - RISK ** (1 / n) if n else 1.0
    digits = 3 - int(np.floor(np.log10(exact)))
    return float(min(1.0, round(np.ceil(exact * 10.0**digits * (1 - 1e-12)) / 10.0**digits, digits)))


def bar_value(upper: Floats, alpha: float) -> float:
    """Return the bar, from upper bounds of the stretch of the sets predicted for n inputs."""
    return float(np.sort(upper)[::-1][bar_rank(len(upper), alpha)])


def predicted_sets(layer: OutputLayer, inputs: Examples, *, k: int | None = None) -> LabelSets:
    """Return the set that the layer predicts for each input, in double precision; under the rule topk, k labels."""
    indptr, indices = [np.zeros(1, np.int64)], [np.empty(0, np.int64)]
    end = 0
    for block in inputs.blocks():
        logits = np.asarray(block @ layer.weight.T)
        logits = logits if layer.offset is None else logits + layer.offset
        on = logits > 0 if layer.rule == "sigmoid" else _largest(logits, k)
        rows, labels = np.nonzero(on)
        ends = end + np.cumsum(np.bincount(rows, minlength=len(on)))
        end = int(ends[-1])
        indptr.append(ends)
        indices.append(labels)
    return LabelSets(layer.n_labels, np.concatenate(indptr), np.concatenate(indices).astype(np.int64))


def _largest(logits: Floats, k: int | None) -> npt.NDArray[np.bool_]:
    if k is None or not 1 <= k <= logits.shape[1]:
        raise ValueError(f"k must be given with rule='topk', from 1 to {logits.shape[1]} labels, got {k}")
    on = np.zeros(logits.shape, np.bool_)
    np.put_along_axis(on, np.argsort(-logits, axis=1, kind="stable")[:, :k], True, axis=1)
    return on


def statement(alpha: float) -> str:
    """Return what a bar says.

    Examples
    --------
    >>> statement(0.01)
    "With 95 % confidence, all sets beyond the bar together get at most 1 % of this model's predictions."
    """
    share = f"{100 * alpha:.10g} %"
    return f"With 95 % confidence, all sets beyond the bar together get at most {share} of this model's predictions."


class Measured(Protocol):
    """Label sets with an upper bound each, of a stretch or a reach."""

    @property
    def layer(self) -> OutputLayer:
        """The layer that predicts them."""

    @property
    def label_sets(self) -> LabelSets:
        """The sets."""

    @property
    def upper(self) -> Floats:
        """Their upper bounds."""

    def __len__(self) -> int: ...


M = TypeVar("M", bound=Measured)


@dataclass(frozen=True, eq=False)
class Bar(Generic[M]):
    """A stretch, or a reach, beyond which at most a share of the model's predictions lie, with 95 % confidence.

    Attributes
    ----------
    value
        The bar: the (rank + 1)-th largest upper bound of n predictions.
    alpha, n, rank
        The share, the number of held-out inputs, and how many of their predictions may lie beyond the bar.
    sha256
        Hash of the features of the held-out inputs.
    k
        Number of labels of each prediction, under the rule topk.
    predicted
        The stretch, or the reach, of the sets predicted for these inputs, in their order.
    """

    value: float
    alpha: float
    n: int
    rank: int
    sha256: str
    k: int | None
    predicted: M = field(repr=False)

    @property
    def statement(self) -> str:
        """What the bar says, no more and no less."""
        return statement(self.alpha)

    @property
    def assumption(self) -> str:
        """Under what conditions it says so."""
        return ASSUMPTION

    def check(self, calibration: Any = None) -> None:
        """Raise a CertificateError if the bar does not follow from its predictions, or these not from their inputs."""
        d = self.predicted.layer.d
        fault = self.fault(None if calibration is None else read_examples(calibration, d, name="calibration"))
        if fault is not None:
            raise CertificateError(f"the bar is not proven: {fault}")

    def fault(self, calibration: Examples | None) -> str | None:
        """Return what is wrong with the bar, given the proven stretch of the predictions and perhaps their inputs."""
        if len(self.predicted) != self.n or self.rank != bar_rank(self.n, self.alpha):
            return f"expected bounds of {self.n} predictions and their rank, got {len(self.predicted)}, {self.rank}"
        if self.value != bar_value(self.predicted.upper, self.alpha):
            return f"expected {bar_value(self.predicted.upper, self.alpha)}, got {self.value}"
        if calibration is None:
            return None
        if calibration.sha256 != self.sha256:
            return "expected the inputs that it was made from, got others (the sha256 of their features differs)"
        sets, found = predicted_sets(self.predicted.layer, calibration, k=self.k), self.predicted.label_sets
        if not (np.array_equal(sets.indptr, found.indptr) and np.array_equal(sets.indices, found.indices)):
            return "expected the sets that are predicted for its inputs, got others"
        return None


def make_bar(predicted: M, held_out: Examples, alpha: float, k: int | None = None) -> Bar[M]:
    """Return the bar that the sets predicted for held-out inputs give."""
    n = len(held_out)
    value = bar_value(predicted.upper, alpha)
    return Bar(value, float(alpha), n, bar_rank(n, alpha), held_out.sha256, k, predicted)
