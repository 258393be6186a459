"""The bar: a stretch beyond which, with 95 % confidence, at most a share α of a model's predictions lie.

Of n inputs drawn like those to come, the bar is the (r + 1)-th largest stretch of the sets that the model predicts for
them, r the largest integer with P(Bin(n, α) ≤ r) ≤ 5 %: had a stretch more than α of all predictions beyond it, more
than r of the n would lie there with a probability over 95 %. r depends on n and α alone, and serves any score.
Trusted code: what is said of all predictions rests on this.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from labelproof.proof.examples import Examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer

__all__ = ["ASSUMPTION", "CONFIDENCE", "bar_rank", "bar_value", "least_alpha", "predicted_sets", "statement"]

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
