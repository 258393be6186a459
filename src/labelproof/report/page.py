"""All that the page shows of one audit, and of several side by side."""

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.auditing.document import AuditDocument, Group, LayerFacts
from labelproof.foundation.wording import percent
from labelproof.pages.names import label_name
from labelproof.report.bars import verdict_bar
from labelproof.report.conflict_pictures import Conflict, draw_conflict
from labelproof.report.margins import Distribution, distributions, positive
from labelproof.report.set_table import SetTable, set_table
from labelproof.report.shown_numbers import number
from labelproof.report.stretch_view import StretchView, stretch_figures, view_stretch
from labelproof.report.summary import (
    Figure,
    GroupRow,
    LabelRow,
    Requirement,
    SizeRow,
    group_rows,
    key_figures,
    label_rows,
    requirement_rows,
    size_rows,
)
from labelproof.report.svg import Svg

__all__ = ["compare", "lay_out"]


@dataclass(frozen=True)
class Section:
    """One audit, ready for the template; ``document`` gives what is shown as it is."""

    key: str  # begins all ids of the section
    document: AuditDocument
    headline: str  # its first sentence
    rest: str  # the others
    stretch: StretchView | None
    figures: tuple[Figure, ...]
    sets_bar: Svg
    examples_bar: Svg
    examples_share: str
    sizes: tuple[SizeRow, ...]
    table: SetTable
    distributions: tuple[Distribution, ...]
    serving: Svg | None
    conflicts: tuple[Conflict, ...]
    labels: tuple[LabelRow, ...]
    groups: tuple[GroupRow, ...]
    decision: str
    requirements: tuple[Requirement, ...]
    always_active: tuple[str, ...]
    never_active: tuple[str, ...]


@dataclass(frozen=True)
class ModelRow:
    """One model among others."""

    key: str
    model: str
    caption: str
    size: str
    rule: str
    sets: int
    argmaxable: int
    undecided: int
    share: str
    bar: Svg
    examples_share: str
    beyond: str  # share of the examples beyond the bar; "" where it was not measured
    within: str  # the same of those that are not, with their number and a bar
    within_count: str
    within_bar: Svg | None
    margin: str
    passed: bool | None


def lay_out(document: AuditDocument, key: str) -> Section:
    """Lay out one audit.

    Parameters
    ----------
    document
        The audit.
    key
        A word that begins all ids of its section.
    """
    data, layer, names = document["groups"][0], document["layer"], document["label_names"]
    conflicts = tuple(draw_conflict(document, one, f"{key}-why-{i}") for i, one in enumerate(document["explained"]))
    explanations = {
        (explained["group"], explained["index"]): (conflict.anchor, conflict.n_labels)
        for explained, conflict in zip(document["explained"], conflicts, strict=True)
    }
    serving = document["serving"]
    lost = data["examples"] - data["argmaxable_examples"]
    first, rest = _split_headline(document["headline"])
    stretch = view_stretch(document)
    return Section(
        key=key,
        document=document,
        headline=first,
        rest=rest,
        stretch=stretch,
        figures=stretch_figures(stretch.facts, data) if stretch else key_figures(document),
        sets_bar=verdict_bar(data["argmaxable"], data["unargmaxable"], data["undecided"]),
        examples_bar=verdict_bar(data["argmaxable_examples"], *_lost_examples(data)),
        examples_share=percent(data["examples"] - lost, data["examples"]),
        sizes=size_rows(data),
        table=set_table(document, explanations, f"In {serving['dtype']}" if serving else "In serving"),
        distributions=distributions(document),
        serving=verdict_bar(serving["survive"], 0, serving["not_shown"]) if serving else None,
        conflicts=conflicts,
        labels=label_rows(document),
        groups=group_rows(document),
        decision=_decision(layer),
        requirements=requirement_rows(document),
        always_active=tuple(label_name(names, label) for label in layer["always_active"]),
        never_active=tuple(label_name(names, label) for label in layer["never_active"]),
    )


def compare(sections: Sequence[Section], captions: Sequence[str]) -> tuple[ModelRow, ...]:
    """Put models side by side; captions say what each of them is."""
    return tuple(_model_row(section, caption) for section, caption in zip(sections, captions, strict=True))


def _split_headline(text: str) -> tuple[str, str]:
    """Return the first sentence, which is shown large, and the others.

    Examples
    --------
    >>> _split_headline("12.5 % of 1,000 are lost. Every other set can be predicted. None is open.")
    ('12.5 % of 1,000 are lost.', 'Every other set can be predicted. None is open.')
    """
    first, *rest = re.split(r"(?<=\.) (?=[A-Z0-9])", text, maxsplit=1)
    return first, "".join(rest)


def _model_row(section: Section, caption: str) -> ModelRow:
    document = section.document
    layer, data, requirements = document["layer"], document["groups"][0], document["requirements"]
    margins = positive(data["margin"])
    facts = document["stretch"]
    measured = facts if facts is not None and facts["bar"] is not None else None
    beyond, whole = (measured["beyond_examples"], measured["all_examples"]) if measured else (0, 0)
    return ModelRow(
        key=section.key,
        model=layer["model"],
        caption=caption,
        size=f"{layer['n_labels']:,} × {layer['n_features']:,}",
        rule=layer["rule"],
        sets=len(data["labels"]),
        argmaxable=data["argmaxable"],
        undecided=data["undecided"],
        share=percent(data["argmaxable"], len(data["labels"])),
        bar=section.sets_bar,
        examples_share=section.examples_share,
        beyond=percent(beyond, whole) if measured else "",
        within=percent(whole - beyond, whole) if measured else "",
        within_count=f"{whole - beyond:,} of {whole:,}",
        within_bar=verdict_bar(whole - beyond, beyond, 0) if measured else None,
        margin=number(statistics.median(margins) if margins else None),
        passed=None if requirements is None else requirements["passed"],
    )


def _decision(layer: LayerFacts) -> str:
    rules = {
        "sigmoid": f"sigmoid: a label is on where its probability exceeds {layer['thresholds']}",
        "topk": "top k: the labels with the largest logits are on, however many",
        "sparsemax": "sparsemax: the labels of its support are on",
    }
    ties = {"inactive": "a label on the boundary is off", "open": "a label on the boundary is neither on nor off"}
    return f"{rules.get(layer['rule'], layer['rule'])}; {ties.get(layer['ties'], layer['ties'])}"


def _lost_examples(group: Group) -> tuple[int, int]:
    """Count the examples of unargmaxable and of undecided sets."""
    examples = {0: 0, -1: 0}
    for status, count in zip(group["status"], group["counts"], strict=True):
        if status in examples:
            examples[status] += count
    return examples[0], examples[-1]
