"""The front door of the audit: find the layer, verify and measure what was asked, and hand over what came out."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labelproof.auditing.assumptions import AS_FOUND, Assumptions, assume, hold_narrow
from labelproof.auditing.document import Group
from labelproof.auditing.feature_cache import FeatureCache
from labelproof.auditing.groups import group_of
from labelproof.auditing.inside import bounds_only, refuse_outside
from labelproof.auditing.label_sets import combinations_of_labels, distinct_sets
from labelproof.auditing.low_precision import DTYPES, survives_rounding
from labelproof.auditing.names import Required, align, read_requirements
from labelproof.auditing.names_by_agreement import names_by_agreement
from labelproof.auditing.outside import put_outside
from labelproof.auditing.reached import reach_of_data
from labelproof.auditing.real_inputs import (
    MOST_EXAMPLES,
    RealInputs,
    choose_rows,
    compute,
    given,
    raw_inputs,
    training_rows,
    with_held_out,
)
from labelproof.auditing.result import Audit
from labelproof.auditing.stretched import Judged, stretch_of_data
from labelproof.auditing.writing import Asked, Findings, write_document
from labelproof.data.dataset import Dataset
from labelproof.foundation.arguments import check_choice, check_share
from labelproof.foundation.engines import Engine, require_engine
from labelproof.importers import ImportedLayer, layer_of
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.result import Verification
from labelproof.search.verifier import verify

__all__ = ["audit"]


def audit(
    model: Any,
    labels: Any,
    *,
    part: str | None = None,
    label_names: Sequence[str] | None = None,
    drop_unknown: bool = False,
    weight_key: str | None = None,
    rule: Any = AS_FOUND,
    thresholds: Any = AS_FOUND,
    ties: Literal["open", "inactive"] = "inactive",
    domain: Any = AS_FOUND,
    radius: bool = False,
    box: float = 1e4,
    features: Any = None,
    calibration: Any = None,
    alpha: float = 0.01,
    run: bool = True,
    most_inputs: int = MOST_EXAMPLES,
    cache: FeatureCache | None = None,
    reach: bool = False,
    required: Any = None,
    predicted: Any = None,
    pairs: int = 0,
    triples: int = 0,
    serving_dtype: str | None = None,
    n_explained: int = 20,
    fail_under: float | None = None,
    data_name: str = "the data",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: Engine = "local",
    keep: str | os.PathLike[str] | None = None,
    time_limit: float | None = 60.0,
    progress: bool = False,
) -> Audit:
    """Find out, with proof, which label sets of the data a trained model can never predict, and what that means.

    Parameters
    ----------
    model
        What `labelproof.importers.layer_of` reads: the path of a saved model, a torch module, a scikit-learn estimator,
        a `labelproof.models.Model`, an array of weights (n_labels, d), or the `ImportedLayer` that
        `labelproof.importers.read_layer` gives.
    labels
        A `labelproof.Dataset`, whose labels are matched by name where the model names its own, label sets as for
        `labelproof.verify`, or the path or name of either, as for `labelproof.data.read_label_file`.
    part
        Of a data set: judge the label sets of this part only.
    label_names
        One for each label, where the model has none or other ones.
    drop_unknown
        Count label sets with labels that the model does not know as never predictable, and name these labels; by
        default they are an error, unless the data have all labels of the model beside them.
    weight_key
        Which parameter is the output layer, where a model leaves that open.
    rule, thresholds, domain
        As for `labelproof.verify`; by default what the model tells of itself, else sigmoid, ½ and every input.
    ties
        As for `labelproof.verify`; the default is what ``logits > 0`` computes.
    radius, box
        Also measure the radius of each set's region; see `labelproof.verify`.
    features
        What the output layer reads for real inputs, (n, d), dense or sparse: also measure the *stretch* of each set,
        see `labelproof.stretch`, the pairs of labels that no mixture of these inputs combines, and dead labels.
    calibration
        The same of inputs that the model was neither trained nor tuned on, and that are not in ``features``: for the
        bar. Where the model is run, a data set of such inputs, in place of a part of ``labels``.
    alpha
        The share of predictions that may lie beyond the bar.
    run
        Where ``labels`` is a data set with inputs that the model can read here, and no features are given: run the
        model to get features; False where real inputs are no question. Examples are those of the training part, where
        there is one, and other parts are for the bar; else a random half of the data is for the bar.
    most_inputs
        How many examples are run at most.
    cache
        Where an earlier audit kept features.
    reach
        Also measure how far from the mean of ``features`` each set begins, in units of their spread.
    required
        Label sets that must be predictable: a mapping from names to sets of label names or indices, or label sets.
    predicted
        The model's own predictions on some data, as label sets: how varied are they?
    pairs, triples
        How many pairs and triples of labels to verify; all where there are no more, else a random sample. 0: none.
    serving_dtype
        "float64", "float32", "bfloat16" or "float16": which sets survive in these numbers. Default: as stored.
    n_explained
        How many of the most frequent unpredictable sets to explain, about half a second each.
    fail_under
        The least share of the data's distinct sets that must be proven argmaxable.
    data_name
        What to call the data.
    seed
        Of random samples.
    n_jobs, time_limit, progress
        As for `labelproof.verify`; the time limit, in seconds, is for one label set, 60 also on the command line.
    engine
        Where label sets are verified, measured and explained, as for `labelproof.verify`; the rest is done here.
    keep
        A folder for verdicts and stretches as they are found, from which the same call goes on; see `labelproof.verify`
        and `labelproof.stretch`.

    Returns
    -------
    Audit

    Examples
    --------
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> found = audit(weight, [[0], [0, 1], [0, 1, 2], [0, 1, 2]], label_names=["cat", "dog", "fish"])
    >>> found.document["headline"].split(". ")[0]
    '1 of 3 distinct label sets can never be predicted, whatever the input'
    >>> found.document["explained"][0]["sentences"][1]
    'No input can switch on cat, dog and fish: these 3 decisions contradict each other.'
    """
    start = time.perf_counter()
    require_engine(engine)
    if min(pairs, triples, n_explained) < 0:
        raise ValueError(f"pairs, triples and n_explained must not be negative, got {pairs}, {triples}, {n_explained}")
    if fail_under is not None:
        check_share("fail_under", fail_under)
    if serving_dtype is not None:
        check_choice("serving_dtype", serving_dtype, DTYPES)
    found = _named_layer(model, labels, label_names, weight_key, run)
    whole = align(found, labels, label_names, part=part, apart=drop_unknown or None)
    if not len(whole.sets) and not whole.apart:
        raise ValueError("labels must hold at least one label set, got none")
    must_have = None if required is None else read_requirements(required, whole.names)
    assumed = assume(found, rule=rule, thresholds=thresholds, domain=domain)
    is_free = isinstance(domain, str) and domain == AS_FOUND
    if radius and is_free:
        assumed = bounds_only(assumed, found.n_features)
    aligned, outside = put_outside(whole, assumed.size)
    chosen = {"alpha": alpha, "most": most_inputs, "seed": seed}
    if features is not None:
        real: RealInputs | None = given(features, calibration)
    else:
        real = _run_model(found, labels, calibration, part, data_name, chosen, cache, progress) if run else None
    if real is None and calibration is not None:
        raise ValueError("calibration goes with features, or with a data set that the model is run on, got it alone")
    narrow: list[int] = []
    if real is not None and is_free:
        assumed, narrow = hold_narrow(assumed, real, found.n_features)
    if real is not None:
        refuse_outside(assumed.domain, found.n_features, real.examples)
    options = {"ties": ties, "radius": radius, "box": box, "n_jobs": n_jobs, "time_limit": time_limit}
    verifier = _Verifier(found, assumed, {**options, "engine": engine, "keep": keep, "progress": progress})
    judged = Judged(*distinct_sets(aligned.sets), aligned.sets, aligned.rows, aligned.names)
    v = verifier.verify(judged.distinct)
    how: dict[str, Any] = {"alpha": alpha, "n_jobs": n_jobs, "progress": progress}
    stretched = None
    if real is not None and v.layer.rule != "sparsemax":
        where: dict[str, Any] = {"engine": engine, "keep": keep}
        stretched = stretch_of_data(v.layer.dense(), judged, real, k=assumed.size, narrow=narrow, **where, **how)
    reached = reach_of_data(v, real, **how) if reach else None
    dtype = serving_dtype or (found.dtype if found.dtype in DTYPES else "float32")
    survives = None if v.layer.rule == "sparsemax" else survives_rounding(v, dtype)
    further = list(_further_groups(verifier, pairs, triples, predicted, must_have, seed))
    findings = Findings(
        *(found, assumed.domain_reason, len(narrow), whole, outside, judged, v, real, stretched, reached),
        *(dtype, survives, [group for group, _ in further]),
    )
    asked = Asked(data_name, fail_under, n_explained, run, n_jobs, seed, progress, engine)
    return Audit(
        replace(found, label_names=aligned.names if aligned.is_named else None),
        {"data": v, **{group["name"]: verification for group, verification in further}},
        write_document(findings, asked, start=start),
        None if stretched is None else stretched.stretch,
        None if stretched is None else stretched.pairs,
        None if reached is None else reached.proven,
        real,
        None if cache is None else cache.model,
    )


def _named_layer(
    model: Any, labels: Any, label_names: Sequence[str] | None, key: str | None, run: bool
) -> ImportedLayer:
    """Find the output layer, and names of its labels where it has none and its predictions agree with the data's."""
    found = model if isinstance(model, ImportedLayer) else layer_of(model, weight_key=key)
    agreed = names_by_agreement(found, labels) if isinstance(labels, Dataset) and label_names is None and run else None
    if agreed is None:
        return found
    return replace(found, label_names=agreed[0], notes=(*found.notes, agreed[1]))


def _run_model(
    found: ImportedLayer,
    labels: Any,
    calibration: Any,
    part: str | None,
    name: str,
    chosen: dict[str, Any],
    cache: FeatureCache | None,
    progress: bool,
) -> RealInputs | None:
    """Have the model compute features of the data's inputs, where it can."""
    inputs = raw_inputs(found, labels) if isinstance(labels, Dataset) else None
    if inputs is None:
        return None
    texts = inputs if found.reads == "text" else None
    if calibration is None:
        rows = choose_rows(labels, part, name, **chosen)
    else:
        more = raw_inputs(found, calibration) if isinstance(calibration, Dataset) else None
        if more is None:
            raise ValueError("calibration must be a data set that the model is run on, as labels is, got another")
        inputs, rows = with_held_out(inputs, more, labels, part, name, **chosen)
    real = compute(found, inputs, rows, alpha=chosen["alpha"], texts=texts, cache=cache, progress=progress)
    return replace(real, training=training_rows(labels))


@dataclass(frozen=True, eq=False)
class _Verifier:
    """Verifies label sets of one layer, always under the same assumptions."""

    found: ImportedLayer
    assumed: Assumptions
    options: dict[str, Any]

    def verify(self, sets: LabelSets) -> Verification:
        """Decide label sets, with proofs."""
        return verify(
            self.found.weight,
            sets,
            bias=self.found.bias,
            thresholds=self.assumed.thresholds,
            rule=self.assumed.rule,
            domain=self.assumed.domain,
            **self.options,
        )


def _further_groups(
    verifier: _Verifier, pairs: int, triples: int, predicted: Any, must_have: Required | None, seed: int
) -> Iterator[tuple[Group, Verification]]:
    """Verify the label sets that were asked about besides those of the data."""
    n_labels = verifier.found.n_labels
    for size, most, name in ((2, pairs, "pairs"), (3, triples, "triples")):
        if most:
            sample, population = combinations_of_labels(n_labels, size, most, seed)
            v = verifier.verify(sample)
            is_sample = population > len(v)
            title = f"{'A random sample of' if is_sample else 'All'} {name} of labels"
            yield group_of(name, title, v, _no_counts(v), population=population if is_sample else None), v
    if predicted is not None:
        theirs, counts = distinct_sets(read_label_sets(predicted, n_labels))
        v = verifier.verify(theirs)
        yield group_of("predicted", "The model's own predictions", v, counts), v
    if must_have is not None:
        v = verifier.verify(must_have.sets)
        yield group_of("required", "Required", v, _no_counts(v), names=must_have.names), v


def _no_counts(v: Verification) -> npt.NDArray[np.int64]:
    return np.zeros(len(v), np.int64)
