"""Verdicts on more label sets than fit into memory: a folder of numbered result files, and what they are together.

``part-000000.npz``, … are results as `store` writes them, each of the next ``part_size`` label sets. ``run.json`` says
how many sets there are in all, and their hash. It is written before the first part and never changed, and each part
appears complete or not at all; so a folder is sound at any moment, and complete once it has all its parts.

Nothing in it is trusted. Reading requires that all parts speak of one classifier, and `VerificationParts.check` proves
every verdict and that the label sets are as many as ``run.json`` says, and have its hash.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.errors import CertificateError, DataFormatError
from labelproof.foundation.array_files import read_arrays, told_in_one_sentence
from labelproof.foundation.progress import progress_bar
from labelproof.foundation.threads import as_threads_are_free
from labelproof.foundation.writing import replacing
from labelproof.proof.certificates import Certificate
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.result import Verification
from labelproof.proof.samples import Sample, read_sample
from labelproof.proof.store import (
    _LAYER_ARRAYS,
    _arrays_of,
    _header,
    _verification,
    load_verification,
    save_verification,
)

__all__ = ["LabelDigest", "Run", "VerificationParts", "load_parts", "part_name", "read_run", "write_part", "write_run"]

FORMAT = "labelproof run"
RUN_FILE = "run.json"
MOST_PARTS = 1_000_000  # of a run, whatever its file says: a list of their names is made
_BALL_ARRAYS = ("ball_ends", "ball_radius", "ball_centre")


@dataclass(frozen=True)
class Run:
    """What the parts of a folder are together; ``time_limit`` and ``label_names`` are as given to `verify`."""

    n_sets: int
    part_size: int
    labels_sha256: str
    time_limit: float | None = None
    label_names: Sequence[str] | None = field(default=None, repr=False)
    sample: Sample | None = None

    def __post_init__(self) -> None:
        if self.n_parts > MOST_PARTS:
            sizes = f"{self.n_sets:,} label sets, got {self.part_size:,} in each"
            raise ValueError(f"part_size must make at most {MOST_PARTS:,} parts of {sizes}")

    @property
    def n_parts(self) -> int:
        """How many parts there are once the run is complete."""
        return -(-self.n_sets // self.part_size)

    def ends(self, part: int) -> tuple[int, int]:
        """Return the first label set of a part, and the first after it."""
        return part * self.part_size, min((part + 1) * self.part_size, self.n_sets)


class LabelDigest:
    """A hash of label sets that come in blocks, whatever the blocks."""

    def __init__(self) -> None:
        self._sizes, self._labels = hashlib.sha256(), hashlib.sha256()

    def update(self, sets: LabelSets) -> None:
        """Add the next label sets."""
        self._sizes.update(np.diff(sets.indptr).astype("<i8").data)
        self._labels.update(np.ascontiguousarray(sets.indices, "<i8").data)

    def hexdigest(self) -> str:
        """Return the hash of all sets so far."""
        return hashlib.sha256(self._sizes.digest() + self._labels.digest()).hexdigest()


def part_name(part: int) -> str:
    """Return the name of a part's file.

    >>> part_name(17)
    'part-000017.npz'
    """
    return f"part-{part:06d}.npz"


def write_run(folder: Path, run: Run) -> None:
    """Write what the parts will be together, in one step."""
    written_by = f"labelproof {installed_version('labelproof')}"
    with replacing(folder / RUN_FILE) as stream:
        stream.write(json.dumps({"format": FORMAT, "version": 1, "written_by": written_by, **asdict(run)}).encode())


def write_part(folder: Path, part: int, verification: Verification) -> None:
    """Write one part, in one step: it is there complete, or not at all."""
    save_verification(verification, folder / part_name(part))


def read_run(folder: str | os.PathLike[str]) -> Run:
    """Read what the parts of a folder are together; DataFormatError where it is no such folder."""
    path = Path(folder, RUN_FILE)
    if not path.is_file():
        raise DataFormatError(f"{folder}: expected a folder that labelproof verify wrote, got no {RUN_FILE}")
    with told_in_one_sentence(f"{folder}: {RUN_FILE}"):
        raw = json.loads(path.read_bytes())
        if (raw.get("format"), raw.get("version")) != (FORMAT, 1):
            raise ValueError(f"expected version 1 of {FORMAT!r}, got {raw.get('version')!r} of {raw.get('format')!r}")
        raw["sample"] = read_sample(raw["sample"])
        for name in ("n_sets", "part_size"):
            if type(raw[name]) is not int or raw[name] < 1:
                raise ValueError(f"{name}: expected a positive number, got {raw[name]!r}")
        run = Run(**{name: raw[name] for name in Run.__dataclass_fields__})
        names = run.label_names
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise ValueError("label_names: expected a list of names")
        return run


def load_parts(folder: str | os.PathLike[str], weight: Any, *, bias: Any = None) -> "VerificationParts":
    """Open a folder that `verify_in_parts` wrote, for the same weights and bias as were verified.

    Parameters
    ----------
    folder
        The folder, of a run that is complete or of one that still runs or was interrupted.
    weight, bias
        As given to `verify_in_parts`. The parts know rule, domain and thresholds.

    Returns
    -------
    VerificationParts
        Its `check` proves every verdict from the weights given here; until then the folder is only believed.

    Raises
    ------
    DataFormatError
        If it is no such folder, is empty, or was made for another classifier.

    Examples
    --------
    >>> import tempfile
    >>> from labelproof import verify_in_parts
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = verify_in_parts(weight, [[0], [0, 1], [0, 1, 2]], f"{folder}/results", part_size=2)
    ...     v = load_parts(f"{folder}/results", weight)
    ...     v.check()
    ...     v.status
    array([1, 1, 0], dtype=int8)
    """
    run = read_run(folder)
    first = next((k for k in range(run.n_parts) if Path(folder, part_name(k)).exists()), None)
    if first is None:
        raise DataFormatError(f"{folder}: expected {run.n_parts} parts, got none yet")
    layer = load_verification(Path(folder, part_name(first)), weight, bias=bias).layer
    return VerificationParts(Path(folder), run, layer)


@dataclass(frozen=True, eq=False)
class VerificationParts:
    """Verdicts on label sets in the order of the input, on disk; ``v[i]`` is the certificate of set i.

    Attributes
    ----------
    folder
        Where the parts are.
    run
        How many label sets there are in all, how many in a part, and their hash.
    layer
        What was verified.

    Examples
    --------
    >>> import tempfile
    >>> import labelproof as lp
    >>> weight = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     v = lp.verify_in_parts(weight, [[0], [0, 1], [0, 1, 2]], f"{folder}/results", part_size=2)
    ...     len(v), v.run.n_parts, v.missing, v[2].conflict
    (3, 2, [], (0, 1, 2))
    """

    folder: Path
    run: Run
    layer: OutputLayer = field(repr=False)

    def __len__(self) -> int:
        return self.run.n_sets

    def __getitem__(self, i: int) -> Certificate:
        part, place = divmod(range(len(self))[i], self.run.part_size)
        return self.part(part)[place]

    @property
    def missing(self) -> list[int]:
        """Numbers of the parts that are not there: none once the run is complete."""
        there = {path.name for path in self.folder.glob("part-*")}
        return [k for k in range(self.run.n_parts) if part_name(k) not in there]

    @cached_property
    def status(self) -> npt.NDArray[np.int8]:
        """int8 (n_sets,): 1 argmaxable, 0 unargmaxable, -1 undecided, or not there yet."""
        found = np.full(len(self), -1, np.int8)
        for part in sorted(set(range(self.run.n_parts)) - set(self.missing)):
            start, stop = self.run.ends(part)
            found[start:stop] = self.glance(part, {"status"})["status"]
        return found

    def glance(self, part: int, names: set[str]) -> dict[str, npt.NDArray[Any]]:
        """Read some arrays of a part as its file holds them, without a look at the rest."""
        path = self.folder / part_name(part)
        arrays = read_arrays(path, only=names)
        start, stop = self.run.ends(part)
        lengths = {"status": stop - start, "indptr": stop - start + 1, "conflict_ptr": stop - start + 1}
        for name in names:
            if name not in arrays or arrays[name].shape[:1] != (lengths[name],):
                raise DataFormatError(f"{path.name}: expected {name} of {stop - start} label sets, got others")
        return arrays

    def part(self, part: int) -> Verification:
        """Read one part; DataFormatError unless it is about this layer and as many label sets as it should be."""
        path = self.folder / part_name(part)
        if not path.exists():
            raise DataFormatError(
                f"{self.folder}: expected {self.run.n_parts} parts, got no {path.name}: "
                "verify again to complete the run"
            )
        v = _read_result(path, self.layer)
        start, stop = self.run.ends(part)
        if len(v) != stop - start:
            raise DataFormatError(f"{path.name}: expected {stop - start} label sets, got {len(v)}")
        return v

    def parts(self, *, n_jobs: int | None = None) -> Iterator[Verification]:
        """Yield all parts in order, read ahead by a few."""
        yield from as_threads_are_free(self.part, range(self.run.n_parts), n_jobs)

    def check(self, *, n_jobs: int | None = None, progress: bool = False) -> None:
        """Prove every verdict again, exactly, one part after the other, and that the label sets are those of the run.

        Parameters
        ----------
        n_jobs, progress
            As for `verify`.

        Raises
        ------
        CertificateError
            If a verdict is not proven, the parts that are there differ from what the run says, or some are missing.
        DataFormatError
            If a part is damaged, or is about another classifier than the first.
        """
        missing, digest = set(self.missing), LabelDigest()
        extra = sorted(
            {path.name for path in self.folder.glob("part-*")} - set(map(part_name, range(self.run.n_parts)))
        )
        if extra:
            raise CertificateError(f"expected {self.run.n_parts} parts of {len(self)} label sets, got also {extra[0]}")
        known: dict[str, Any] = {}
        status: list[npt.NDArray[np.int8]] = []

        def proven(part: int) -> Verification:
            v = self.part(part)
            try:
                v.check(n_jobs=1)
            except CertificateError as error:
                start, stop = self.run.ends(part)
                raise CertificateError(f"{part_name(part)} (label sets {start} to {stop - 1}): {error}") from error
            return v

        there = [part for part in range(self.run.n_parts) if part not in missing]
        with progress_bar("checking", len(self), show=progress) as advance:
            for part, v in zip(there, as_threads_are_free(proven, there, n_jobs), strict=True):
                self._require_same_claim(part, v, known)
                digest.update(v.label_sets)
                status.append(v.status)
                advance(len(v))
        if missing:
            raise CertificateError(
                f"expected {self.run.n_parts} parts, got {len(there)}, whose verdicts hold, and no "
                f"{part_name(min(missing))}: verify again to complete the run"
            )
        if digest.hexdigest() != self.run.labels_sha256:
            raise CertificateError(
                "expected the label sets that the run was begun with, got others (their hash differs)"
            )
        vars(self)["status"] = np.concatenate(status)  # what was proven, whatever happens to the files

    def _require_same_claim(self, part: int, v: Verification, known: dict[str, Any]) -> None:
        """Require that a part says as much as the first one does: with the same radii, and the same eps."""
        claim = {"eps": v.eps, "box": None if v.radii is None else v.radii.box}
        for name, value in claim.items():
            if known.setdefault(name, value) != value:
                raise CertificateError(
                    f"{part_name(part)}: expected {name} {known[name]} as in the first part, got {value}"
                )


def _read_result(path: Path, layer: OutputLayer) -> Verification:
    """Read a result that must be about this very layer, rule and domain included; DataFormatError says what differs."""
    name = path.name
    arrays = read_arrays(path)
    header = _header(name, arrays)
    for key in ("n_labels", "d", "weight_sha256", "rule", "ties", "temperature"):
        stored, expected = getattr(header, key), getattr(layer, key)
        if stored != expected:
            raise DataFormatError(f"{name}: made for another classifier: expected {key} {expected}, got {stored}")
    own = _arrays_of(layer)
    for key in (*_LAYER_ARRAYS, *_BALL_ARRAYS):
        if not _is_same(_no_bound(key, own.get(key)), _no_bound(key, arrays.get(key))):
            raise DataFormatError(f"{name}: made for another classifier: expected its {key}, got another")
    with told_in_one_sentence(name):
        return _verification(header, arrays, layer)


def _is_same(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)


def _no_bound(key: str, array: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
    """Return None for bounds that bound nothing, which files leave out."""
    nothing = {"low": -np.inf, "high": np.inf}.get(key)
    return None if array is not None and nothing is not None and (array == nothing).all() else array
