"""Relevant documents of queries, from TREC's and BEIR's files, as label sets over the rows of an index."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelproof.data.textfile import at, bare_name, read_lines, require_file
from labelproof.errors import DataFormatError
from labelproof.foundation.json_files import parse_json
from labelproof.foundation.wording import some_of
from labelproof.proof.labels import LabelSets

__all__ = ["read_document_names", "read_qrels"]

HEADERS = ({"query-id", "corpus-id", "score"}, {"qid", "pid"}, {"query_id", "doc_id", "relevance"})


@dataclass(frozen=True, eq=False)
class Qrels:
    """Queries with at least one relevant document, in the order of the file; set i is that of query i."""

    queries: tuple[str, ...]
    sets: LabelSets
    n_without: int  # queries all of whose documents have the relevance 0


def read_qrels(path: str | os.PathLike[str], n_documents: int, *, document_names: Sequence[str] | None = None) -> Qrels:
    """Read which documents are relevant to which query.

    ==============================  ==============================================================================
    file                            holds
    ==============================  ==============================================================================
    TREC's, of any other ending     query, 0, document, relevance; separated by tabs, or else by spaces
    three columns                   query, document, relevance (BEIR's, whose header is left out)
    .jsonl                          objects with ``query-id``, ``corpus-id`` and ``score``
    ==============================  ==============================================================================

    A relevance above 0 counts. Documents are called by their names, or without names by their rows, from 0.
    """
    place = Path(path)
    require_file(place)
    numbers = None if document_names is None else {name: i for i, name in enumerate(document_names)}
    relevant: dict[str, dict[int, bool]] = {}
    unknown: list[str] = []
    for line, query, document, relevance in _judgements(place):
        row = _row(document, n_documents) if numbers is None else numbers.get(document)
        if row is None:
            unknown.append(f"{document!r} in line {line}")
            continue
        if row in relevant.setdefault(query, {}):
            raise DataFormatError(f"{at(place, line)}: expected each document once for a query, got {document!r} again")
        relevant[query][row] = relevance > 0
    if unknown:
        rows = f"a row from 0 to {n_documents - 1}" if numbers is None else f"one of {n_documents:,} documents"
        raise DataFormatError(f"{place.name}: expected {rows}, got {some_of(unknown, 1)}")
    if not relevant:
        raise DataFormatError(f"{place.name}: expected lines of query, 0, document and relevance, got an empty file")
    chosen = {query: sorted(row for row, yes in rows.items() if yes) for query, rows in relevant.items()}
    kept = {query: rows for query, rows in chosen.items() if rows}
    if not kept:
        raise DataFormatError(f"{place.name}: expected a relevance above 0 somewhere, got none")
    ends = np.cumsum([0, *(len(rows) for rows in kept.values())])
    flat = np.array([row for rows in kept.values() for row in rows], np.int64)
    return Qrels(tuple(kept), LabelSets(n_documents, ends, flat), len(relevant) - len(kept))


def read_document_names(path: str | os.PathLike[str], n_documents: int) -> list[str]:
    """Read the names of documents in the order of rows: one per line, or in .jsonl the field ``_id`` (or ``id``)."""
    place = Path(path)
    require_file(place)
    is_json = bare_name(place).endswith((".jsonl", ".ndjson"))
    names = [
        _id(place, number, line) if is_json else line.strip() for number, line in read_lines(place) if line.strip()
    ]
    if len(names) != n_documents:
        raise DataFormatError(f"{place.name}: expected {n_documents:,} documents, one per row, got {len(names):,}")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataFormatError(f"{place.name}: expected each document once, got {name!r} twice")
        seen.add(name)
    return names


def _judgements(place: Path) -> Iterator[tuple[int, str, str, float]]:
    is_json = bare_name(place).endswith((".jsonl", ".ndjson"))
    for number, line in read_lines(place):
        if not line.strip() or (number == 1 and any(set(re.split(r"\s+", line.strip())) >= head for head in HEADERS)):
            continue
        query, document, relevance = _fields_of_json(place, number, line) if is_json else _fields(place, number, line)
        try:
            value = float(relevance)
        except ValueError as error:
            raise DataFormatError(f"{at(place, number)}: expected a number as relevance, got {relevance!r}") from error
        yield number, query, document, value


def _fields(place: Path, number: int, line: str) -> tuple[str, str, str]:
    parts = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
    if len(parts) not in (3, 4):
        raise DataFormatError(
            f"{at(place, number)}: expected query, 0, document and relevance, got {len(parts)} columns"
        )
    return parts[0], parts[-2], parts[-1]


def _fields_of_json(place: Path, number: int, line: str) -> tuple[str, str, str]:
    one = _object(place, number, line)
    missing = [key for key in ("query-id", "corpus-id", "score") if key not in one]
    if missing:
        raise DataFormatError(f"{at(place, number)}: expected query-id, corpus-id and score, got no {missing[0]}")
    return str(one["query-id"]), str(one["corpus-id"]), str(one["score"])


def _id(place: Path, number: int, line: str) -> str:
    one = _object(place, number, line)
    name = one.get("_id", one.get("id"))
    if name is None:
        raise DataFormatError(f"{at(place, number)}: expected a document's _id, got none")
    return str(name)


def _object(place: Path, number: int, line: str) -> dict[str, Any]:
    try:
        one = parse_json(line)
    except ValueError as error:
        raise DataFormatError(f"{at(place, number)}: expected JSON ({error})") from error
    if not isinstance(one, dict):
        raise DataFormatError(f"{at(place, number)}: expected an object, got {type(one).__name__}")
    return one


def _row(document: str, n_documents: int) -> int | None:
    return int(document) if document.isdecimal() and int(document) < n_documents else None
