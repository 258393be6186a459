"""Why the most frequent label sets that cannot be predicted cannot be, as the document holds it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.auditing.document import Explained
from labelproof.explaining.explain import Explanation
from labelproof.explaining.several import explain_several
from labelproof.explaining.small_conflicts import shares
from labelproof.foundation.engines import Engine
from labelproof.proof.certificates import Unargmaxable
from labelproof.proof.result import Verification

__all__ = ["explain_most_frequent"]

SECONDS = 0.5  # for one label set
N_NEAREST = 3


def explain_most_frequent(
    group: str,
    v: Verification,
    counts: npt.NDArray[np.int64],
    label_names: Sequence[str],
    most: int,
    *,
    engine: Engine = "local",
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Explained]:
    """Yield explanations of the unargmaxable sets that the most examples have, most frequent first."""
    impossible = np.flatnonzero(v.status == 0)
    order = impossible[np.argsort(-counts[impossible], kind="stable")][:most].tolist()
    how: dict[str, Any] = {"label_names": tuple(label_names), "n_nearest": N_NEAREST, "time_limit": SECONDS}
    several = explain_several(v.layer, [v.label_sets[i] for i in order], engine=engine, advance=advance, **how)
    for i, found in zip(order, several, strict=True):
        if isinstance(found.certificate, Unargmaxable):
            yield _explained(group, i, int(counts[i]), found, found.certificate)


def _explained(group: str, index: int, examples: int, found: Explanation, proof: Unargmaxable) -> Explained:
    active = set(found.label_set)
    pulls = dict(zip(proof.conflict, shares(proof), strict=False))  # none where they would take too long
    on = [label for label in proof.conflict if label in active]
    off = [label for label in proof.conflict if label not in active]
    return {
        "group": group,
        "index": index,
        "labels": list(found.label_set),
        "examples": examples,
        "on": on,
        "off": off,
        "extra": list(proof.extra),
        "shares": [pulls[label] for label in on + off if label in pulls],
        "irreducible": found.irreducible,
        "sentences": str(found).splitlines(),
        "nearest": [
            {"added": list(near.added), "removed": list(near.removed), "is_minimal": near.is_minimal}
            for near in found.nearest
        ],
        "least_distance": found.least_distance,
    }
