"""The leaves of a forest as features: which leaf of each tree a row falls into.

A score that adds up one number for the leaf of every tree is linear in these indicators, so a forest joins a linear
model as further columns, each between 0 and 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.ensemble import ExtraTreesClassifier

from labelproof.encoders.views.weightings import UNIT, Weighting
from labelproof.proof.domains import Domain

__all__ = ["TREES", "Leaves"]

Floats = npt.NDArray[np.float64]
ROWS_AT_ONCE = 4096
TREES = 300  # of a forest


@dataclass(frozen=True, eq=False)
class Leaves(Weighting):
    """Trees in one list of nodes, each before its children.

    Parameters
    ----------
    roots
        (n_trees,): the node at which each tree begins.
    column, value
        (n_nodes,): a row whose number in this column is at most the value goes left. The column of a leaf is −1.
    children
        (n_nodes, 2): the nodes to the left and to the right; 0 of a leaf.

    Examples
    --------
    >>> children = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    >>> stump = Leaves(np.zeros(1), np.array([0.0, -1.0, -1.0]), np.array([0.5, 0.0, 0.0]), children)
    >>> stump.features(np.array([[0.2], [0.7]])).toarray()
    array([[1., 0.],
           [0., 1.]])
    """

    roots: Floats
    column: Floats
    value: Floats
    children: Floats
    kind: ClassVar[str] = "leaves"

    @staticmethod
    def domain(scale: float) -> Domain:
        """Return the bounds of an indicator."""
        return 0.0, scale * UNIT

    @classmethod
    def grown(cls, rows: Any, labels: Any, *, n_trees: int = TREES, least: int = 2, seed: int = 0) -> Self:
        """Grow extremely randomised trees for all labels of training rows, with at least so many rows in each leaf."""
        forest = ExtraTreesClassifier(n_trees, min_samples_leaf=least, random_state=seed)
        trees = [tree.tree_ for tree in forest.fit(rows, labels.toarray()).estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]
        column = np.concatenate([np.maximum(tree.feature, -1) for tree in trees])
        value = np.concatenate([np.where(tree.feature >= 0, tree.threshold, 0.0) for tree in trees])
        pairs = [np.stack([tree.children_left, tree.children_right], axis=1) for tree in trees]
        children = np.concatenate([np.where(pair < 0, 0, pair + root) for pair, root in zip(pairs, roots, strict=True)])
        return cls(*(np.asarray(part, np.float64) for part in (roots, column, value, children)))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Floats]) -> Self:
        """Return the forest, checking that its nodes are trees: every way down ends."""
        found = super().from_arrays(arrays)
        n_nodes, inner = len(found.value), found.column >= 0
        numbers = np.arange(n_nodes)[:, None]
        shapes = found.column.shape == (n_nodes,) and found.children.shape == (n_nodes, 2) and found.roots.ndim == 1
        if not shapes or not ((found.roots >= 0) & (found.roots < n_nodes)).all() or not len(found.roots):
            raise ValueError("expected the nodes of trees, got arrays of other shapes")
        if not ((found.children > numbers) & (found.children < n_nodes))[inner].all():
            raise ValueError("expected children after their nodes, got others")
        return found

    def width(self, n_columns: int) -> int:
        """Return the number of leaves."""
        if n_columns <= self.column.max():
            raise ValueError(f"expected trees of {n_columns} columns, got one that asks for {self.column.max():.0f}")
        return int((self.column < 0).sum())

    @cached_property
    def _nodes(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Return roots, columns (of a leaf 0), children (of a leaf itself), and numbers of leaves."""
        leaf = self.column < 0
        itself = np.where(leaf[:, None], np.arange(len(leaf))[:, None], self.children)
        numbers = np.where(leaf, np.cumsum(leaf) - 1, 0)
        parts = self.roots, np.maximum(self.column, 0), itself, numbers
        return tuple(part.astype(np.int64) for part in parts)

    def features(self, rows: Any) -> Any:
        """Return a CSR array (n_rows, width) with a 1 for the leaf of each tree."""
        blocks = [self._fallen(rows[first : first + ROWS_AT_ONCE]) for first in range(0, rows.shape[0], ROWS_AT_ONCE)]
        leaves = np.concatenate(blocks) if blocks else np.zeros((0, len(self.roots)), np.int64)
        ends = np.arange(0, leaves.size + 1, len(self.roots))
        shape = len(leaves), int((self.column < 0).sum())
        return scipy.sparse.csr_array((np.ones(leaves.size), leaves.ravel(), ends), shape)

    def _fallen(self, rows: Any) -> npt.NDArray[np.int64]:
        """Return the numbers of the leaves (n_rows, n_trees) in the order of the trees, which is that of columns."""
        roots, column, children, numbers = self._nodes
        dense = (rows.toarray() if scipy.sparse.issparse(rows) else rows).astype(np.float32)  # as trees were grown
        at = np.tile(roots, (len(dense), 1))
        which = np.arange(len(dense))[:, None]
        while True:
            right = dense[which, column[at]] > self.value[at]
            below = children[at, right.astype(np.int64)]
            if (below == at).all():
                return numbers[at]
            at = below
