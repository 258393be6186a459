"""What a report of several models says first: one headline, one figure, and a few sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.auditing.document import AuditDocument
from labelproof.foundation.wording import percent, plural
from labelproof.pages.names import label_name
from labelproof.report.model_differences import Difference

__all__ = ["Opening", "open_comparison"]


@dataclass(frozen=True)
class Opening:
    """The words around the figure, in which each model has a bar.

    Attributes
    ----------
    headline
        The finding in a sentence or two.
    captions
        What each model is, in the order of the audits.
    points
        What else is worth knowing before the tables, a sentence or two each.
    gained
        Label sets that stand for the finding, by name, with the verdicts of the first models.

    Examples
    --------
    >>> Opening("The narrow model loses a label set, the wide one none.", ("2 features", "3 features")).captions
    ('2 features', '3 features')
    """

    headline: str
    captions: tuple[str, ...]
    points: tuple[str, ...] = ()
    gained: tuple[Difference, ...] = ()


def open_comparison(documents: Sequence[AuditDocument]) -> Opening:
    """Say of several audits which model loses the most label sets, and which loses none."""
    captions = tuple(
        f"{plural(layer['n_labels'], 'label')}, {plural(layer['n_features'], 'feature')}"
        for layer in (document["layer"] for document in documents)
    )
    return Opening(_headline(documents), captions)


def _headline(documents: Sequence[AuditDocument]) -> str:
    names = [document["layer"]["model"] for document in documents]
    data = [document["groups"][0] for document in documents]
    lost = [group["unargmaxable"] / max(1, len(group["labels"])) for group in data]
    best = [label_name(names, i) for i, group in enumerate(data) if group["argmaxable"] == len(group["labels"])]
    if len(best) == len(names) and all(document["stretch"] and document["stretch"]["bar"] for document in documents):
        return _beyond(documents)
    if len(best) == len(names):
        return f"All {len(names)} models can predict every label set of their data."
    if not any(lost):
        return "No label set was proven to be out of any model’s reach."
    worst = lost.index(max(lost))
    count, whole = data[worst]["unargmaxable"], len(data[worst]["labels"])
    text = f"{label_name(names, worst)} can never predict {count:,} of {whole:,} label sets ({percent(count, whole)})"
    if best:
        return f"{text}; {_listed(best)} can predict all."
    least = lost.index(min(lost))
    if least == worst or lost[least] == lost[worst]:
        return f"{text}; none of the others does better."
    return f"{text}, {label_name(names, least)} {data[least]['unargmaxable']:,} of {len(data[least]['labels']):,}."


def _beyond(documents: Sequence[AuditDocument]) -> str:
    """Compare models for which every label set is possible by the examples that lie beyond their bars."""
    names = [document["layer"]["model"] for document in documents]
    counts = [(facts["beyond_examples"], facts["all_examples"]) for one in documents if (facts := one["stretch"])]
    parts = [beyond / max(1, whole) for beyond, whole in counts]
    most, least = parts.index(max(parts)), parts.index(min(parts))
    text = f"{percent(*counts[most])} of the examples have label sets beyond the bar of {label_name(names, most)}"
    if parts[most] == parts[least]:
        return f"{text}, and as many beyond that of {'the other' if len(names) == 2 else 'each other'}."
    return f"{text}, {percent(*counts[least])} beyond that of {label_name(names, least)}."


def _listed(names: Sequence[str]) -> str:
    shown = list(names) if len(names) <= 3 else [*names[:2], f"{len(names) - 2} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
