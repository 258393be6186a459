"""The reach of the data's label sets as the document holds it: distances, what is proven of them, and the bar."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.auditing.document import CHECK_REACH, Reach
from labelproof.auditing.groups import told_bar
from labelproof.auditing.real_inputs import RealInputs
from labelproof.auditing.request import Work
from labelproof.proof import reach_result
from labelproof.proof.examples import read_examples
from labelproof.proof.result import Verification
from labelproof.stretching.reach import Whitening, measure_reach

__all__ = ["ReachOfData", "reach_of_data"]

Floats = npt.NDArray[np.float64]
LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
MOST_NUMBERS = 10**9  # of features that are made dense


@dataclass(frozen=True, eq=False)
class ReachOfData:
    """For each distinct set: its distance, a proven lower bound, a bound on its share; and what is said of all."""

    distances: Floats
    lower: Floats
    share: Floats
    facts: Reach
    proven: reach_result.Reach  # of the sets that can be predicted at all


def reach_of_data(v: Verification, real: RealInputs | None, *, alpha: float, work: Work) -> ReachOfData:
    """Measure the reach of the sets that can be predicted at all; the others have none."""
    if real is None:
        raise ValueError("reach goes with features of real inputs, got none")
    if v.layer.rule != "sigmoid":
        raise ValueError(f"features, for the reach, go with rule='sigmoid' only, got rule={v.layer.rule!r}")
    plain = replace(v.layer.dense(), low=None, high=None, balls=())
    examples = read_examples(_dense(real.examples), v.layer.d)
    held_out = None if real.held_out is None else _dense(real.held_out)
    which = np.flatnonzero(v.status == 1)
    how: dict[str, Any] = {"alpha": alpha, "n_jobs": work.n_jobs, "progress": work.progress}
    found, whitening = measure_reach(plain, v.label_sets.take(which.tolist()), examples, calibration=held_out, **how)
    distances, lower, share = np.full(len(v), np.nan), np.zeros(len(v)), np.ones(len(v))
    distances[which], lower[which], share[which] = found.upper, found.lower, found.share
    facts = _facts(whitening, found, real)
    if found.bar is not None:
        facts["beyond_bar"], facts["bar"] = int(found.beyond.sum()), told_bar(found.bar)
    return ReachOfData(distances, lower, share, facts, found)


def _facts(whitening: Whitening, found: reach_result.Reach, real: RealInputs) -> Reach:
    quantiles = np.quantile(whitening.distances, LEVELS)
    farthest = float(whitening.distances.max())
    return {
        "bar": None,
        "beyond_bar": None,
        "examples": len(whitening.distances),
        "quantiles": [[level, float(f"{value:.6g}")] for level, value in zip(LEVELS, quantiles.tolist(), strict=True)],
        "within": int((found.upper <= farthest).sum()),
        "beyond": int((found.lower > farthest).sum()),
        "check_command": real.proven_by(CHECK_REACH),
    }


def _dense(features: Any) -> Any:
    if not scipy.sparse.issparse(features):
        return features
    if features.shape[0] * features.shape[1] > MOST_NUMBERS:
        raise ValueError(f"reach needs features that fit into memory as a dense array, got {features.shape}")
    return features.toarray()
