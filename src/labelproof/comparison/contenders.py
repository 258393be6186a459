"""Which output layers are compared: a narrow one, a DFT head, two plain ones that make this fair, and a code head."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelproof.theory.codes import choose_code
from labelproof.training.config import HeadConfig

__all__ = ["Contender", "code_head", "default_width", "four_heads", "most_active"]

WIDTH = 25


@dataclass(frozen=True)
class Contender:
    """An output layer with its name, and the name of its folder.

    Attributes
    ----------
    name
        What the report calls it.
    folder
        Where its model and its audit are written.
    head
        Kind and options, as in a configuration.

    Examples
    --------
    >>> Contender("narrow", "narrow", HeadConfig(kind="bottleneck", d=12)).head.options
    {'d': 12}
    """

    name: str
    folder: str
    head: HeadConfig


def default_width(n_labels: int) -> int:
    """Return 25 features, or a quarter of the labels where that is less.

    >>> default_width(1000), default_width(20)
    (25, 5)
    """
    return max(1, min(WIDTH, n_labels // 4))


def four_heads(labels: Any, d: int) -> tuple[Contender, Contender, Contender, Contender]:
    """Return the heads that tell the worth of a DFT head from that of its start and of its width.

    A narrow layer of d features; a DFT head with d learnable columns; and since the DFT head also begins every label at
    the probability k/n and has 2k + 1 columns more, plain layers with that start, of d and of 2k + 1 + d features.

    Parameters
    ----------
    labels
        CSR array (n_examples, n_labels) of the training data; k is the most active labels of an example, as far as
        2k + 1 columns fit into n_labels.
    d
        Number of learnable columns, less than n_labels.

    Examples
    --------
    >>> import scipy.sparse
    >>> heads = four_heads(scipy.sparse.csr_array(np.eye(9, dtype=bool)), 2)
    >>> [(one.name, one.head.options) for one in heads[1:3]]
    [('guaranteed (DFT)', {'k': 1, 'slack': 2}), ('narrow, DFT start', {'d': 2, 'start': 1.0})]
    >>> heads[3].head.d
    5
    """
    n_labels = labels.shape[1]
    if n_labels < 3:
        raise ValueError(f"a comparison of heads needs data of at least 3 labels, got {n_labels}")
    if not 1 <= d < n_labels:
        raise ValueError(f"d must be from 1 to {n_labels - 1}, fewer features than labels, got {d}")
    k = most_active(labels)
    wide = 2 * k + 1 + d
    return (
        Contender("narrow", "narrow", HeadConfig(kind="bottleneck", d=d)),
        Contender("guaranteed (DFT)", "dft", HeadConfig(kind="dft", k=k, slack=d)),
        Contender("narrow, DFT start", "narrow-start", HeadConfig(kind="bottleneck", d=d, start=k)),
        Contender("wide, DFT start", "wide-start", HeadConfig(kind="bottleneck", d=wide, start=k)),
    )


def code_head(labels: Any, d: int) -> Contender:
    """Return the code head for the same sets as the DFT head of `four_heads`, with d learnable columns.

    Parameters
    ----------
    labels
        CSR array (n_examples, n_labels) of the training part.
    d
        How many columns are learned.

    Returns
    -------
    Contender

    Examples
    --------
    >>> import scipy.sparse
    >>> code_head(scipy.sparse.csr_array(np.eye(40, dtype=bool)), 2).head.options
    {'k': 1, 'slack': 2, 'code': (4, 3, 3)}
    """
    k = most_active(labels)
    code = choose_code(labels.shape[1], k)
    size = (code.q, code.coefficients, code.length)
    return Contender("guaranteed (code)", "code", HeadConfig(kind="code", k=k, slack=d, code=size))


def most_active(labels: Any) -> int:
    """Return the most active labels of an example, as far as 2k + 1 columns fit into n_labels."""
    return max(1, min(int(np.diff(labels.indptr).max(initial=1)), (labels.shape[1] - 1) // 2))
