"""Where each label lies on the circle of a DFT head: co-active labels far apart leave more room for their regions."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.foundation.arguments import whole_number
from labelproof.proof.labels import read_label_sets

__all__ = ["spread_order"]


def spread_order(
    labels: Any, *, n_labels: int | None = None, swaps: int = 1000, random_state: int = 0
) -> npt.NDArray[np.int64]:
    """Lay out labels on a circle so that those that occur together are far apart.

    A witness of the DFT head is a polynomial with a root on each side of every active label; where roots crowd, it
    must swing between tiny and huge values. The layout minimises Σ C_ij · -log sin(π|p_i - p_j|/n) over the places p,
    C_ij being how often labels i and j occur together, by random swaps that lower it.

    Parameters
    ----------
    labels : array or sparse matrix (n_examples, n_labels) of 0 and 1, or list of lists of active label indices
        Of the training data.
    n_labels : int, optional
        Number of labels; needed for lists of indices only.
    swaps : int
        Swaps to try for each label.
    random_state : int
        Seed of the first layout and of the swaps.

    Returns
    -------
    ndarray of int64 (n_labels,)
        The place of each label: the ``order`` of `DFTHead`.

    Examples
    --------
    >>> places = spread_order([[0, 1], [2, 3], [0, 1]], n_labels=8)
    >>> abs(int(places[0] - places[1]))
    4
    """
    from labelproof.heads.layout_kernels import swap_apart

    if n_labels is None:
        n_labels = getattr(labels, "shape", (None, None))[-1]
        if n_labels is None:
            raise ValueError("n_labels must be given when labels is a list of active label indices, got None")
    n_labels, swaps = whole_number("n_labels", n_labels, minimum=1), whole_number("swaps", swaps, minimum=0)
    sets = read_label_sets(labels, n_labels)
    Y = scipy.sparse.csr_array((np.ones(len(sets.indices)), sets.indices, sets.indptr), (len(sets), n_labels))
    together = (Y.T @ Y).tocsr()
    together.setdiag(0)
    together.eliminate_zeros()
    random = np.random.default_rng(random_state)
    places = random.permutation(n_labels)
    sines = np.sin(np.pi * np.arange(1, n_labels) / n_labels)
    energy = np.concatenate([[0.0], -np.log(sines)])  # by distance in places
    graph = together.indptr.astype(np.int64), together.indices.astype(np.int64), together.data
    swap_apart(places, *graph, energy, swaps * n_labels, random)
    return places
