"""Which relevant documents can no query vector return together from an embedding index?

A query vector q returns the k documents with the largest q·w. Which sets of k it can return at all is decided by the
stored vectors alone: the rule topk, with documents as labels. The sweep over widths asks how far vectors may be cut.
"""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.auditing.depths import Depths, measure_depths
from labelproof.auditing.folders import as_stored, write_folder
from labelproof.auditing.index_document import FORMAT, AtDepth, AtWidth, Impossible, IndexDocument, IndexFacts, files_of
from labelproof.auditing.index_wording import index_headline, index_notes, sentence_of
from labelproof.auditing.label_sets import distinct_sets
from labelproof.auditing.request import Verifier, Work
from labelproof.foundation.arguments import check_share, is_share_reached
from labelproof.foundation.engines import Engine
from labelproof.foundation.release import __version__
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.result import Verification
from labelproof.search.whitened import whitened_points

__all__ = ["IndexAudit", "audit_index", "default_widths"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
LEAST_WIDTH = 4
DEPTHS = (5, 10)


@dataclass(frozen=True, eq=False)
class IndexAudit:
    """Which sets of relevant documents an index can return, at several widths, with proofs.

    Attributes
    ----------
    verifications
        By width, the verdict and proof for each distinct set of relevant documents.
    depths
        By width, among how many best documents each of them can be.
    document
        Everything that the report shows, as JSON has it.

    Examples
    --------
    >>> found = audit_index([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]], [[0], [3]], widths=[2])
    >>> found.verifications[2].status.tolist(), found.document["narrowest"]
    ([1, 0], None)
    """

    verifications: dict[int, Verification] = field(repr=False)
    depths: dict[int, Depths] = field(repr=False)
    document: IndexDocument = field(repr=False)

    def __repr__(self) -> str:
        return f"IndexAudit({self.document['headline']!r})"

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``audit.json``, and for each width the vectors as proven and the proofs, to a folder."""
        write_folder(folder, self._write)

    def _write(self, folder: Path) -> None:
        text = json.dumps(self.document, ensure_ascii=False, allow_nan=False)
        (folder / "audit.json").write_text(text, encoding="utf-8")
        for width, v in self.verifications.items():
            proofs, layer = files_of(width)
            np.savez(folder / layer, weight=as_stored(v.layer.weight))
            v.save(folder / proofs)
            for step, deeper in enumerate(self.depths[width].proofs):
                deeper.save(folder / f"proofs-{width}-deeper-{step}.npz")


def audit_index(
    embeddings: Any,
    relevant: Any,
    *,
    queries: Sequence[str] | None = None,
    document_names: Sequence[str] | None = None,
    cosine: bool = False,
    widths: Sequence[int] | None = None,
    depths: Sequence[int] = DEPTHS,
    n_listed: int = 20,
    fail_under: float | None = None,
    name: str = "the index",
    n_jobs: int | None = None,
    engine: Engine = "local",
    keep: str | os.PathLike[str] | None = None,
    time_limit: float | None = 60.0,
    progress: bool = False,
) -> IndexAudit:
    """Find out, with proof, which sets of relevant documents no query vector can return as its best.

    Parameters
    ----------
    embeddings
        Vectors of the documents, (n_documents, d).
    relevant
        For each query its relevant documents: lists of row numbers, or what else `labelproof.verify` takes as labels.
    queries, document_names
        What to call them; by default by number.
    cosine
        Divide each vector by its length, after cutting it; the quotients, rounded once to the type of ``embeddings``,
        are then taken as exact. By default documents are ranked by the dot product.
    widths
        To how many of its first numbers to cut each vector; by default all of them, and powers of two from 4 on.
    depths
        Numbers k: also decide whether some vector has all relevant documents among its best k.
    n_listed
        How many impossible sets to list.
    fail_under
        The least share of the queries that must be possible at the largest width.
    name
        Of the index, for people.
    n_jobs, engine, keep, time_limit, progress
        As for `labelproof.verify`; the time limit, in seconds, is for one set.

    Returns
    -------
    IndexAudit

    Examples
    --------
    >>> points = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> found = audit_index(points, [[0, 1], [0, 2]], widths=[2], depths=[3])
    >>> found.document["headline"]
    'At width 2, 1 of 2 queries has relevant documents that no query vector ranks above all others.'
    >>> [(at["k"], at["possible"], at["impossible"]) for at in found.document["widths"][0]["depths"]]
    [(None, 1, 1), (3, 2, 0)]
    """
    start = time.perf_counter()
    matrix = _matrix(embeddings)
    if fail_under is not None:
        check_share("fail_under", fail_under)
    asked = _widths(widths, matrix.shape[1])
    ks = _depths(depths, len(matrix))
    every = read_label_sets(relevant, len(matrix))
    if not len(every) or (np.diff(every.indptr) == 0).any():
        raise ValueError("relevant must hold at least one query, and a document for each, got a query without any")
    called = _names("queries", queries, len(every)) or [f"query {i}" for i in range(len(every))]
    names = _names("document_names", document_names, len(matrix))
    sets, counts = distinct_sets(every)
    work = Work(n_jobs=n_jobs, engine=engine, keep=keep, time_limit=time_limit, progress=progress)
    verifications, measured, rows = {}, {}, []
    for width in asked:
        began = time.perf_counter()
        v = verifications[width] = Verifier(cut(matrix, width, cosine=cosine), None, work, rule="topk").verify(sets)
        measured[width] = _measure(v, ks, replace(work, progress=False))
        rows.append(_at_width(width, v, measured[width], counts, ks, began))
    facts = _facts(name, matrix, cosine, sets, len(every))
    passed = fail_under is None or is_share_reached(rows[-1]["depths"][0]["possible"], len(every), fail_under)
    document: IndexDocument = {
        "format": FORMAT,
        "version": 1,
        "labelproof": __version__,
        "headline": index_headline(rows),
        "index": facts,
        "document_names": names,
        "ks": ks,
        "widths": rows,
        "narrowest": _narrowest(rows),
        "impossible": _impossible(every, called, names, sets, verifications, measured, n_listed),
        "notes": index_notes(facts, asked),
        "fail_under": fail_under,
        "passed": passed,
        "seconds": round(time.perf_counter() - start, 3),
    }
    return IndexAudit(verifications, measured, document)


def default_widths(d: int) -> list[int]:
    """Return the widths of the sweep: powers of two from 4 on, and the full one.

    Examples
    --------
    >>> default_widths(384), default_widths(3)
    ([4, 8, 16, 32, 64, 128, 256, 384], [3])
    """
    powers = [2**e for e in range(2, 40) if LEAST_WIDTH <= 2**e < d]
    return [*powers, d]


def cut(matrix: npt.NDArray[Any], width: int, *, cosine: bool = False) -> npt.NDArray[Any]:
    """Return the first numbers of each vector; for cosine over its length, in the type of the matrix."""
    rows = matrix[:, :width]
    if not cosine:
        return rows
    exact = rows.astype(np.float64)
    scaled = exact / np.maximum(np.abs(exact).max(axis=1, keepdims=True), 5e-324)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    empty = np.flatnonzero(lengths[:, 0] == 0)
    if len(empty):
        raise ValueError(f"embeddings must have no zero vector under cosine, got row {empty[0]} at width {width}")
    kind = matrix.dtype if matrix.dtype.kind == "f" else np.float64
    return (scaled / lengths).astype(kind)


def _matrix(embeddings: Any) -> npt.NDArray[Any]:
    matrix = np.asarray(embeddings)
    if matrix.ndim != 2 or 0 in matrix.shape or matrix.dtype.kind not in "fiu" or matrix.dtype.itemsize > 8:
        what = f"{matrix.dtype} of shape {matrix.shape}"
        raise ValueError(f"embeddings must be numbers of shape (n_documents, d), got {what}")
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(f"embeddings must be finite, got {matrix[row, column]} in row {row}, column {column}")
    return matrix


def _widths(widths: Sequence[int] | None, d: int) -> list[int]:
    if widths is None:
        return default_widths(d)
    wrong = [width for width in widths if not 1 <= width <= d]
    if wrong or not len(widths):
        raise ValueError(
            f"widths must be from 1 to the index's {d} numbers a vector, got {wrong[0] if wrong else 'none'}"
        )
    return sorted({int(width) for width in widths})


def _depths(depths: Sequence[int], n_documents: int) -> list[int]:
    wrong = [k for k in depths if k < 1]
    if wrong:
        raise ValueError(f"depths must be positive numbers of documents, got {wrong[0]}")
    return sorted({int(k) for k in depths if k < n_documents})


def _names(what: str, names: Sequence[str] | None, n: int) -> list[str] | None:
    if names is not None and len(names) != n:
        raise ValueError(f"{what} must hold {n} names, got {len(names)}")
    return None if names is None else list(names)


def _measure(v: Verification, ks: list[int], work: Work) -> Depths:
    verifier = Verifier(v.layer.weight, None, work, rule="topk")
    return measure_depths(v, max(ks, default=0), verifier.verify, lambda some: _guesses(v.layer, some))


def _guesses(layer: OutputLayer, sets: LabelSets) -> list[Indices]:
    """Return for each set the documents that its whitened candidate ranks no lower than the last of the set."""
    guesses = []
    for x, rows in zip(whitened_points(layer, sets), sets, strict=True):
        logits = layer.weight @ x
        guesses.append(np.union1d(rows, np.flatnonzero(logits >= logits[rows].min())))
    return guesses


def _at_width(width: int, v: Verification, depths: Depths, counts: Indices, ks: list[int], began: float) -> AtWidth:
    sizes = np.diff(v.label_sets.indptr)
    columns = [_at_depth(None, v.status == 1, v.status == 0, counts, np.full(len(v), True))]
    for k in ks:
        possible = (depths.most >= 0) & (depths.most <= k)
        columns.append(_at_depth(k, possible, depths.least > k, counts, sizes <= k))
    return {
        "width": width,
        "depths": columns,
        "check_command": "labelproof check {} --weights {}".format(*files_of(width)),
        "seconds": round(time.perf_counter() - began, 3),
    }


def _at_depth(
    k: int | None,
    possible: npt.NDArray[np.bool_],
    impossible: npt.NDArray[np.bool_],
    counts: Indices,
    asked: npt.NDArray[np.bool_],
) -> AtDepth:
    yes, no, all_ = (int(counts[asked & which].sum()) for which in (possible, impossible, asked))
    return {"k": k, "queries": all_, "possible": yes, "impossible": no, "open": all_ - yes - no}


def _narrowest(rows: list[AtWidth]) -> int | None:
    """Return the least width such that it and all larger ones lose nothing."""
    narrowest = None
    for row in reversed(rows):
        if row["depths"][0]["possible"] < row["depths"][0]["queries"]:
            break
        narrowest = row["width"]
    return narrowest


def _facts(name: str, matrix: npt.NDArray[Any], cosine: bool, sets: LabelSets, n_queries: int) -> IndexFacts:
    sizes = np.diff(sets.indptr)
    rows = cut(matrix, matrix.shape[1], cosine=cosine) + 0.0
    _, repeats = np.unique([row.tobytes() for row in rows], return_counts=True)
    return {
        "name": name,
        "n_documents": len(matrix),
        "n_features": matrix.shape[1],
        "dtype": str(matrix.dtype),
        "cosine": cosine,
        "n_queries": n_queries,
        "n_sets": len(sets),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "twins": int(repeats[repeats > 1].sum()),
    }


def _impossible(
    every: LabelSets,
    called: list[str],
    names: list[str] | None,
    sets: LabelSets,
    verifications: dict[int, Verification],
    depths: dict[int, Depths],
    most: int,
) -> list[Impossible]:
    """List impossible sets of the largest width that has some, those of most queries first."""
    width = next((w for w, v in reversed(verifications.items()) if (v.status == 0).any()), None)
    if width is None:
        return []
    v, depth = verifications[width], depths[width]
    asked: dict[bytes, list[str]] = {}
    for query, rows in zip(called, every, strict=True):
        asked.setdefault(rows.tobytes(), []).append(query)
    listed: list[Impossible] = []
    for i in np.flatnonzero(v.status == 0)[:most].tolist():
        conflict = v.conflict_rows[v.conflict_ptr[i] : v.conflict_ptr[i + 1]]
        one: Impossible = {
            "width": width,
            "queries": asked[sets[i].tobytes()],
            "documents": sets[i].tolist(),
            "rivals": np.setdiff1d(conflict[conflict < len(v.layer.weight)], sets[i]).tolist(),
            "least": int(depth.least[i]),
            "most": int(depth.most[i]) if depth.most[i] >= 0 else None,
            "sentence": "",
        }
        listed.append({**one, "sentence": sentence_of(one, names)})
    return listed
