"""Which views of the data are tried, and with which costs: what users of such data would try, and what has paid.

The grids are where the best costs of many data sets lie; a search whose best is at an edge goes on beyond it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from labelproof.data import Dataset
from labelproof.encoders.views.bases import Base, GivenNumbers, TermCounts
from labelproof.encoders.views.leaves import Leaves
from labelproof.encoders.views.view import Block, View
from labelproof.encoders.views.weightings import Idf, Nystroem, Plain, Quantiles, Standard

__all__ = ["Material", "ViewPlan", "add_letters", "kernel_plans", "material_of", "plans_for", "trees_plan"]

Learn = Callable[[Any], Any]
HALF = float(np.sqrt(0.5))
WORDS, LETTERS = ("word", (1, 2)), ("char_wb", (2, 4))  # analyzers, with the shortest and the longest run
MOST_TERMS, FEWEST_TERMS = 50_000, 5_000
MOST_TERM_WEIGHTS = 250_000_000  # terms × labels: of very many labels there are fewer terms
SPARSE = 0.25  # share of nonzeros up to which given numbers are taken as counts or indicators


@dataclass(frozen=True, eq=False)
class Material:
    """Bases and their matrices for the training examples; more are added when a plan needs them."""

    bases: list[Base]
    matrices: list[Any]
    texts: tuple[str, ...] | None = None

    def rows(self, which: Any) -> list[Any]:
        """Return these rows of every matrix."""
        return [matrix[which] for matrix in self.matrices]


@dataclass(frozen=True, eq=False)
class ViewPlan:
    """A view to be learned from training rows: for each block its base, how it learns, and its scale.

    ``costs`` are those that support vector machines on it try first.
    """

    name: str
    blocks: tuple[tuple[int, Learn, float], ...]
    is_sparse: bool
    costs: tuple[float, ...] = ()
    needs_labels: bool = False

    def learned(self, matrices: Sequence[Any], labels: Any) -> View:
        """Return the view of training rows of the bases, and their labels where it needs them."""
        given = (labels,) if self.needs_labels else ()
        blocks = (Block(base, learn(matrices[base], *given), scale) for base, learn, scale in self.blocks)
        return View(tuple(blocks), self.is_sparse)


def material_of(training: Dataset) -> Material:
    """Return what the first plans need: counts of words, or the numbers given."""
    if training.texts is not None:
        texts = training.texts
        if training.text_pairs is not None:
            texts = tuple(f"{a}\n\n{b}" for a, b in zip(texts, training.text_pairs, strict=True))
        most = max(FEWEST_TERMS, min(MOST_TERMS, MOST_TERM_WEIGHTS // len(training.label_names)))
        base, counts = TermCounts.learned(texts, *WORDS, most=most)
        return Material([base], [counts], texts)
    if training.features is None:
        raise ValueError("head 'auto' needs data with texts or features, got neither")
    numbers = GivenNumbers.learned(training.features)
    matrix = numbers.matrix(training.features)
    if not scipy.sparse.issparse(matrix) and np.count_nonzero(matrix) <= SPARSE * matrix.size and matrix.min() >= 0:
        matrix = scipy.sparse.csr_array(matrix)
    return Material([numbers], [matrix])


def trees_plan(*, seed: int) -> ViewPlan:
    """Return the plan of a forest: its view is the leaves that an example falls into."""
    return ViewPlan("trees", ((0, partial(Leaves.grown, seed=seed), 1.0),), True, needs_labels=True)


def plans_for(material: Material) -> list[ViewPlan]:
    """Return the plans in the order of what they gain for their time."""
    if material.texts is not None:
        tfidf = partial(Idf.learned, sublinear=True)
        return [
            ViewPlan("words", ((0, tfidf, 1.0),), True, (0.3, 1.0, 3.0)),
            ViewPlan("words and letters", ((0, tfidf, HALF), (1, tfidf, HALF)), True, (0.3, 1.0, 3.0)),
        ]
    matrix = material.matrices[0]
    if scipy.sparse.issparse(matrix):
        plans = [ViewPlan("as given", ((0, Plain.learned, 1.0),), True, (0.003, 0.01, 0.03))]
        if matrix.nnz and matrix.data.min() >= 0:
            plans.append(ViewPlan("idf", ((0, Idf.learned, 1.0),), True, (0.1, 0.3, 1.0)))
        return plans
    costs = (0.001, 0.003, 0.01)
    return [
        ViewPlan("standardised", ((0, Standard.learned, 1.0),), False, costs),
        ViewPlan("quantiles", ((0, Quantiles.learned, 1.0),), False, costs),
    ]


def kernel_plans(scaling: str) -> list[ViewPlan]:
    """Return the kernels on dense features, scaled as the view of this name."""
    learn = partial(Nystroem.learned, of_quantiles=scaling == "quantiles")
    widths = {"smooth": 0.5, "sharp": 1.5}
    return [
        ViewPlan(f"{scaling}, {name} kernel", ((0, partial(learn, sharpness=sharpness), 1.0),), False, (0.1, 1.0))
        for name, sharpness in widths.items()
    ]


def add_letters(material: Material) -> None:
    """Count runs of two to four letters within words, which the second plan of texts needs."""
    if material.texts is not None and len(material.bases) == 1:
        base, counts = TermCounts.learned(material.texts, *LETTERS, most=MOST_TERMS)
        material.bases.append(base)
        material.matrices.append(counts)
