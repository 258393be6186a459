"""Put what an audit found into its document: facts, groups, words."""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.auditing.advice import advise
from labelproof.auditing.alignment import Aligned
from labelproof.auditing.document import (
    CHECK_COMMAND,
    FORMAT,
    VERSION,
    AuditDocument,
    Data,
    Explained,
    Group,
    LayerFacts,
    Outside,
    Recommendation,
    Requirements,
    Serving,
)
from labelproof.auditing.explained import explain_most_frequent
from labelproof.auditing.facts import layer_facts
from labelproof.auditing.groups import conflict_labels, group_of
from labelproof.auditing.headline import headline
from labelproof.auditing.not_tested import not_tested
from labelproof.auditing.reached import ReachOfData
from labelproof.auditing.real_inputs import RealInputs
from labelproof.auditing.request import Request
from labelproof.auditing.stretched import Judged, Stretched
from labelproof.auditing.threshold_advice import advise_thresholds
from labelproof.foundation.arguments import is_share_reached
from labelproof.foundation.progress import progress_bar
from labelproof.foundation.release import __version__
from labelproof.importers import ImportedLayer
from labelproof.proof.result import Verification

__all__ = ["Findings", "write_document"]


@dataclass(frozen=True, eq=False)
class Findings:
    """All that an audit found, before it is put into words.

    Attributes
    ----------
    layer, domain_reason, steady
        What was audited, why its inputs are as they are, and how many features are held within their range.
    whole, outside, judged
        All label sets of the data; those that the model has no output for; those that were judged.
    verification, real, stretched, reached
        Verdicts on the data; features of real inputs, and what was measured among them.
    dtype, survives
        Numbers of serving, and which sets survive in them.
    further
        Groups besides that of the data.
    """

    layer: ImportedLayer
    domain_reason: str
    steady: int
    whole: Aligned
    outside: Outside | None
    judged: Judged
    verification: Verification
    real: RealInputs | None
    stretched: Stretched | None
    reached: ReachOfData | None
    dtype: str
    survives: npt.NDArray[np.bool_] | None
    further: list[Group]


def write_document(found: Findings, asked: Request, *, start: float) -> AuditDocument:
    """Return the document of an audit that began at the time ``start``."""
    v, counts, names, outside = found.verification, found.judged.counts, found.judged.names, found.outside
    stretched, reached, survives = found.stretched, found.reached, found.survives
    told, stretch = (None, None) if stretched is None else (stretched.facts, stretched.stretch)
    data = group_of("data", "Label sets of the data", v, counts, stretch=stretch, reach=reached, survives=survives)
    groups = [data, *found.further]
    facts = _facts(found, groups)
    document: AuditDocument = {
        "format": FORMAT,
        "version": VERSION,
        "labelproof": __version__,
        "headline": headline(facts, data, told, outside),
        "layer": facts,
        "label_names": list(names),
        "data": _data(asked.subject.data_name, found.whole, len(found.judged.distinct), outside),
        "groups": groups,
        "explained": _explained(v, counts, tuple(names), asked),
        "conflict_labels": conflict_labels(v, counts),
        "stretch": told,
        "outside": outside,
        "not_tested": not_tested(
            facts["model"],
            asked.subject.data_name,
            rule=facts["rule"],
            stretch=told,
            runs=found.layer.can_run,
            why_not=None if found.real is None else found.real.why_no_bar,
        )
        if asked.inputs.run
        else [],
        "reach": None if reached is None else reached.facts,
        "serving": None if survives is None else _serving(found.dtype, survives, v),
        "advice": _advice(found, asked),
        "requirements": _requirements(groups, asked.questions.fail_under, outside),
        "check_command": CHECK_COMMAND,
        "seconds": 0.0,
    }
    document["seconds"] = round(time.perf_counter() - start, 3)
    return document


def _facts(found: Findings, groups: list[Group]) -> LayerFacts:
    stretched, note = found.stretched, found.whole.note
    layer, reason = found.verification.layer, found.domain_reason
    facts = layer_facts(found.layer, layer, domain_reason=reason, steady=found.steady)
    facts["notes"] += [*([note] if note else []), *_warnings(groups)]
    facts["notes"] += () if stretched is None else stretched.notes
    return facts


def _advice(found: Findings, asked: Request) -> list[Recommendation]:
    advice = advise(found.verification, n_jobs=asked.work.n_jobs, seed=asked.work.seed)
    if found.stretched is None or found.real is None:
        return advice
    return advice + advise_thresholds(found.verification.layer, found.judged, found.real)


def _warnings(groups: list[Group]) -> list[str]:
    """Say what cannot be if the layer was read as the model computes it."""
    lost = sum(group["unargmaxable"] for group in groups if group["name"] == "predicted")
    if not lost:
        return []
    return [
        f"{lost:,} label sets that the model is said to have predicted are proven impossible: the layer, the order of "
        "its labels, the rule or the inputs are not as assumed here."
    ]


def _explained(
    v: Verification, counts: npt.NDArray[np.int64], names: tuple[str, ...], asked: Request
) -> list[Explained]:
    most = asked.questions.n_explained
    with progress_bar("explaining", min(most, int((v.status == 0).sum())), show=asked.work.progress) as advance:
        engine = asked.work.engine
        return list(explain_most_frequent("data", v, counts, names, most, engine=engine, advance=advance))


def _data(name: str, whole: Aligned, distinct: int, outside: Outside | None) -> Data:
    sizes = np.concatenate([np.diff(whole.sets.indptr), np.array([len(one) for one in whole.apart], np.int64)])
    return {
        "name": name,
        "examples": len(sizes),
        "distinct": distinct + (0 if outside is None else outside["sets"]),
        "cardinality": float(sizes.mean()),
        "largest": int(sizes.max()),
    }


def _serving(dtype: str, survives: npt.NDArray[np.bool_], v: Verification) -> Serving:
    checked = int((v.status == 1).sum())
    return {
        "dtype": dtype,
        "checked": checked,
        "survive": int(survives.sum()),
        "not_shown": checked - int(survives.sum()),
    }


def _requirements(groups: list[Group], fail_under: float | None, outside: Outside | None) -> Requirements | None:
    required = next((group for group in groups if group["name"] == "required"), None)
    if required is None and fail_under is None:
        return None
    failed = [] if required is None else [i for i, status in enumerate(required["status"]) if status != 1]
    argmaxable, n_sets = groups[0]["argmaxable"], len(groups[0]["status"]) + (outside["sets"] if outside else 0)
    passed = not failed and (fail_under is None or is_share_reached(argmaxable, n_sets, fail_under))
    return {"passed": passed, "fail_under": fail_under, "share": argmaxable / n_sets, "failed": failed}
