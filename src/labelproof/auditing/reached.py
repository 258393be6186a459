"""The reach of the data's label sets as the document holds it: distances, what is proven of them, and the bar."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.auditing.document import Reach
from labelproof.auditing.groups import rounded_up
from labelproof.auditing.reach import Whitening, find_reach, whiten
from labelproof.auditing.reach_bounds import reach_lowers, share_bounds
from labelproof.auditing.real_inputs import RealInputs
from labelproof.foundation.progress import progress_bar
from labelproof.proof.examples import Examples, read_examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.result import Verification
from labelproof.proof.stretch_bar import ASSUMPTION, CONFIDENCE, bar_rank, bar_value, predicted_sets, statement

__all__ = ["ReachOfData", "reach_of_data"]

Floats = npt.NDArray[np.float64]
LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
SLACK = 1 + 1e-6  # by which distances of predicted sets are enlarged for the bar, more than their error
MOST_NUMBERS = 10**9  # of features that are made dense


@dataclass(frozen=True, eq=False)
class ReachOfData:
    """For each distinct set: its distance, a proven lower bound, a bound on its share; and what is said of all."""

    distances: Floats
    lower: Floats
    share: Floats
    facts: Reach


def reach_of_data(
    v: Verification, real: RealInputs | None, *, alpha: float, n_jobs: int | None = None, progress: bool = False
) -> ReachOfData:
    """Measure the reach of the sets that can be predicted at all; the others have none."""
    if real is None:
        raise ValueError("reach goes with features of real inputs, got none")
    if v.layer.rule != "sigmoid":
        raise ValueError(f"features, for the reach, go with rule='sigmoid' only, got rule={v.layer.rule!r}")
    examples = read_examples(_dense(real.examples), v.layer.d)
    whitening = whiten(examples.features)
    which = np.flatnonzero(v.status == 1)
    distances, lower, share = np.full(len(v), np.nan), np.zeros(len(v)), np.ones(len(v))
    sets = v.label_sets.take(which.tolist())
    with progress_bar("measuring reach", len(which), show=progress) as advance:
        found = find_reach(v.layer, sets, whitening, n_jobs=n_jobs, advance=advance)
    distances[which] = found.distances
    lower[which] = reach_lowers(v.layer, whitening.mean, whitening.spread, sets, found.weighted)
    share[which] = share_bounds(v.layer, examples, sets, found.weighted)
    facts = _facts(whitening, distances)
    if real.held_out is not None:
        held_out = read_examples(_dense(real.held_out), v.layer.d, name="calibration")
        value = _bar(v, held_out, whitening, alpha, n_jobs)
        facts["beyond_bar"] = int((lower > value).sum())
        facts["bar"] = {
            "value": rounded_up(value),
            "alpha": alpha,
            "confidence": CONFIDENCE,
            "n": len(held_out),
            "rank": bar_rank(len(held_out), alpha),
            "sha256": held_out.sha256,
            "statement": statement(alpha),
            "assumption": ASSUMPTION,
        }
    return ReachOfData(distances, lower, share, facts)


def _bar(v: Verification, held_out: Examples, whitening: Whitening, alpha: float, n_jobs: int | None) -> float:
    """Return the bar of the reach: that of the sets predicted for held-out inputs, unknown ones taken as infinite."""
    predicted = predicted_sets(v.layer, held_out)
    numbers: dict[bytes, int] = {}
    places = [numbers.setdefault(active.tobytes(), len(numbers)) for active in predicted]
    first = [places.index(i) for i in range(len(numbers))]
    distinct: LabelSets = predicted.take(first)
    found = find_reach(v.layer, distinct, whitening, n_jobs=n_jobs).distances
    upper = np.where(np.isfinite(found), found * SLACK + 1e-9, np.inf)
    return bar_value(upper[places], alpha)


def _facts(whitening: Whitening, distances: Floats) -> Reach:
    quantiles = np.quantile(whitening.distances, LEVELS)
    farthest = float(whitening.distances.max())
    return {
        "bar": None,
        "beyond_bar": None,
        "examples": len(whitening.distances),
        "quantiles": [[level, float(f"{value:.6g}")] for level, value in zip(LEVELS, quantiles.tolist(), strict=True)],
        "within": int((distances <= farthest).sum()),
        "beyond": int((distances > farthest).sum()),
    }


def _dense(features: Any) -> Any:
    if not scipy.sparse.issparse(features):
        return features
    if features.shape[0] * features.shape[1] > MOST_NUMBERS:
        raise ValueError(f"reach needs features that fit into memory as a dense array, got {features.shape}")
    return features.toarray()
