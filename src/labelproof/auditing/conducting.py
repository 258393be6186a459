"""Conduct an audit: find the layer, verify and measure what was asked, and hand over what came out."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.auditing.alignment import Required, align, read_requirements
from labelproof.auditing.audit_result import Audit
from labelproof.auditing.document import Group
from labelproof.auditing.document_writing import Findings, write_document
from labelproof.auditing.groups import group_of
from labelproof.auditing.inside import bounds_only, refuse_outside
from labelproof.auditing.label_sets import combinations_of_labels, distinct_sets
from labelproof.auditing.low_precision import DTYPES, survives_rounding
from labelproof.auditing.names_by_agreement import names_by_agreement
from labelproof.auditing.outside import put_outside
from labelproof.auditing.reached import reach_of_data
from labelproof.auditing.real_inputs import (
    RealInputs,
    choose_rows,
    compute,
    given,
    raw_inputs,
    training_rows,
    with_held_out,
)
from labelproof.auditing.request import Questions, Request, Subject, Verifier
from labelproof.auditing.steady_features import hold_steady
from labelproof.auditing.stretched import Judged, Stretched, stretch_of_data
from labelproof.data.dataset import Dataset
from labelproof.importers import ImportedLayer, layer_of
from labelproof.importers.assumptions import assume
from labelproof.proof.labels import read_label_sets
from labelproof.proof.result import Verification

__all__ = ["conduct"]


def conduct(model: Any, labels: Any, asked: Request) -> Audit:
    """Answer all that is asked about a model and label sets; `labelproof.audit` says what these are."""
    start = time.perf_counter()
    asked.check()
    subject, questions = asked.subject, asked.questions
    found = _named_layer(model, labels, subject, is_run=asked.inputs.run)
    whole = align(found, labels, subject.label_names, part=subject.part, apart=subject.drop_unknown or None)
    if not len(whole.sets) and not whole.apart:
        raise ValueError("labels must hold at least one label set, got none")
    must_have = None if questions.required is None else read_requirements(questions.required, whole.names)
    assumed = assume(found, asked.reading)
    if questions.radius and asked.reading.is_domain_found:
        assumed = bounds_only(assumed, found.n_features)
    aligned, outside = put_outside(whole, assumed.size)
    real = _real_inputs(found, labels, asked)
    steady: list[int] = []
    if real is not None and asked.reading.is_domain_found:
        assumed, steady = hold_steady(assumed, real, found.n_features)
    if real is not None:
        refuse_outside(assumed.domain, found.n_features, real.examples)
    judged = Judged(*distinct_sets(aligned.sets), aligned.sets, aligned.rows, aligned.names)
    verifier = Verifier.of(found, assumed, asked)
    v = verifier.verify(judged.distinct)
    stretched = _stretched(v, judged, real, asked, size=assumed.size, steady=steady)
    reached = reach_of_data(v, real, alpha=asked.inputs.alpha, work=asked.work) if questions.reach else None
    dtype = questions.serving_dtype or (found.dtype if found.dtype in DTYPES else "float32")
    survives = None if v.layer.rule == "sparsemax" else survives_rounding(v, dtype)
    further = list(_further_groups(verifier, found.n_labels, questions, must_have))
    findings = Findings(
        layer=found,
        domain_reason=assumed.domain_reason,
        steady=len(steady),
        whole=whole,
        outside=outside,
        judged=judged,
        verification=v,
        real=real,
        stretched=stretched,
        reached=reached,
        dtype=dtype,
        survives=survives,
        further=[group for group, _ in further],
    )
    return Audit(
        layer=replace(found, label_names=aligned.names if aligned.is_named else None),
        verifications={"data": v, **{group["name"]: verification for group, verification in further}},
        document=write_document(findings, asked, start=start),
        stretch=None if stretched is None else stretched.stretch,
        pairs=None if stretched is None else stretched.pairs,
        reach=None if reached is None else reached.proven,
        inputs=real,
        model_key=None if asked.inputs.cache is None else asked.inputs.cache.model,
    )


def _named_layer(model: Any, labels: Any, subject: Subject, *, is_run: bool) -> ImportedLayer:
    """Find the output layer, and names of its labels where it has none and its predictions agree with the data's."""
    found = model if isinstance(model, ImportedLayer) else layer_of(model, weight_key=subject.weight_key)
    unnamed = isinstance(labels, Dataset) and subject.label_names is None
    agreed = names_by_agreement(found, labels) if unnamed and is_run else None
    if agreed is None:
        return found
    return replace(found, label_names=agreed[0], notes=(*found.notes, agreed[1]))


def _real_inputs(found: ImportedLayer, labels: Any, asked: Request) -> RealInputs | None:
    """Return features of real inputs that were given, or else those that the model computes, where it can."""
    inputs, real = asked.inputs, None
    if inputs.features is not None:
        return given(inputs.features, inputs.calibration)
    if inputs.run:
        real = _run_model(found, labels, asked)
    if real is None and inputs.calibration is not None:
        raise ValueError("calibration goes with features, or with a data set that the model is run on, got it alone")
    return real


def _run_model(found: ImportedLayer, labels: Any, asked: Request) -> RealInputs | None:
    """Have the model compute features of the data's inputs, where it can."""
    inputs = raw_inputs(found, labels) if isinstance(labels, Dataset) else None
    if inputs is None:
        return None
    part, name, calibration = asked.subject.part, asked.subject.data_name, asked.inputs.calibration
    alpha, work = asked.inputs.alpha, asked.work
    chosen: dict[str, Any] = {"alpha": alpha, "most": asked.inputs.most_inputs, "seed": work.seed}
    texts = inputs if found.reads == "text" else None
    if calibration is None:
        rows = choose_rows(labels, part, name, **chosen)
    else:
        more = raw_inputs(found, calibration) if isinstance(calibration, Dataset) else None
        if more is None:
            raise ValueError("calibration must be a data set that the model is run on, as labels is, got another")
        inputs, rows = with_held_out(inputs, more, labels, part, name, **chosen)
    real = compute(found, inputs, rows, alpha=alpha, texts=texts, cache=asked.inputs.cache, progress=work.progress)
    return replace(real, training=training_rows(labels))


def _stretched(
    v: Verification, judged: Judged, real: RealInputs | None, asked: Request, *, size: int | None, steady: list[int]
) -> Stretched | None:
    """Measure the stretch where there are real inputs; the rule sparsemax has none."""
    if real is None or v.layer.rule == "sparsemax":
        return None
    alpha = asked.inputs.alpha
    return stretch_of_data(v.layer.dense(), judged, real, k=size, alpha=alpha, steady=steady, work=asked.work)


def _further_groups(
    verifier: Verifier, n_labels: int, questions: Questions, must_have: Required | None
) -> Iterator[tuple[Group, Verification]]:
    """Verify the label sets that were asked about besides those of the data."""
    for size, most, name in ((2, questions.pairs, "pairs"), (3, questions.triples, "triples")):
        if most:
            sample, population = combinations_of_labels(n_labels, size, most, verifier.work.seed)
            v = verifier.verify(sample)
            is_sample = population > len(v)
            title = f"{'A random sample of' if is_sample else 'All'} {name} of labels"
            yield group_of(name, title, v, _no_counts(v), population=population if is_sample else None), v
    if questions.predicted is not None:
        theirs, counts = distinct_sets(read_label_sets(questions.predicted, n_labels))
        v = verifier.verify(theirs)
        yield group_of("predicted", "The model's own predictions", v, counts), v
    if must_have is not None:
        v = verifier.verify(must_have.sets)
        yield group_of("required", "Required", v, _no_counts(v), names=must_have.names), v


def _no_counts(v: Verification) -> npt.NDArray[np.int64]:
    return np.zeros(len(v), np.int64)
