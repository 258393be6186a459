"""The labels of a table's rows: which columns hold them, and what stands in a cell."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse

from labelproof.data.columns import LABELS, is_active, refuse_indicators, split_labels
from labelproof.data.label_matching import LabelLists, LabelTable, Number
from labelproof.errors import DataFormatError

__all__ = ["BITS", "MAX_SHOWN", "as_label", "cell_labels", "read_label_rows"]

MAX_SHOWN = 60
NO_LABELS = ("split", "group", "time")  # roles that other columns have
BITS = ("0", "0.0", "1", "1.0")
_WHOLE = re.compile(r"-?\d+")
Row = tuple[str, Any]
"""Where a row stands, and its cells by column, or its labels where it has nothing else."""


def read_label_rows(
    rows: Iterable[Row], source: str, names: Sequence[str] | None, columns: Sequence[str], part: str | None
) -> LabelTable | LabelLists:
    """Read the labels of rows.

    Parameters
    ----------
    rows
        The rows.
    source
        The file's name.
    names
        Of the model's labels: columns that are called so hold 0 and 1.
    columns
        Those of the labels; default: ``labels``, else columns called as labels, else all.
    part
        Of the split, whose column is called so.
    """
    rest = iter(rows)
    head = next(rest, None)
    if head is None:
        return LabelLists([], [])
    rest = chain([head], rest) if part is None else _of_part(chain([head], rest), part, source)
    if not isinstance(head[1], Mapping):
        return _read_lists(rest, (columns or LABELS)[:1])
    chosen = _chosen(list(head[1]), names, columns, source)
    is_list = len(chosen) == 1 and (columns or chosen[0] in LABELS)
    if is_list and not (_are_labels(chosen, names) and (columns or len(head[1]) == 1)):
        return _read_lists(rest, chosen)
    asked = bool(columns) or _are_labels(chosen, names)
    others = [] if columns else [name for name in head[1] if name not in (*chosen, *NO_LABELS)]
    return _read_indicators(_without_unknown(rest, others, source), chosen, asked=asked, source=source)


def _chosen(present: list[str], names: Sequence[str] | None, columns: Sequence[str], source: str) -> tuple[str, ...]:
    """Return the column of labels, or the columns of 0 and 1."""
    missing = next((name for name in columns if name not in present), None)
    if missing is not None:
        raise DataFormatError(f"{source}: expected a column {missing!r}, got {_listing(present)}")
    if columns:
        return tuple(columns)
    known = set(names or ())
    found = tuple(name for name in present if name in known)
    usual = next(((name,) for name in LABELS if name in present), ())
    if len(found) == len(present):
        return found
    return usual or (found if len(found) > 1 or len(known) == 1 else ()) or tuple(present)


def _without_unknown(rows: Iterable[Row], others: Sequence[str], source: str) -> Iterator[Row]:
    """Yield rows, but refuse columns of 0 and 1 beside those of the labels: are they labels too?"""
    doubtful = dict.fromkeys(others, False)  # whether a 1 was seen
    for where, row in rows:
        for name in [name for name in doubtful if str(row.get(name)) not in BITS]:
            del doubtful[name]
        for name in doubtful:
            doubtful[name] |= str(row[name]) in BITS[2:]
        yield where, row
    unknown = next((name for name, seen in doubtful.items() if seen), None)
    if unknown is not None:
        raise DataFormatError(
            f"{source}: expected columns called as the model's labels, got {unknown!r} of 0 and 1 beside some that "
            "are (columns= says which are labels)"
        )


def _are_labels(columns: Sequence[str], names: Sequence[str] | None) -> bool:
    """Return whether columns are called as labels of the model, and so of 0 and 1."""
    return names is not None and set(columns) <= set(names)


def _of_part(rows: Iterable[Row], part: str, source: str) -> Iterator[Row]:
    seen: dict[str, None] = {}
    for where, row in rows:
        its = str(row["split"]) if isinstance(row, Mapping) and row.get("split") is not None else None
        if its is not None:
            seen[its] = None
        if its == part:
            yield where, row
    if part not in seen:
        raise DataFormatError(f"{source}: expected the part {part!r} of a split, got {', '.join(seen) or 'no parts'}")


def _read_lists(rows: Iterable[Row], column: Sequence[str]) -> LabelLists:
    sets, places = [], []
    for where, row in rows:
        value = row
        if isinstance(row, Mapping):
            name = next((name for name in (*column, *LABELS) if name in row), None)
            if name is None:
                raise DataFormatError(
                    f"{where}: expected a list, or an object with a list of {column[0]!r}, got {_listing(list(row))}"
                )
            value = _once(_told(where, row[name]))
        sets.append(value)
        places.append(where)
    return LabelLists(sets, places)


def _told(where: str, value: Any) -> list[str]:
    try:
        return cell_labels(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise DataFormatError(f"{where}: {error}") from error


def _once(labels: list[str]) -> list[str]:
    return list(dict.fromkeys(labels))


def _read_indicators(rows: Iterable[Row], columns: Sequence[str], *, asked: bool, source: str) -> LabelTable:
    indices: list[int] = []
    ends = [0]
    for where, row in rows:
        try:
            indices += [i for i, name in enumerate(columns) if is_active(row[name], name)]
        except (KeyError, TypeError) as error:
            raise DataFormatError(f"{where}: expected the columns {_listing(columns)}, got others") from error
        except ValueError as error:
            if asked:
                raise DataFormatError(f"{where}: {error}") from error
            raise DataFormatError(
                f"{source}: expected a column 'labels', columns called as the model's labels, or 0 and 1 in all "
                f"columns (columns= names others), got {_listing(columns)}"
            ) from error
        ends.append(len(indices))
    active = np.ones(len(indices), np.bool_)
    matrix = scipy.sparse.csr_array((active, np.array(indices, np.int64), ends), (len(ends) - 1, len(columns)))
    return LabelTable(matrix, tuple(columns))


def cell_labels(value: Any) -> list[str]:
    """Return the labels of a cell or a JSON value: a list of names or numbers, or a string of several.

    >>> cell_labels("cat; 7"), cell_labels([0, "dog"]), cell_labels(None)
    (['cat', '7'], ['0', 'dog'], [])
    """
    if value is None:
        return []
    if isinstance(value, str):
        items = split_labels(value, None)
        bits = [int(item) if isinstance(item, str) and item in ("0", "1") else item for item in items]
        refuse_indicators(bits)
        return [as_label(item) if isinstance(item, str) else _item(item) for item in items]
    items = value.tolist() if isinstance(value, np.ndarray) else value if isinstance(value, list) else [value]
    refuse_indicators([item for item in items if not isinstance(item, bool)])
    return [_item(item) for item in items]


def as_label(text: str) -> str:
    """Return a label that a text names, as a `Number` if it is one.

    >>> isinstance(as_label("-7"), Number), isinstance(as_label("401.9"), Number)
    (True, False)
    """
    return Number(text) if _WHOLE.fullmatch(text) else text


def _item(item: Any) -> str:
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        return Number(item)
    if isinstance(item, str) and item.strip():
        return item
    raise ValueError(f"expected a label's name or index, got {str(item)[:MAX_SHOWN]!r}")


def _listing(names: Sequence[str]) -> str:
    return (", ".join(map(str, names[:12])) or "none") + (", …" if len(names) > 12 else "")
