"""Which tokens can a language model never rank first, whatever stands before its output layer?

A token is the argmax of one decoding step iff its logit exceeds all others: the rule topk with sets of one label. One
that never is lies in the convex hull of others, its rivals: whatever the input, one of them scores at least as high.
"""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from labelproof.auditing.folders import as_stored, write_folder
from labelproof.auditing.request import Verifier, Work
from labelproof.foundation.arguments import check_share, is_share_reached
from labelproof.foundation.engines import Engine
from labelproof.foundation.release import __version__
from labelproof.foundation.wording import percent, some_of
from labelproof.importers import ImportedLayer, layer_of, read_vocabulary
from labelproof.proof.labels import LabelSets
from labelproof.proof.result import Verification
from labelproof.proof.sparse_weights import sha256_of

__all__ = ["NeverToken", "VocabularyAudit", "VocabularyDocument", "audit_vocabulary"]

FORMAT = "labelproof-vocabulary"
MOST_RIVALS = 5
MOST_NEAREST = 3
CHECK_COMMAND = "labelproof check proofs-tokens.npz --weights layer.npz"
Floats = npt.NDArray[np.float64]


class Rival(TypedDict):
    """A token that keeps another one from the first place, and its part in that; all parts add up to 1."""

    token: int
    share: float


class NeverToken(TypedDict):
    """A token that is never the argmax."""

    token: int
    twins: list[int]  # tokens with exactly the same weights and bias
    together: int | None  # whether some input ranks it first together with its twins: 1, 0, or -1 undecided
    n_rivals: int  # tokens one of which always scores at least as high
    rivals: list[Rival]  # the heaviest of them; empty where they were not computed
    nearest: list[int]  # tokens whose weights are nearest to its own; empty where they were not computed
    sentence: str


class VocabularyLayer(TypedDict):
    """Which layer was audited."""

    model: str
    kind: str
    source: str
    n_tokens: int
    n_features: int
    dtype: str
    bias: bool
    before: str | None
    sha256: str
    notes: list[str]


class VocabularyDocument(TypedDict):
    """All of an audit of a vocabulary but the proofs."""

    format: str
    version: int
    labelproof: str
    headline: str
    layer: VocabularyLayer
    token_names: list[str]
    can: int
    never: list[NeverToken]
    undecided: list[int]
    fail_under: float | None
    passed: bool
    check_command: str
    seconds: float


@dataclass(frozen=True, eq=False)
class VocabularyAudit:
    """Which tokens a language model can rank first, with proofs.

    Attributes
    ----------
    layer
        The output layer that was found.
    verification
        Verdict and proof for each token.
    twins
        For each group of tokens with the same weights, whether they can be first together; None without any.
    document
        Everything that the report shows, as JSON has it.

    Examples
    --------
    >>> found = audit_vocabulary(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]]))
    >>> found.verification.status.tolist(), found.document["can"]
    ([1, 1, 1, 0], 3)
    """

    layer: ImportedLayer = field(repr=False)
    verification: Verification = field(repr=False)
    twins: Verification | None = field(repr=False)
    document: VocabularyDocument = field(repr=False)

    def __repr__(self) -> str:
        return f"VocabularyAudit({self.document['headline']!r})"

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``audit.json``, the layer and the proofs to a folder, new, empty or with an earlier audit."""
        write_folder(folder, self._write)

    def _write(self, folder: Path) -> None:
        text = json.dumps(self.document, ensure_ascii=False, allow_nan=False)
        (folder / "audit.json").write_text(text, encoding="utf-8")
        bias = {} if self.layer.bias is None else {"bias": self.layer.bias}
        arrays: dict[str, Any] = {"weight": as_stored(self.layer.weight), **bias}
        np.savez(folder / "layer.npz", label_names=np.array(self.document["token_names"], np.str_), **arrays)
        self.verification.save(folder / "proofs-tokens.npz")
        if self.twins is not None:
            self.twins.save(folder / "proofs-twins.npz")


def audit_vocabulary(
    model: Any,
    *,
    weight_key: str | None = None,
    token_names: Sequence[str] | None = None,
    n_explained: int = 200,
    fail_under: float | None = None,
    n_jobs: int | None = None,
    engine: Engine = "local",
    keep: str | os.PathLike[str] | None = None,
    time_limit: float | None = 60.0,
    progress: bool = False,
) -> VocabularyAudit:
    """Find out, with proof, which tokens a language model can never rank first.

    Parameters
    ----------
    model
        A path as for `labelproof.importers.read_vocabulary`, an array of weights (n_tokens, d), or an `ImportedLayer`.
    weight_key
        Which tensor scores the tokens, where a model leaves that open.
    token_names
        One for each row, where the model has none.
    n_explained
        For how many of the tokens that are never first to name the nearest rivals.
    fail_under
        The least share of the tokens that must be proven able to come first.
    n_jobs, engine, keep, time_limit, progress
        As for `labelproof.verify`; the time limit, in seconds, is for one token.

    Returns
    -------
    VocabularyAudit

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.25, 0.25]])
    >>> found = audit_vocabulary(rows, token_names=["a", "b", "c", "the"])
    >>> found.document["headline"]
    '1 of 4 tokens can never be ranked first, whatever the input.'
    >>> found.document["never"][0]["sentence"].split(";")[0]
    'the (token 3) never scores above all of 3 others, whatever the input'
    """
    start = time.perf_counter()
    if fail_under is not None:
        check_share("fail_under", fail_under)
    if n_explained < 0:
        raise ValueError(f"n_explained must not be negative, got {n_explained}")
    found = _layer(model, weight_key)
    names = _names(found, token_names)
    work = Work(n_jobs=n_jobs, engine=engine, keep=keep, time_limit=time_limit, progress=progress)
    verifier = Verifier(found.weight, found.bias, work, rule="topk")
    n = found.n_labels
    v = verifier.verify(LabelSets(n, np.arange(n + 1), np.arange(n)))
    groups = _twins(found, np.flatnonzero(v.status == 0))
    together = verifier.verify(groups) if groups else None
    never = _never(v, groups, together, names, n_explained)
    can = int((v.status == 1).sum())
    document: VocabularyDocument = {
        "format": FORMAT,
        "version": 1,
        "labelproof": __version__,
        "headline": _headline(v, never),
        "layer": _facts(found),
        "token_names": names,
        "can": can,
        "never": never,
        "undecided": np.flatnonzero(v.status == -1).tolist(),
        "fail_under": fail_under,
        "passed": fail_under is None or is_share_reached(can, n, fail_under),
        "check_command": CHECK_COMMAND,
        "seconds": round(time.perf_counter() - start, 3),
    }
    return VocabularyAudit(replace(found, label_names=tuple(names)), v, together, document)


def _layer(model: Any, weight_key: str | None) -> ImportedLayer:
    if isinstance(model, ImportedLayer):
        return model
    if isinstance(model, str | os.PathLike):
        return read_vocabulary(model, weight_key=weight_key)
    return layer_of(model, weight_key=weight_key)


def _names(found: ImportedLayer, given: Sequence[str] | None) -> list[str]:
    names = list(given if given is not None else found.label_names or (f"#{i}" for i in range(found.n_labels)))
    if len(names) != found.n_labels:
        raise ValueError(f"token_names must hold {found.n_labels} names, one for each row, got {len(names)}")
    return names


def _facts(found: ImportedLayer) -> VocabularyLayer:
    return {
        "model": found.model,
        "kind": found.kind,
        "source": found.source,
        "n_tokens": found.n_labels,
        "n_features": found.n_features,
        "dtype": found.dtype,
        "bias": found.bias is not None,
        "before": found.before,
        "sha256": sha256_of(found.weight),
        "notes": list(found.notes),
    }


def _twins(found: ImportedLayer, never: npt.NDArray[np.int64]) -> list[list[int]]:
    """Return the groups of tokens with exactly the same weights and bias, of which none is ever first alone."""
    groups: dict[bytes, list[int]] = {}
    for i in never.tolist():
        row = found.weight[i] if found.bias is None else np.append(found.weight[i], found.bias[i])
        groups.setdefault((row + 0.0).tobytes(), []).append(i)
    return [group for group in groups.values() if 1 < len(group) < found.n_labels]


def _never(
    v: Verification,
    groups: list[list[int]],
    together: Verification | None,
    names: list[str],
    n_explained: int,
) -> list[NeverToken]:
    group_of = {token: place for place, group in enumerate(groups) for token in group}
    never: list[NeverToken] = []
    for token in np.flatnonzero(v.status == 0).tolist():
        place = group_of.get(token)
        status = None if place is None or together is None else int(together.status[place])
        twins = [] if place is None else [other for other in groups[place] if other != token]
        rows = v.conflict_rows[v.conflict_ptr[token] : v.conflict_ptr[token + 1]]
        others = [row for row in rows[rows < v.layer.n_labels].tolist() if row != token]
        rivals = _rivals(v, token, others) if len(never) < n_explained and not twins else []
        nearest = _nearest(v, token) if rivals else []
        if twins:
            sentence = _twin_sentence(names, token, twins, status)
        else:
            sentence = _sentence(names, token, others, rivals, nearest)
        never.append(
            {
                "token": token,
                "twins": twins,
                "together": status,
                "n_rivals": len(others),
                "rivals": rivals,
                "nearest": nearest,
                "sentence": sentence,
            }
        )
    return never


def _rivals(v: Verification, token: int, others: list[int]) -> list[Rival]:
    """Return the tokens of a conflict with the largest parts in the mean that the token never exceeds."""
    layer = v.layer
    rows = layer.weight[[token, *others]]
    if layer.offset is not None:
        rows = np.column_stack([rows, layer.offset[[token, *others]]])
    scale = float(np.abs(rows).max()) or 1.0
    system = np.column_stack([rows / scale, np.ones(len(rows))]).T  # (width, 1 + others)
    columns = [system[:, 1:]]
    if layer.offset is not None:  # the mean may exceed the token by a constant
        columns.append(np.where(np.arange(len(system)) == len(system) - 2, -1.0, 0.0)[:, None])
    parts = np.linalg.lstsq(np.column_stack(columns), system[:, 0])[0][: len(others)].clip(min=0.0)
    order = np.argsort(-parts, kind="stable")[:MOST_RIVALS].tolist()
    total = float(parts.sum()) or 1.0
    return [{"token": others[i], "share": float(f"{parts[i] / total:.4g}")} for i in order]


def _nearest(v: Verification, token: int) -> list[int]:
    """Return the tokens whose weights and bias are nearest to a token's own."""
    layer = v.layer
    distances = ((layer.weight - layer.weight[token]) ** 2).sum(axis=1)
    if layer.offset is not None:
        distances += (layer.offset - layer.offset[token]) ** 2
    distances[token] = np.inf
    return np.argsort(distances, kind="stable")[:MOST_NEAREST].tolist()


def _called(names: list[str], token: int) -> str:
    return f"{names[token]} (token {token})"


def _sentence(names: list[str], token: int, others: list[int], rivals: list[Rival], nearest: list[int]) -> str:
    text = f"{_called(names, token)} never scores above all of {len(others):,} others, whatever the input"
    if not rivals:
        return f"{text}."
    heaviest = ", ".join(f"{names[one['token']]} ({percent(round(1e4 * one['share']), 10_000)})" for one in rivals)
    close = ", ".join(names[one] for one in nearest)
    return f"{text}; its logit is at most a weighted mean of theirs: {heaviest}. Nearest to its weights: {close}."


def _twin_sentence(names: list[str], token: int, twins: list[int], together: int | None) -> str:
    who = some_of([names[twin] for twin in twins], 1)
    outcome = {
        1: "it can tie for the first place, and never has it alone",
        0: "no input ranks them first, even together",
    }.get(-1 if together is None else together, "it never has the first place alone")
    return f"{_called(names, token)} has exactly the weights of {who}: {outcome}."


def _headline(v: Verification, never: list[NeverToken]) -> str:
    n, n_open = len(v), int((v.status == -1).sum())
    if never:
        text = f"{len(never):,} of {n:,} tokens can never be ranked first, whatever the input."
        twins = sum(bool(one["twins"]) for one in never)
        if twins:
            which = (
                "All of these have" if twins == len(never) else f"{twins:,} of these {'has' if twins == 1 else 'have'}"
            )
            text += f" {which} exactly the weights of another token, with which they can tie at best."
    elif n_open:
        text = f"None of the {n:,} tokens was proven to be out of reach."
    else:
        text = f"Every one of the {n:,} tokens can be ranked first by the output layer."
    return text + (f" {n_open:,} {'is' if n_open == 1 else 'are'} undecided." if n_open else "")
