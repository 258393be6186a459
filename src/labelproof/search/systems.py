"""The rows of a layer in the coordinates of the search: columns scaled by powers of two, rows to unit norm.

Neither changes which systems have a solution. Nothing here is trusted.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import times_power_of_two
from labelproof.proof.sparse_weights import largest_of_rows
from labelproof.search.dependences import ManyRows, RowSample
from labelproof.search.origins import origin
from labelproof.search.time_limits import stop_after

__all__ = ["SearchSystem", "extra_columns", "search_system", "unit_rows"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
ROWS_A_PART = 40  # at least, for each column
MOST_PARTS = 4
ROWS_A_TILE = 128  # that are scored by one product
NUMBERS_AT_ONCE = 2**15  # of rows that are scaled together: they stay in the processor's cache
MODERATE = 400  # exponents up to which scaling in two steps rounds nothing that matters
PAIRS = 1000  # of neighbouring labels that show whether a layer is smooth


@dataclass(frozen=True, eq=False)
class SearchSystem:
    """The rows of a layer in the coordinates of the search.

    Attributes
    ----------
    rows
        float64 (n_rows, width): unit rows; labels first, as for an active label, then the rows that are no label.
    numbers
        The number in `regions` of each row.
    norms, row_exponents
        Each row was divided by its norm, and by 2**row_exponent.
    lengths
        Norm of each row if its largest number, in the coordinates of `regions`, is between ½ and 1.
    column_exponents
        v in the coordinates of `regions` is the search's v times 2**-column_exponents.
    fixed
        float64 (n_fixed, width): equalities of features whose bounds coincide; ``fixed_features`` names them.
    is_smooth
        Whether neighbouring labels have nearly parallel rows, as in a DFT layer.
    weak_zeros
        Labels that hold at every v when they are inactive: zero rows under ties="inactive".
    """

    rows: Floats
    numbers: Indices
    norms: Floats
    row_exponents: npt.NDArray[np.int64]
    lengths: Floats
    column_exponents: npt.NDArray[np.int64]
    fixed: Floats
    fixed_features: Indices
    weak_zeros: Indices
    is_smooth: bool
    n_labels: int

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return self.rows.shape[1]

    @cached_property
    def scored_parts(self) -> npt.NDArray[np.float32]:
        """float32 (n_parts, n_tiles, width, rows of a tile): the rows for fast scoring, a part at a time.

        Of n parts each has every n-th row, so that it is a fair sample. A part is a few rows after the other, so that
        a product reads memory from its beginning to its end; 0 fills up the last ones.
        """
        n, width = self.rows.shape
        n_parts = int(np.clip(n // (ROWS_A_PART * width), 1, MOST_PARTS))
        size = -(-n // n_parts)
        tile = min(size, ROWS_A_TILE)
        table = np.zeros((n_parts, -(-size // tile), width, tile), np.float32)
        for part in range(n_parts):
            some = self.rows[part::n_parts]
            for t, start in enumerate(range(0, len(some), tile)):
                few = some[start : start + tile]
                table[part, t, :, : len(few)] = few.T
        return table

    @cached_property
    def origin(self) -> Floats:
        """Where the search begins."""
        return origin(self.rows, self.n_labels)

    @cached_property
    def sample(self) -> RowSample:
        """Some of the rows, for conflicts of wide layers."""
        return RowSample(self.rows, self.norms > 0)

    @cached_property
    def many_rows(self) -> ManyRows:
        """Some of the rows, for conflicts that may have more rows than they need."""
        return ManyRows(self.rows, self.norms > 0, self.lengths)


def search_system(layer: OutputLayer, deadline: float = np.inf) -> SearchSystem:
    """Scale the rows of a layer for the search; raise OutOfTimeError if that takes until the deadline."""
    n, extra = layer.n_labels, extra_columns(layer)
    row_exponents = _exponents(np.maximum(layer.largest_weights, largest_of_rows(extra)))
    labels, norms, column_exponents = _label_rows(layer.weight, extra, row_exponents, deadline)
    width = labels.shape[1]
    bounds, numbers, fixed, fixed_features = _bound_rows(layer, width, column_exponents)
    unit_bounds, bound_norms = unit_rows(bounds)
    with np.errstate(over="ignore"):
        sizes = _exponents(largest_of_rows(np.ldexp(unit_bounds, column_exponents)))
    bound_lengths = np.ldexp(1.0, -np.clip(sizes, -60, 60))  # single precision holds them
    weak = layer.ties == "inactive" and layer.rule == "sigmoid"
    return SearchSystem(
        np.concatenate([labels, unit_bounds]) if len(bounds) else labels,
        np.concatenate([np.arange(n), numbers]),
        np.concatenate([norms, bound_norms]),
        np.concatenate([row_exponents, np.zeros(len(bounds), np.int64)]),
        np.concatenate([norms, bound_lengths]),
        column_exponents,
        unit_rows(fixed)[0],
        fixed_features,
        np.flatnonzero(norms == 0) if weak else np.empty(0, np.int64),
        n > 4 * width and _is_smooth(labels),
        n,
    )


def _parts(n: int, width: int) -> list[slice]:
    """Cut rows into parts that fit into the processor's cache."""
    step = max(16, NUMBERS_AT_ONCE // width)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _label_rows(
    weight: Floats, extra: Floats, row_exponents: Indices, deadline: float
) -> tuple[Floats, Floats, Indices]:
    """Return the rows of labels to unit norm, the norms that they had, and the exponents of the columns."""
    n, d = weight.shape
    rows, norms = np.empty((n, d + extra.shape[1])), np.empty(n)
    parts, largest = _parts(*rows.shape), np.zeros(rows.shape[1])
    for part in parts:
        stop_after(deadline)
        rows[part, :d], rows[part, d:] = weight[part], extra[part]
        rows[part] = times_power_of_two(rows[part], -row_exponents[part, None])
        largest = np.maximum(largest, np.maximum(rows[part].max(axis=0), -rows[part].min(axis=0)))
    column_exponents = _exponents(largest)
    is_moderate = max(np.abs(row_exponents).max(), np.abs(column_exponents).max()) <= MODERATE
    for part in parts:
        stop_after(deadline)
        some = rows[part]  # the largest number of each row is between ½ and 1 from here on
        if is_moderate:
            some *= np.ldexp(1.0, -column_exponents)
        else:  # at once, since subnormal numbers would be rounded in between
            given = np.concatenate([weight[part], extra[part]], axis=1)
            some[:] = times_power_of_two(given, -row_exponents[part, None] - column_exponents)
        norms[part] = np.sqrt(np.einsum("ij,ij->i", some, some))
        some /= np.where(norms[part] == 0, 1.0, norms[part])[:, None]
    return rows, norms, column_exponents


def _is_smooth(rows: Floats) -> bool:
    """Return whether most neighbours are nearly parallel."""
    some = np.arange(0, len(rows) - 1, 1 + len(rows) // PAIRS)
    return bool(np.median(np.einsum("ij,ij->i", rows[some], rows[some + 1])) > 0.99)


def extra_columns(layer: OutputLayer) -> Floats:
    """Return the columns of label rows for scale and threshold, as far as there are any."""
    n, columns = layer.n_labels, [np.empty((layer.n_labels, 0))]
    if not layer.is_cone:  # on a cone, scaling x meets sparsemax's sum
        columns.append((np.zeros(n) if layer.offset is None else layer.offset)[:, None])
    if layer.has_threshold:
        columns.append(np.full((n, 1), -1.0))
    return np.concatenate(columns, axis=1)


def _exponents(largest: Floats) -> npt.NDArray[np.int64]:
    """Return e for each number such that it is below 2**e, and at least half of that."""
    return np.where(largest > 0, np.frexp(largest)[1], 0).astype(np.int64)


def unit_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Return the rows over their norms, and the norms; zero rows stay zero."""
    exponents = _exponents(largest_of_rows(rows))
    scaled = times_power_of_two(rows, -exponents[:, None])
    norms = np.linalg.norm(scaled, axis=1)
    unit = scaled / np.where(norms == 0, 1.0, norms)[:, None]
    return np.ascontiguousarray(unit), np.ldexp(norms, exponents)


def _bound_rows(
    layer: OutputLayer, width: int, column_exponents: npt.NDArray[np.int64]
) -> tuple[Floats, Indices, Floats, Indices]:
    """Return the rows for scale and domain with their numbers, and the equalities of fixed features."""
    d = layer.d
    rows, numbers, fixed, features = [], [], [], []
    if not layer.is_cone:
        rows.append(_unit(width, d))
        numbers.append(layer.scale_row)
    low = np.full(d, -np.inf) if layer.low is None else layer.low
    high = np.full(d, np.inf) if layer.high is None else layer.high
    for j in range(d):
        feature = _unit(width, j)
        floor, ceiling = feature.copy(), -feature
        if not layer.is_cone:
            with np.errstate(over="ignore"):
                shift = int(column_exponents[j] - column_exponents[d])
                floor[d], ceiling[d] = np.clip(np.ldexp([-low[j], high[j]], shift), -1e300, 1e300)
        if low[j] == high[j]:
            fixed.append(floor)
            features.append(j)
            continue
        if np.isfinite(low[j]):
            rows.append(floor)
            numbers.append(layer.low_row(j))
        if np.isfinite(high[j]):
            rows.append(ceiling)
            numbers.append(layer.high_row(j))
    stacked = (np.array(r).reshape(-1, width) for r in (rows, fixed))
    return next(stacked), np.array(numbers, np.int64), next(stacked), np.array(features, np.int64)


def _unit(width: int, j: int) -> Floats:
    unit = np.zeros(width)
    unit[j] = 1.0
    return unit
