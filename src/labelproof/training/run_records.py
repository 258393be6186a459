"""Records of training runs, one JSON object per line: what was trained, by which code, on which data, with what result.

A line is appended when its run is finished, so that a list of runs can be interrupted at any moment and taken up again.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

import labelproof
from labelproof.data import Dataset
from labelproof.errors import DataFormatError

__all__ = ["RunRecord", "append_record", "code_version", "data_digest", "read_records", "run_key"]


@dataclass(frozen=True)
class RunRecord:
    """One finished run.

    Attributes
    ----------
    changes
        What this run changes of the configuration that all runs share, by "section.key".
    seed
        Of data parts, weights and batches.
    config
        The whole configuration, from which the run can be repeated.
    data
        Numbers of examples and labels, and a digest of all of them.
    code
        Versions of what computed it; ``source`` is a digest of the package's own files, ``threads`` those of torch.
    metrics
        Of the parts "validation" and "test"; None where a metric is not defined.
    measured
        What else the caller measured on the trained model.
    sizes
        Examples of the parts.
    epochs, parameters, seconds
        Epochs until training stopped, numbers that it could change, and how long it took.
    failure
        Why there is no result, such as that training diverged; None where there is one.

    Examples
    --------
    >>> record = RunRecord({"loss.beta": 2}, 0, config={}, data={}, code={}, metrics={"test": {"micro-f1": 0.6}})
    >>> record.metrics["test"]["micro-f1"]
    0.6
    """

    changes: dict[str, Any]
    seed: int
    config: dict[str, Any]
    data: dict[str, Any]
    code: dict[str, Any]
    metrics: dict[str, dict[str, float | None]] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    epochs: int = 0
    parameters: int = 0
    seconds: float = 0.0
    failure: str | None = None

    @property
    def key(self) -> str:
        """What tells runs apart: the digest of configuration and data."""
        return run_key(self.config, self.data)

    def value(self, name: str) -> float | None:
        """Return a result: "test/micro-f1", "validation/micro-f1", or by its own name what was measured."""
        part, slash, metric = name.partition("/")
        return self.metrics.get(part, {}).get(metric) if slash else self.measured.get(name)


def run_key(config: dict[str, Any], data: dict[str, Any]) -> str:
    """Return the digest of a configuration and its data."""
    text = json.dumps([config, data], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_records(path: str | Path) -> list[RunRecord]:
    """Read the records of a file; one that was cut short while it was written is left out, and no file has none.

    Parameters
    ----------
    path
        Of a file runs.jsonl, as ``labelproof train --sweep`` writes it.

    Raises
    ------
    DataFormatError
        If a line is no record; it names the file and the line.

    Examples
    --------
    >>> read_records("no such file.jsonl")
    []
    """
    path = Path(path)
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [_record(line, f"{path.name}, line {number}") for number, line in enumerate(lines[:-1], 1)]


def append_record(path: str | Path, record: RunRecord) -> None:
    """Add a record to a file, which is made where it does not exist; other processes may do the same meanwhile."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(asdict(record), ensure_ascii=False, allow_nan=False) + "\n"
    with open(path, "a+b") as stream:
        _wait_for(stream)
        stream.seek(0)
        content = stream.read()
        stream.truncate(content.rfind(b"\n") + 1)  # a line that was cut short
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())


def _wait_for(stream: IO[bytes]) -> None:
    """Wait until no other process has a file, and keep it until it is closed; where files cannot be locked, go on."""
    with suppress(ImportError):
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX)


def data_digest(dataset: Dataset) -> dict[str, Any]:
    """Return how many examples and labels there are, and a digest of inputs, labels, names and parts."""
    digest = hashlib.sha256(json.dumps(dataset.label_names).encode())
    for part in (dataset.labels.indptr, dataset.labels.indices):
        digest.update(part.astype(np.int64).tobytes())
    for texts in (dataset.texts, dataset.text_pairs, dataset.image_paths, dataset.split):
        if texts is not None:
            digest.update(json.dumps([str(text) for text in texts]).encode())
    if dataset.features is not None:
        for array in _arrays(dataset.features):
            digest.update(np.ascontiguousarray(array).tobytes())
    return {"examples": len(dataset), "labels": dataset.n_labels, "digest": digest.hexdigest()[:16]}


@cache
def code_version() -> dict[str, Any]:
    """Return the versions that numbers depend on, with a digest of the package's own source."""
    root = Path(labelproof.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return {
        "labelproof": version("labelproof"),
        "source": digest.hexdigest()[:12],
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "threads": torch.get_num_threads(),
    }


def _arrays(features: Any) -> Iterable[Any]:
    return [features] if isinstance(features, np.ndarray) else [features.indptr, features.indices, features.data]


def _record(line: bytes, where: str) -> RunRecord:
    try:
        values = json.loads(line)
    except ValueError as error:
        raise DataFormatError(f"{where}: expected the record of a run in JSON: {error}") from error
    if not isinstance(values, dict):
        raise DataFormatError(f"{where}: expected the record of a run, got a JSON {type(values).__name__}")
    known = {one.name for one in fields(RunRecord)}
    for names, word in ((known - set(values), "without"), (set(values) - known, "with")):
        if names:
            raise DataFormatError(f"{where}: expected the record of a run, got one {word} {min(names)!r}")
    return RunRecord(**values)
