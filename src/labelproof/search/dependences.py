"""Conflicts of wide layers by products of matrices, where the active-set method changes one row at a time.

At the point v with the least Σ h_i² over some rows g_i, h_i = max(c_i − g_i·v, 0), the gradient is 0: Σ h_i g_i = 0.
So where no point satisfies these rows, h is a dependence of positive multipliers. It has more rows than a conflict:
most of them if every c_i is 1, not many more than needed if the c_i are random. Those with the largest h are a basis,
and the others are pushed out of the dependence one by one: each until its multiplier is 0, or until that of a basic row
is, whose place it takes. What is left, a row more than there are columns, is a conflict. The rows are a sample of the
layer's: if that can be satisfied, there is no answer. Nothing returned here is trusted.

With every c_i = 1, h is the dependence of its rows nearest to (1, …, 1), and needs no pushing: `proof.many_rows`
accepts such a conflict as it is. The more rows it has, the less dependent are its columns, and the easier the proof.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dgetrf, dgetrs

from labelproof.foundation.compilation import plain

__all__ = ["LEAST_WIDTH", "ManyRows", "RowSample"]

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
LEAST_WIDTH = 200  # from which on this is faster than the active-set method
ROWS_A_COLUMN = 2.4  # twice as many random rows as columns are a dependence as often as not
MANY_ROWS_A_COLUMN = 2.5  # of which two a column are left
ROWS_AT_ONCE = 64  # that are copied: they stay in the processor's cache
LEAST_PART = 1e-3  # of the largest multiplier, that one of many rows has
SPREAD = 2.0  # of what is wanted of each row, around 1
MOST_STEPS = 50  # of Newton's method
MOST_INNER_STEPS = 14
INNER_SHARE = 0.1  # of the squared gradient that a Newton step leaves
SMALL = 1e-9  # what is left of the gradient, squared, as a share of Σ h² and of the rows' mean Gram matrix
LEAST_SHARE = 1e-7  # of the largest multiplier: smaller ones are hard to prove
PANEL = 32  # rows that are pushed out before all others are brought up to date


class RowSample:
    """Some rows of a layer, evenly chosen of those that are not 0."""

    def __init__(self, rows: Floats, is_used: npt.NDArray[np.bool_], rows_a_column: float = ROWS_A_COLUMN) -> None:
        self.rows, self.is_used = rows, is_used
        self.columns = np.flatnonzero(rows.any(axis=0))
        self.size = int(rows_a_column * len(self.columns))
        self.places = _evenly(np.flatnonzero(is_used), self.size)
        self.wanted = np.random.default_rng(0).normal(1.0, SPREAD, self.size).astype(np.float32)

    def _signed(self, places: Indices, signs: Floats, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return some rows, without columns that are 0 in all, each with a sign."""
        signed = np.empty((len(places), len(self.columns)), dtype)
        all_columns = len(self.columns) == self.rows.shape[1]
        for start in range(0, len(places), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            rows = self.rows[places[part]] if all_columns else self.rows[places[part]][:, self.columns]
            np.multiply(rows, signs[part, None], out=signed[part], casting="same_kind")
        return signed

    @np.errstate(all="ignore")  # a singular basis may have any numbers: what they give is no answer
    def conflict(self, n_labels: int, active: Indices, among: Indices | None = None) -> Indices | None:
        """Return the places of rows that contradict each other for a label set, or None where none were found.

        ``among`` are places, of which as many as those of the sample are taken instead.
        """
        chosen = self._chosen(n_labels, active, among)
        if chosen is None:
            return None
        places, signs = chosen
        h = _hinge_residuals(self._signed(places, signs, np.float32), self.wanted[: len(places)])
        if h is None:
            return None
        order = np.argsort(-h, kind="stable")[: np.count_nonzero(h)]
        places, signs, h = places[order], signs[order], h[order]
        kept = _pushed_out(self._signed(places, signs, np.float64), h.astype(np.float64))
        return None if kept is None else places[kept]

    def _chosen(self, n_labels: int, active: Indices, among: Indices | None = None) -> tuple[Indices, Floats] | None:
        """Return the places of the rows to look at, half of them active labels, and their signs; None if too few."""
        is_active = np.zeros(len(self.rows), np.bool_)
        is_active[active] = True
        few = _evenly(active[self.is_used[active]], self.size // 2)
        others = self.places if among is None else among
        others = others[(self.is_used & ~is_active)[others]]
        places = np.concatenate([few, _evenly(others, self.size - len(few))])
        if len(places) <= len(self.columns):
            return None
        return places, np.where(is_active[places] | (places >= n_labels), 1.0, -1.0)


class ManyRows(RowSample):
    """The same, for conflicts that keep all rows of a dependence."""

    def __init__(self, rows: Floats, is_used: npt.NDArray[np.bool_], lengths: Floats) -> None:
        super().__init__(rows, is_used, MANY_ROWS_A_COLUMN)
        self.lengths = lengths  # of the rows that `proof.many_rows` looks at, which are no unit rows

    @np.errstate(all="ignore")
    def dependent(self, n_labels: int, active: Indices) -> Indices | None:
        """Return the places of rows with a positive dependence for a label set, or None where none were found."""
        chosen = self._chosen(n_labels, active)
        if chosen is None:
            return None
        places, signs = chosen
        G = self._signed(places, signs * self.lengths[places], np.float32)
        h = _hinge_residuals(G, np.ones(len(places), np.float32))
        kept = places[:0] if h is None else places[h > LEAST_PART * h.max()]
        return kept if len(kept) > self.rows.shape[1] + 1 else None


def _evenly(numbers: Indices, most: int) -> Indices:
    """Return at most so many of some numbers, at even distances."""
    if len(numbers) <= most:
        return numbers
    return numbers[np.arange(most) * len(numbers) // most]


def _hinge_residuals(G: Singles, wanted: Singles) -> Singles | None:
    """Return h at the least Σ h², by Newton's method; None where it has too few positive numbers."""
    from labelproof.search.dependence_kernels import hinge

    n, width = G.shape
    h, gradient = np.empty(n, np.float32), np.empty(width, np.float32)
    v = step = np.zeros(width, np.float32)
    least = np.inf
    for _ in range(MOST_STEPS):
        total, count = hinge(G, wanted, v + step, h, gradient)
        if count <= width:
            return None
        if total > 1.00001 * least:  # not by rounding alone
            step = step * np.float32(0.5)
            continue
        v, least = v + step, total
        if gradient @ gradient <= SMALL * total * n / width:
            return h
        step = _newton_step(G, h, gradient)
    return None


def _newton_step(G: Singles, h: Singles, gradient: Singles) -> Singles:
    """Return the step towards the least Σ h² of the rows with positive h, by conjugate gradients."""
    from labelproof.search.dependence_kernels import gram_times

    used = np.flatnonzero(h > 0)
    rest, direction = gradient.copy(), gradient.copy()
    step, image = np.zeros_like(gradient), np.empty_like(gradient)
    first = left = rest @ rest
    for _ in range(MOST_INNER_STEPS):
        gram_times(G, used, direction, image)
        length = left / (direction @ image)
        step += length * direction
        rest -= length * image
        before, left = left, rest @ rest
        if left <= INNER_SHARE * first:
            break
        direction = rest + np.float32(left / before) * direction
    return step


def _pushed_out(G: Floats, h: Floats) -> Indices | None:
    """Return which rows are left of a dependence with positive multipliers h, the largest first; None if it is none."""
    from labelproof.search.dependence_kernels import push_out

    width = G.shape[1]
    basic, others = np.arange(width), np.arange(len(G))[: width - 1 : -1].copy()  # the least multipliers go first
    factors, pivots, singular = dgetrf(G[:width].T)
    if singular:
        return None
    table = plain(dgetrs(factors, pivots, G[others].T, overwrite_b=True)[0].T)
    values = -(h[others] @ table)
    if not (values > 0).all():
        return None
    scratch = np.zeros((PANEL, width)), np.empty(PANEL, np.int64), np.empty(PANEL)
    products = np.empty((len(others), PANEL)), np.empty((len(others), width))
    push_out(table, h[others], values, basic, others, *scratch, *products)
    if not values.min() > LEAST_SHARE * values.max():
        return None
    return np.append(basic, others[-1])
