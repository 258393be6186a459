"""What a method answered for the test examples of a data set: its values, and what a paired comparison needs.

An outcome is kept as one .npz, beside the labels that were right (`Truth`), so that comparisons can be made later.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse

from labelproof.metrics import by_name

__all__ = ["METRICS", "Outcome", "Truth", "precisions"]

METRICS = ("micro-f1", "macro-f1", "precision@1", "precision@5")


@dataclass(frozen=True, eq=False)
class Truth:
    """The labels of the test examples, and the places of these in the whole data set."""

    labels: Any  # csr (n, L)
    places: Any  # (n,)

    def save(self, path: Path) -> None:
        """Write an .npz."""
        labels = scipy.sparse.csr_array(self.labels)
        np.savez_compressed(
            path, indptr=labels.indptr, indices=labels.indices, shape=labels.shape, places=self.places
        )  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        with np.load(path) as file:
            parts = np.ones(len(file["indices"]), bool), file["indices"], file["indptr"]
            return cls(scipy.sparse.csr_array(parts, shape=tuple(file["shape"])), file["places"])


@dataclass(frozen=True, eq=False)
class Outcome:
    """For each metric what serves it: label sets for the F1s, rankings for the precisions."""

    micro: Any  # bool (n, L)
    macro: Any  # bool (n, L)
    first: Any  # scores (n, L), for precision@1
    fifth: Any  # scores (n, L), for precision@5

    def values(self, labels: Any) -> dict[str, float]:
        """Return the four metrics."""
        outputs = (self.micro, self.macro, self.first, self.fifth)
        return {name: float(by_name(name)(labels, output)) for name, output in zip(METRICS, outputs, strict=True)}

    def save(self, path: Path, labels: Any) -> None:
        """Write decisions, the scores of the first ranking, and the precision of each example."""
        np.savez_compressed(
            path,
            shape=self.micro.shape,
            micro=np.packbits(self.micro),
            macro=np.packbits(self.macro),
            scores=np.asarray(self.first, np.float32),
            **{f"precision@{k}": precisions(labels, s, k) for k, s in ((1, self.first), (5, self.fifth))},
        )


def precisions(labels: Any, scores: Any, k: int) -> Any:
    """Return the precision at k of each example, the mean over the orders of equal scores, as the metric has it.

    >>> precisions(scipy.sparse.csr_array([[1, 0, 0, 1]]), np.array([[0.9, 0.8, 0.1, 0.1]]), 3).round(6).tolist()
    [0.5]
    """
    truth = labels.toarray().astype(bool)
    scores = np.asarray(scores)
    border = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]  # (n, 1)
    above, tied = scores > border, scores == border
    left = k - above.sum(axis=1)
    return ((truth & above).sum(axis=1) + left * (truth & tied).sum(axis=1) / tied.sum(axis=1)) / k
