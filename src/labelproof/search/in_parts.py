"""Verify more label sets than fit into memory: part after part to disk, and on from there after an interruption."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from labelproof.errors import DataFormatError
from labelproof.foundation.arguments import whole_number
from labelproof.foundation.digests import digest_of
from labelproof.foundation.engines import Engine, require_engine, require_threads
from labelproof.foundation.progress import progress_bar
from labelproof.foundation.release import __version__
from labelproof.foundation.threads import as_threads_are_free
from labelproof.proof.labels import LabelSets
from labelproof.proof.parts import (
    RUN_FILE,
    LabelDigest,
    Run,
    VerificationParts,
    part_name,
    read_run,
    write_part,
    write_run,
)
from labelproof.proof.regions import Domain, OutputLayer, Rule, Ties
from labelproof.proof.result import Verification
from labelproof.search.engines import answers, block_of, part_size_of
from labelproof.search.findings import join
from labelproof.search.questions import DecisionRule, Question, ask
from labelproof.search.whitened import Candidates

__all__ = ["answer_in_kept_parts", "verify_in_parts"]

READ_AT_ONCE = 100_000  # label sets


def verify_in_parts(
    weight: Any,
    labels: Any,
    folder: str | os.PathLike[str],
    *,
    bias: Any = None,
    thresholds: Any = None,
    rule: Rule | DecisionRule = "sigmoid",
    ties: Ties = "open",
    domain: Domain = None,
    radius: bool = False,
    box: float = 1e4,
    eps: float = 1e-8,
    time_limit: float | None = None,
    label_names: Sequence[str] | None = None,
    part_size: int | None = None,
    n_jobs: int | None = None,
    engine: Engine = "local",
    sample: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> VerificationParts:
    """Decide any number of label sets as `verify` does, with proofs that go to disk as they are found.

    The folder is sound at any moment: parts appear complete, one after the other. The same call again, after it was
    killed or interrupted, decides the parts that are missing, and the result is the same as without the interruption.

    Parameters
    ----------
    weight, labels
        As for `verify`. Label sets larger than memory: see `labelproof.data.label_sets_on_disk`.
    folder
        Where the parts go; it is made if it is not there.
    bias, thresholds, rule, ties, domain, radius, box, eps, time_limit
        As for `verify`.
    label_names
        One name for each label, kept for those who show the result.
    part_size
        Label sets in a part; by default as many as are decided in some seconds, up to 10,000.
    n_jobs, engine, sample, seed, progress
        As for `verify`.

    Returns
    -------
    VerificationParts
        ``len``, ``status``, the certificate of each set by index, and ``check()``, as of `Verification`, read from
        disk; ``parts()`` yields the parts one after the other.

    Raises
    ------
    DataFormatError
        If the folder holds something else: another run, other files, or a part that does not fit.

    Examples
    --------
    >>> import tempfile
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     v = verify_in_parts(weight, [[], [0], [0, 1], [0, 1, 2]], f"{folder}/results", part_size=2)
    ...     v.status.tolist(), v[3].conflict, [len(part) for part in v.parts()]
    ([0, 1, 1, 0], (0, 1, 2), [2, 2])
    """
    require_engine(engine)
    require_threads(n_jobs)
    if part_size is not None:
        whole_number("part_size", part_size, minimum=1)
    question = ask(
        weight,
        bias=bias,
        thresholds=thresholds,
        rule=rule,
        ties=ties,
        domain=domain,
        radius=radius,
        box=box,
        eps=eps,
        certify=True,
        time_limit=time_limit,
    )
    sets, chosen = question.read(labels, sample, seed)
    if not len(sets):
        raise ValueError("labels must hold at least one label set, got none")
    if label_names is not None and len(label_names) != sets.n_labels:
        raise ValueError(f"label_names must hold {sets.n_labels} names, one for each label, got {len(label_names)}")
    question = replace(question, candidates=Candidates(question.layer, len(sets)))
    names = None if label_names is None else list(label_names)
    size = part_size or part_size_of(question.layer)
    limit = None if time_limit is None else float(time_limit)
    run = Run(len(sets), size, _hash_of(sets), limit, names, chosen)
    with progress_bar("verifying", len(sets), show=progress) as advance:
        return _decide_parts(question, sets, run, Path(folder), part_size, engine, n_jobs, advance)


def answer_in_kept_parts(
    question: Question, sets: LabelSets, keep: Path, engine: Engine, n_jobs: int | None, advance: Callable[[int], None]
) -> Verification:
    """Decide label sets in parts, in a folder within ``keep`` that has the name of what is asked, and join them."""
    size = part_size_of(question.layer)
    run = Run(len(sets), size, _hash_of(sets), question.time_limit)
    layer, asked = question.layer, (question.box, question.eps, question.time_limit, size, run.labels_sha256)
    pieces = (__version__, *_layer_pieces(layer), *asked)
    folder = keep / f"verdicts-{digest_of(pieces)}"
    folder.mkdir(parents=True, exist_ok=True)
    question = replace(question, candidates=Candidates(layer, len(sets)))
    found: dict[int, Verification] = {}
    v = _decide_parts(question, sets, run, folder, size, engine, n_jobs, advance, found.__setitem__)
    return join(layer, sets, [found.get(part) or v.part(part) for part in range(run.n_parts)])


def _layer_pieces(layer: OutputLayer) -> Iterator[Any]:
    yield from (layer.weight_sha256, layer.rule, layer.ties, layer.temperature)
    yield from (layer.offset, layer.offset_error, layer.theta, layer.low, layer.high)
    for ball in layer.balls:
        yield from (ball.start, ball.stop, ball.radius, ball.centre)


def _decide_parts(
    question: Question,
    sets: LabelSets,
    run: Run,
    folder: Path,
    part_size: int | None,
    engine: Engine,
    n_jobs: int | None,
    advance: Callable[[int], None],
    written: Callable[[int, Verification], None] = lambda *_: None,
) -> VerificationParts:
    """Decide the parts that a folder lacks, and tell of each when it is written."""
    with _alone(folder):
        v = VerificationParts(folder, _begin(folder, run, part_size), question.layer)
        _require_parts_of(v, question, sets, n_jobs, advance)
        missing = v.missing
        blocks = (block_of(sets, *v.run.ends(part)) for part in missing)
        found = answers(question, blocks, engine, n_blocks=len(missing), n_jobs=n_jobs, advance=advance)
        with closing(found):  # which ends its threads, whatever happens
            for part, answer in zip(missing, found, strict=True):
                write_part(v.folder, part, answer)
                written(part, answer)
    return v


def _hash_of(sets: LabelSets) -> str:
    digest = LabelDigest()
    for start in range(0, len(sets), READ_AT_ONCE):
        digest.update(block_of(sets, start, start + READ_AT_ONCE))
    return digest.hexdigest()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make the folder, and keep other processes from writing to it; where there are no such locks, hope."""
    folder.mkdir(exist_ok=True)
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise DataFormatError(f"{folder}: another process is writing to this folder") from None
    try:
        yield
    finally:
        os.close(handle)  # and with it the lock, as when the process is killed


def _begin(folder: Path, run: Run, part_size: int | None) -> Run:
    """Write what the parts will be, or read it where that has been done; refuse a folder of something else."""
    drafts = {*folder.glob(".part-*.part"), *folder.glob(f".{RUN_FILE}.*.part")}  # of a process that was killed
    is_new = set(folder.iterdir()) == drafts
    old = run if is_new else read_run(folder)
    for draft in drafts:
        draft.unlink()
    if is_new:
        write_run(folder, run)
        return run
    if part_size is None:
        run = replace(run, part_size=old.part_size)
    for name in Run.__dataclass_fields__:
        if getattr(old, name) != getattr(run, name):
            what = {"n_sets": "another number of label sets", "labels_sha256": "other label sets"}.get(
                name, f"another {name.replace('_', ' ').removesuffix('s')}"
            )
            raise DataFormatError(f"{folder}: holds a run with {what}: name another folder, or delete this one")
    return old


def _require_parts_of(
    v: VerificationParts, question: Question, sets: LabelSets, n_jobs: int | None, advance: Any
) -> None:
    """Read the parts that are there, and require that each is an answer to this question about these label sets."""
    missing = set(v.missing)
    there = [part for part in range(v.run.n_parts) if part not in missing]
    again = "delete it, and the same call will compute it anew"

    def fault(part: int) -> str | None:
        try:
            found = v.part(part)
        except DataFormatError as error:
            return str(error)
        own = block_of(sets, *v.run.ends(part))
        same_sets = np.array_equal(own.indptr, found.label_sets.indptr)
        if not (same_sets and np.array_equal(own.indices, found.label_sets.indices)):
            return f"{part_name(part)}: expected the label sets of this run, got others"
        box = None if found.radii is None else found.radii.box
        if (found.certified, found.eps, box) != (True, question.eps, question.box):
            return f"{part_name(part)}: expected box {question.box} and eps {question.eps}, got {box} and {found.eps}"
        return None

    for part, what in zip(there, as_threads_are_free(fault, there, n_jobs), strict=True):
        if what is not None:
            raise DataFormatError(f"{v.folder}: {what}: {again}")
        start, stop = v.run.ends(part)
        advance(stop - start)
