"""On which label sets several models differ; sets are compared by the names of their labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.auditing.document import AuditDocument
from labelproof.pages.names import label_name

__all__ = ["Difference", "agreement"]

MOST_ROWS = 12


@dataclass(frozen=True)
class Difference:
    """A label set with the verdict of each model.

    Attributes
    ----------
    labels
        Names of its labels.
    examples
        How many examples have it.
    status
        1 where the model can predict it, 0 where it never can, -1 where that is undecided; in the order of the models.

    Examples
    --------
    >>> Difference(("cat", "dog"), examples=3, status=(0, 1)).status
    (0, 1)
    """

    labels: tuple[str, ...]
    examples: int
    status: tuple[int, ...]


@dataclass(frozen=True)
class Agreement:
    """How far models agree on the label sets that all of them were asked about.

    Attributes
    ----------
    sets
        How many those are.
    everyone, no_one, differing
        How many of them all models can predict, no model can, and on how many the verdicts differ.
    differences
        The most frequent ones of the last.
    is_by_count
        Whether some of them are more frequent than others.
    """

    sets: int
    everyone: int
    no_one: int
    differing: int
    differences: tuple[Difference, ...]
    is_by_count: bool


def agreement(documents: Sequence[AuditDocument]) -> Agreement | None:
    """Compare the verdicts on the data's label sets; None where there is nothing to compare.

    Parameters
    ----------
    documents
        The audits. Names that occur twice in one of them cannot be compared.

    Returns
    -------
    Agreement or None

    Examples
    --------
    >>> import labelproof as lp
    >>> weights = {"narrow": [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], "wide": [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]}
    >>> documents = [lp.audit(weight, [[0], [0, 1, 2]]).document for weight in weights.values()]
    >>> both = agreement(documents)
    >>> both.everyone, both.differences[0].labels
    (1, ('label 0', 'label 1', 'label 2'))
    """
    if len(documents) < 2 or any(
        len(set(document["label_names"])) < len(document["label_names"]) for document in documents
    ):
        return None
    first, *others = (_verdicts(document) for document in documents)
    names, found = documents[0]["label_names"], []
    for key, (status, labels, examples) in first.items():
        if all(key in other for other in others):
            verdicts = (status, *(other[key][0] for other in others))
            found.append(Difference(tuple(label_name(names, label) for label in labels), examples, verdicts))
    if not found:
        return None
    differing = sorted((one for one in found if len(set(one.status)) > 1), key=lambda one: -one.examples)
    return Agreement(
        sets=len(found),
        everyone=sum(set(one.status) == {1} for one in found),
        no_one=sum(set(one.status) == {0} for one in found),
        differing=len(differing),
        differences=tuple(differing[:MOST_ROWS]),
        is_by_count=len({one.examples for one in differing}) > 1,
    )


def _verdicts(document: AuditDocument) -> dict[frozenset[str], tuple[int, list[int], int]]:
    """Return verdict, labels and examples of each of the data's label sets by its labels' names."""
    names, data = document["label_names"], document["groups"][0]
    return {
        frozenset(names[label] for label in labels): (status, labels, count)
        for labels, status, count in zip(data["labels"], data["status"], data["counts"], strict=True)
    }
