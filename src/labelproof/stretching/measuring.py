"""The front door: check the arguments, measure the bar, measure the sets, pack the evidence."""

import os
from numbers import Real
from typing import Any

import numpy as np

from labelproof.foundation.engines import Engine, require_engine, require_threads
from labelproof.foundation.progress import progress_bar
from labelproof.proof.examples import Examples, each_row, read_examples
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.regions import OutputLayer, Rule, Ties, make_layer
from labelproof.proof.stretch_bar import bar_rank, make_bar, predicted_sets
from labelproof.proof.stretch_bounds import StretchBounds
from labelproof.proof.stretch_result import Stretch
from labelproof.stretching.measuring_in_parts import find_in_parts
from labelproof.stretching.packing import pack
from labelproof.stretching.search import SLACKS, Asked

__all__ = ["each_once", "measure", "read_held_out", "require_variety", "stretch"]


def stretch(
    weight: Any,
    labels: Any,
    features: Any,
    *,
    bias: Any = None,
    thresholds: Any = None,
    rule: Rule = "sigmoid",
    ties: Ties = "open",
    k: int | None = None,
    calibration: Any = None,
    alpha: float = 0.01,
    tolerance: float = 0.005,
    n_jobs: int | None = None,
    engine: Engine = "local",
    keep: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Stretch:
    """Measure how far beyond all mixtures of known inputs a model must go to predict each label set, with a proof.

    With the features f_j of examples and their mean c, the stretch of a set is the least Σ λ_j, λ ≥ 0, such that the
    set is predicted at c + Σ λ_j (f_j − c): up to 1, some mixture of the examples is predicted as the set; 1.6: one has
    to go 1.6 times as far from the mean as any mixture; infinite: no inflation of the examples ever gives it.

    Parameters
    ----------
    weight, bias, thresholds, ties
        As for `verify`.
    labels
        Label sets, as for `verify`.
    features
        What the output layer reads for real examples: array (n_examples, d), perhaps mapped from a file, or scipy
        sparse matrix.
    rule
        "sigmoid" or "topk", as for `verify`.
    k
        Number of labels that the rule topk gives, for ``calibration``.
    calibration
        Features of inputs that the model was neither trained nor tuned on, and that are not among ``features``: gives
        the bar.
    alpha
        The share of predictions that may lie beyond the bar.
    tolerance
        How close the bounds of a set are brought, as a share of the upper one.
    n_jobs, engine, progress
        As for `verify`; sets are measured in parts of a thousand, and neither threads nor engine change a bit of the
        result.
    keep
        A folder for the parts that are done: the same call, made again after it was killed, goes on from there. It is
        made if it is not there, and stays; delete it when you have what you want.

    Returns
    -------
    Stretch
        ``lower`` and ``upper``, both proven; ``bar`` and ``beyond``; the evidence of each set by index.

    Examples
    --------
    Two labels on one feature that exclude each other, and examples at -1 and 1:

    >>> s = stretch([[1.0], [-1.0]], [[0], [], [0, 1]], [[-1.0], [1.0]], bias=[-1.5, 0.5])
    >>> s.upper.round(2)
    array([1.5, 0.5, inf])
    >>> s[2].conflict
    (0, 1)
    >>> s.check()
    """
    if not (isinstance(tolerance, Real) and 0 < tolerance < 1):
        raise ValueError(f"tolerance must be a number between 0 and 1, got {tolerance}")
    require_engine(engine)
    require_threads(n_jobs)
    layer = make_layer(weight, bias=bias, thresholds=thresholds, rule=rule, ties=ties)
    sets = read_label_sets(labels, layer.n_labels)
    examples = read_examples(features, layer.d)
    how: dict[str, Any] = {"n_jobs": n_jobs, "engine": engine, "keep": keep, "progress": progress}
    asked: dict[str, Any] = {"calibration": calibration, "k": k, "alpha": alpha, "tolerance": float(tolerance)}
    return measure(layer, sets, examples, **asked, **how)


def measure(
    layer: OutputLayer,
    sets: LabelSets,
    examples: Examples,
    *,
    calibration: Any = None,
    k: int | None = None,
    alpha: float = 0.01,
    tolerance: float = 0.005,
    n_jobs: int | None = None,
    engine: Engine = "local",
    keep: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Stretch:
    """Measure the stretch for a layer that is held already; see `stretch`."""
    bounds = StretchBounds(layer, examples, slacks=SLACKS)
    _require_some_label(layer, examples)
    held_out = None if calibration is None else read_held_out(calibration, examples, alpha)
    predicted = None if held_out is None else predicted_sets(layer, held_out, k=k)
    distinct, places = each_once(sets, predicted)
    with progress_bar("measuring", len(distinct), show=progress) as advance:
        how: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "keep": keep, "advance": advance}
        found = find_in_parts(Asked(bounds, tolerance), distinct, **how)
    evidence = [found[place] for place in places]
    bar = None
    if held_out is not None and predicted is not None:
        of_predictions = pack(layer, predicted, examples, evidence[len(sets) :])
        bar = make_bar(of_predictions, held_out, alpha, k if layer.rule == "topk" else None)
    return pack(layer, sets, examples, evidence[: len(sets)], bar)


def _require_some_label(layer: OutputLayer, examples: Examples) -> None:
    """Refuse features that cannot be what the layer reads, since no example switches on any label."""
    if layer.rule != "sigmoid":
        return
    for block in examples.blocks():
        logits = np.asarray(block @ layer.weight.T)
        if (logits > (0 if layer.offset is None else -layer.offset)).any():
            return
    raise ValueError(
        f"features must be what the output layer reads, got {len(examples):,} examples none of which switches on any "
        "label: is a transform between encoder and output layer missing, or a bias or threshold?"
    )


def require_variety(examples: Examples) -> None:
    """Refuse examples that are all alike: every set that is not predicted for them would be infinitely far."""
    if examples.constant.all():
        raise ValueError(f"features must be of two examples or more that differ, got {len(examples):,} all alike")


def read_held_out(calibration: Any, examples: Examples, alpha: float) -> Examples:
    """Hold the inputs of a bar, which must be enough for its share, and none of them an example."""
    held_out = read_examples(calibration, examples.d, name="calibration")
    bar_rank(len(held_out), alpha)  # says if there are too few
    known = {row.tobytes() for row in each_row(examples)}
    again = [i for i, row in enumerate(each_row(held_out)) if row.tobytes() in known]
    if again:
        raise ValueError(
            f"calibration must hold inputs that are not in features, got {len(again):,} that are, "
            f"the first in row {again[0]}"
        )
    return held_out


def each_once(sets: LabelSets, others: LabelSets | None) -> tuple[LabelSets, list[int]]:
    """Return each set of two lists once, and the place of every one among them."""
    every = [active for some in (sets, others) if some is not None for active in some]
    numbers: dict[bytes, int] = {}
    places = [numbers.setdefault(active.tobytes(), len(numbers)) for active in every]
    first = dict(zip(reversed(places), reversed(range(len(every))), strict=True))
    lengths = [len(every[first[place]]) for place in range(len(numbers))]
    flat = [every[first[place]] for place in range(len(numbers))]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return LabelSets(sets.n_labels, indptr, np.concatenate([np.empty(0, np.int64), *flat])), places
