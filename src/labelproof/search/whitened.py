"""Candidates for top-k sets of few labels: the input that the covariance of the rows suggests, and twins.

With μ the mean and C the covariance of the rows, x = C⁻¹(w_i − μ) ranks label i first for nearly every token of a
vocabulary. For a set S it is the shortest x, in the norm of C, that gives the labels of S the same logit, above that of
μ; labels that it ranks above S are pushed down and the point is computed anew, a few times. All candidates of a block
are one product. A label whose row equals another's can never be first: the two rows are the conflict. Nothing found
here is trusted: `labelproof.proof` proves it, and the search decides the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from labelproof.foundation.threads import in_threads, one_blas_thread
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import FloatRows, float_rows, relative_error, row_exponents, times_power_of_two
from labelproof.proof.witnesses import witness_faults
from labelproof.search.findings import Finding

__all__ = ["Candidates", "decide_by_candidates_first", "whitened_points"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
LARGEST_SET = 32  # of a vocabulary of 30,000 × 384 the candidate wins all random sets of 16, half of 32, none of 64
LEAST_SIZE = 20_000  # numbers of a layer from which on the search takes longer than a candidate
SETS_AT_A_TIME = 128
WORTH_A_SET = 1e8  # multiplications that take as long as the search of one set
LEAST_SHARE = 1e-10  # of the largest variance; directions below are left out, since inputs along them are huge
CLEAR = 1e-4  # lead over the other labels, when the logits of the set are 1, that float32 cannot mistake
ROUNDS = 3  # of pushing down the labels above a set, where the first candidate loses
NEW_RIVALS = 24  # labels that are pushed down in a round
LEVEL = 0.9  # to which, when the logits of the set are 1
BITS = 16  # of a candidate's numbers, where its lead allows

Decide = Callable[[LabelSets], list[Finding]]


def decide_by_candidates_first(
    layer: OutputLayer,
    sets: LabelSets,
    decide: Decide,
    *,
    n_jobs: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
    candidates: "Candidates | None" = None,
) -> list[Finding]:
    """Return proven evidence for every label set: of candidates where they are proofs, else what the search gives.

    Parameters
    ----------
    decide
        The search, for the sets that are left.
    n_jobs, advance
        As in `labelproof.search.engine.decide`.
    candidates
        Where these sets are some of many.
    """
    candidates = candidates or Candidates(layer, len(sets))
    suited = _suited(layer, sets, candidates.n_sets)
    if not len(suited):
        return decide(sets)
    found: list[Finding | None] = [None] * len(sets)
    job = candidates.job
    blocks = [suited[start : start + SETS_AT_A_TIME] for start in range(0, len(suited), SETS_AT_A_TIME)]

    def work(block: Indices) -> list[Finding | None]:
        return _proven_candidates(job, sets.take(block.tolist()))

    for block, answers in zip(blocks, in_threads(work, blocks, n_jobs), strict=True):
        for i, answer in zip(block.tolist(), answers, strict=True):
            found[i] = answer
        advance(sum(answer is not None for answer in answers))
    left = [i for i, answer in enumerate(found) if answer is None]
    for i, answer in zip(left, decide(sets.take(left)), strict=True):
        found[i] = answer
    return [answer for answer in found if answer is not None]


def whitened_points(layer: OutputLayer, sets: LabelSets) -> Floats:
    """Return the first candidate (n_sets, d) of each set, none of them empty, whether it wins or not."""
    with one_blas_thread():
        job = _prepare(layer)
        blocks = [sets.slice(i, min(i + SETS_AT_A_TIME, len(sets))) for i in range(0, len(sets), SETS_AT_A_TIME)]
        return np.concatenate([np.empty((0, layer.d)), *(_points(job, block, 0)[0] for block in blocks)])


@dataclass(frozen=True, eq=False)
class Candidates:
    """What candidates need of a layer, computed once for all of ``n_sets`` label sets, whatever blocks they come in."""

    layer: OutputLayer
    n_sets: int

    @cached_property
    def job(self) -> "_Job":
        """The covariance of the rows, and the rest."""
        with one_blas_thread():
            return _prepare(self.layer)


def _suited(layer: OutputLayer, sets: LabelSets, n_sets: int) -> Indices:
    """Return the places of sets that a candidate may win, or nothing where they do not pay for the covariance."""
    none = np.empty(0, np.int64)
    is_free = layer.low is None and layer.high is None
    if layer.rule != "topk" or not is_free or layer.sparse is not None or layer.weight.size < LEAST_SIZE:
        return none
    sizes = np.diff(sets.indptr)
    suited = np.flatnonzero((sizes >= 1) & (sizes <= LARGEST_SET) & (sizes < layer.n_labels))
    cost = (2 * layer.n_labels + 10 * layer.d) * float(layer.d) ** 2
    return suited if cost * len(sets) < WORTH_A_SET * len(suited) * n_sets else none


@dataclass(frozen=True, eq=False)
class _Job:
    """A layer as candidates need it.

    ``rows`` (n_labels, rank) are the rows in coordinates in which they have mean 0 and covariance 1, and ``back``
    (rank, d) leads from there to the layer's inputs; ``twin`` is the first label with the same row and offset.
    """

    layer: OutputLayer
    floats: FloatRows
    rows: npt.NDArray[np.float32]
    back: Floats
    exponent: int
    spread: float
    twin: Indices


def _prepare(layer: OutputLayer) -> _Job:
    exponent = int(row_exponents(layer.weight).max())
    scaled = times_power_of_two(layer.weight, np.array(-exponent))
    centred = scaled - scaled.mean(axis=0)
    variances, directions = eigh(centred.T @ centred / len(scaled))
    kept = variances > LEAST_SHARE * variances[-1]
    back = (directions[:, kept] / np.sqrt(variances[kept])).T
    rows = (centred @ back.T).astype(np.float32)
    spread = 0.0 if layer.offset is None else float(np.ptp(layer.offset))
    return _Job(layer, float_rows(layer), rows, back, exponent, spread, _twins(layer))


def _twins(layer: OutputLayer) -> Indices:
    """Return for each label another one with the same row, offset included, or -1."""
    rows = layer.weight
    if layer.offset is not None and layer.offset_error is not None:
        rows = np.column_stack([rows, layer.offset, layer.offset_error])
    rows = np.ascontiguousarray(rows + 0.0)  # -0.0 is 0.0
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    twin = first[back].astype(np.int64)
    own = twin == np.arange(len(rows))
    last = np.full(len(first), -1, np.int64)
    last[back[~own]] = np.flatnonzero(~own)
    twin[own] = last[back[own]]
    return twin


def _proven_candidates(job: _Job, sets: LabelSets) -> list[Finding | None]:
    """Return a proof for each set of a block whose candidate is one."""
    found: list[Finding | None] = [None] * len(sets)
    twins = job.twin[sets.indices[sets.indptr[:-1]]]
    with_twin = np.flatnonzero((twins >= 0) & (np.diff(sets.indptr) == 1)).tolist()
    conflicts = [np.sort(np.array([sets[i][0], twins[i]])) for i in with_twin]
    for i, rows, fault in zip(
        with_twin, conflicts, conflict_faults(job.layer, sets.take(with_twin), conflicts), strict=True
    ):
        found[i] = Finding(conflict=rows) if fault is None else None
    open_sets = [i for i, answer in enumerate(found) if answer is None]
    points, clear = _points(job, sets.take(open_sets), ROUNDS)
    likely = [i for i, ok in zip(open_sets, clear, strict=True) if ok]
    witnesses = list(points[clear])
    for i, x, fault in zip(
        likely, witnesses, witness_faults(job.layer, job.floats, sets.take(likely), witnesses), strict=True
    ):
        found[i] = Finding(point=x) if fault is None else None
    return found


def _rounded(points: Floats) -> Floats:
    """Return the nearest numbers of few bits, which take less space on disk."""
    parts, exponents = np.frexp(points)
    return np.ldexp(np.rint(np.ldexp(parts, BITS)), exponents - BITS)


def _points(job: _Job, sets: LabelSets, rounds: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return a candidate (n_sets, d) for each set, and whether it clearly ranks the set first."""
    short = np.array([_shortest(job, active, np.empty(0, np.int64))[0] for active in sets])
    short = short.reshape(len(sets), job.rows.shape[1])
    lead = np.empty(len(sets))
    left = np.arange(len(sets))
    rivals = [np.empty(0, np.int64)] * len(sets)
    for last in (False,) * rounds + (True,):
        logits = short[left].astype(np.float32) @ job.rows.T  # (n_left, n_labels)
        for i, z in zip(left.tolist(), logits, strict=True):
            least = z[sets[i]].min()
            z[sets[i]] = -np.inf
            lead[i] = least - z.max()
            if lead[i] <= CLEAR and not last:
                short[i], rivals[i] = _pushed_down(job, sets[i], rivals[i], z)
        left = left[lead[left] <= CLEAR]
        if not len(left):
            break
    points = short @ job.back
    norms = np.linalg.norm(points, axis=1)
    clear = (lead > CLEAR) & (lead > 8 * relative_error(job.layer.d + 2) * norms)
    roomy = lead > 8 * 2.0**-BITS * norms  # rows have norms of at most 1
    points[roomy] = _rounded(points[roomy])
    if job.spread:
        with np.errstate(all="ignore"):  # what overflows is no witness, and `proof` says so
            times = np.frexp(2 * job.spread / np.where(clear, lead, 1.0))[1] - job.exponent
            points = np.ldexp(points, np.maximum(times, 0)[:, None])
    return points, clear


def _pushed_down(
    job: _Job, active: Indices, rivals: Indices, logits: npt.NDArray[np.float32]
) -> tuple[Floats, Indices]:
    """Return the shortest input that keeps the highest of the other labels down to a level, and which these are."""
    new = np.argpartition(-logits, min(NEW_RIVALS, len(logits) - 1))[:NEW_RIVALS]
    rivals = np.union1d(rivals, new[logits[new] > LEVEL])
    point, pulls = _shortest(job, active, rivals)
    if (pulls > 0).any():  # these would stay below by themselves
        rivals = rivals[pulls <= 0]
        point, _ = _shortest(job, active, rivals)
    return point, rivals


def _shortest(job: _Job, active: Indices, rivals: Indices) -> tuple[Floats, Floats]:
    """Return the shortest point with the logit 1 for active labels and `LEVEL` for rivals, whose multipliers follow."""
    rows = job.rows[np.concatenate([active, rivals])].astype(np.float64)
    wanted = np.where(np.arange(len(rows)) < len(active), 1.0, LEVEL)
    products = rows @ rows.T
    ridge = 1e-9 * np.trace(products) + 1e-300
    multipliers = np.linalg.solve(products + ridge * np.eye(len(rows)), wanted)
    return multipliers @ rows, multipliers[len(active) :]
