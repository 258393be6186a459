"""What a stage of the recipe will take, before it begins: from its size, and from what earlier ones took."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from labelproof.encoders.views.bases import TermCounts
from labelproof.encoders.views.leaves import TREES
from labelproof.encoders.views.weightings import MOST_CENTRES
from labelproof.training.recipe.folds import Folds
from labelproof.training.recipe.menu import LETTERS, MOST_TERMS, Material, ViewPlan
from labelproof.training.svm import linear_svms

__all__ = ["Size", "Speed", "grid_size", "has_few_leaves", "network_seconds", "trees_seconds", "warm_up"]

SAMPLE = 200  # texts whose letters are counted
SECONDS_A_LETTER = 1.5e-6  # to count runs of letters
FEWEST_FOR_NO_TREES, MOST_LEAF_WEIGHTS = 2500, 40_000_000
EPOCHS = 30  # that a network usually takes
FEWEST_NUMBERS = 100_000  # below, a grid takes about as long as with so many


@dataclass(frozen=True)
class Size:
    """Of a view of all training examples: its features, its numbers other than 0, and the seconds to make it."""

    width: int
    numbers: float
    making: float = 0.0


class Speed:
    """What the grids so far took for each number of their views."""

    def __init__(self) -> None:
        self._slowest = 0.0

    def measured(self, size: Size, seconds: float) -> None:
        """Note what a grid took."""
        self._slowest = max(self._slowest, (seconds - size.making) / max(size.numbers, FEWEST_NUMBERS))

    def seconds(self, size: Size) -> float:
        """Return what a grid on a view of this size will take."""
        return self._slowest * max(size.numbers, FEWEST_NUMBERS) + size.making


def warm_up() -> None:
    """Compile the solver, so that its first call does not count as work."""
    features = scipy.sparse.csr_array(np.array([[-1.0], [1.0]]))
    linear_svms(features, scipy.sparse.csr_array(np.array([[False], [True]])), 1.0)


def grid_size(plan: ViewPlan, material: Material) -> Size:
    """Return the size of a plan's view; that of letters from a sample of the texts until they are counted."""
    matrix = material.matrices[0]
    numbers, width = float(matrix.nnz if scipy.sparse.issparse(matrix) else matrix.size), matrix.shape[1]
    if plan.name == "words and letters" and len(material.matrices) > 1:
        return Size(sum(m.shape[1] for m in material.matrices), float(sum(m.nnz for m in material.matrices)))
    if plan.name == "words and letters" and material.texts is not None:
        texts = material.texts[:: max(1, len(material.texts) // SAMPLE)]
        _, counts = TermCounts.learned(texts, *LETTERS, most=MOST_TERMS)
        letters = float(np.mean([len(text) for text in texts])) * len(material.texts)
        more = counts.nnz / len(texts) * len(material.texts)
        return Size(width + MOST_TERMS, numbers + more, letters * SECONDS_A_LETTER)
    if plan.name.endswith("kernel"):
        width = min(MOST_CENTRES, matrix.shape[0])
        return Size(width, float(matrix.shape[0] * width), 0.0)
    return Size(width, numbers)


def has_few_leaves(folds: Folds) -> bool:
    """Return whether a forest's leaves can be columns of a linear model: there are about n/3 in each tree."""
    n, n_labels = folds.labels.shape
    of_texts = folds.material.texts is not None
    return not of_texts and n < FEWEST_FOR_NO_TREES and TREES * n / 3 * n_labels <= MOST_LEAF_WEIGHTS


def trees_seconds(folds: Folds) -> float:
    """Return what growing the forests will take: each level of a tree looks at every example and label."""
    n, n_labels = folds.labels.shape
    columns = np.sqrt(folds.material.matrices[0].shape[1])
    return float(TREES * folds.n_folds * n * (4e-9 * columns * n_labels * np.log2(max(n, 2)) + 5e-6))


def network_seconds(folds: Folds, width: int) -> float:
    """Return what training the networks will take."""
    n, n_labels = folds.labels.shape
    steps = EPOCHS * folds.n_folds * n / 64
    return steps * (1e-3 + 1.5e-9 * 512 * (width + n_labels) * 3)
