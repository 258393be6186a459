"""Where the search begins: far inside the region of the empty set, if the layer has one, which most trained layers do.

The active-set method finds the point nearest to where it begins at which all rows of a label set hold. From a point at
which nearly all labels are off it is a few steps to one with a few labels on; from 0 all rows are to be met one by one.
Nothing returned here is trusted: it changes the number of steps, and which witness is found.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["DISTANCE", "origin"]

Floats = npt.NDArray[np.float64]
DISTANCE = 100.0  # of the origin from most labels' boundaries, in units of what the search wants of each row
ROWS_A_COLUMN = 4  # that are looked at, evenly chosen, and some more
MORE_ROWS = 2000
RIDGE = 0.1  # of the mean eigenvalue of the rows' Gram matrix
STEPS = 20  # of conjugate gradients
LEAST_RATIO = 1.0  # of the mean of what rows get to its spread: random rows get next to nothing


def origin(rows: Floats, n_labels: int) -> Floats:
    """Return a point at which most label rows are negative and most others positive; 0 where there is none.

    The point with the least Σ (1 − g_i·v)² over rows g_i with their signs, and a small multiple of ‖v‖².
    """
    n, width = rows.shape
    most = ROWS_A_COLUMN * width + MORE_ROWS
    places = np.arange(n) if n <= most else np.arange(most) * n // most
    G, signs = rows[places], np.where(places < n_labels, -1.0, 1.0)
    used = G.any(axis=1)
    G, signs = G[used], signs[used]
    v = _least_squares(G, signs, RIDGE * len(G) / width)
    reached = signs * (G @ v)
    if not (len(G) and reached.mean() > LEAST_RATIO * reached.std()):
        return np.zeros(width)
    return v * (DISTANCE / np.median(reached))


def _least_squares(G: Floats, wanted: Floats, ridge: float) -> Floats:
    """Return nearly the v with the least ‖wanted − G v‖² + ridge ‖v‖², by conjugate gradients."""
    v = np.zeros(G.shape[1])
    rest = wanted @ G
    direction, left = rest, rest @ rest
    for _ in range(STEPS):
        if not left > 0.0:
            break
        image = (G @ direction) @ G + ridge * direction
        length = left / (direction @ image)
        v, rest = v + length * direction, rest - length * image
        before, left = left, rest @ rest
        direction = rest + left / before * direction
    return v
