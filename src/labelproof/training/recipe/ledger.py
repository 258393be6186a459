"""What was tried, on disk as it comes: a run that was interrupted goes on after the last member that was finished."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_arrays
from labelproof.foundation.writing import replacing, write_text
from labelproof.training.recipe.calibrating import Calibration
from labelproof.training.recipe.folds import Folds
from labelproof.training.recipe.members import Candidate
from labelproof.training.recipe.menu import ViewPlan

__all__ = ["Ledger"]


class Ledger:
    """The finished members of one run.

    Parameters
    ----------
    folder
        Where they are kept; None keeps none.
    folds
        Of the run: a member of other data is not taken.
    """

    def __init__(self, folder: Path | None, folds: Folds) -> None:
        self.folder = folder
        self._run = _fingerprint(folds) if folder is not None else ""

    def tried(self, plan: ViewPlan, what: str, try_it: Callable[[], Candidate]) -> Candidate:
        """Return a member, from its file if that is there."""
        if self.folder is None:
            return try_it()
        path = self._path(self.folder, plan, what, "npz")
        found = self._read(path, plan)
        if found is None:
            found = try_it()
            self._write(path, found)
        return found

    def loss(self, plan: ViewPlan, what: str, find_it: Callable[[], float]) -> float:
        """Return the loss of what is tried on some labels alone, from its file if that is there."""
        if self.folder is None:
            return find_it()
        path = self._path(self.folder, plan, what, "json")
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            if facts["run"] == self._run:
                return float(facts["loss"])
        except (FileNotFoundError, KeyError, ValueError, TypeError):
            pass
        found = find_it()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({"run": self._run, "loss": found}))
        return found

    @staticmethod
    def _path(folder: Path, plan: ViewPlan, what: str, ending: str) -> Path:
        return folder / f"{hashlib.sha256(f'{plan.name} {what}'.encode()).hexdigest()[:16]}.{ending}"

    def _read(self, path: Path, plan: ViewPlan) -> Candidate | None:
        try:
            arrays = read_arrays(path)
            facts = json.loads(arrays["facts"].tobytes().decode())
            if facts.pop("run") != self._run:
                return None
            return Candidate(
                plan, logits=arrays["logits"], calibration=Calibration(arrays["slopes"], arrays["offsets"]), **facts
            )
        except (FileNotFoundError, DataFormatError, KeyError, ValueError, TypeError):
            return None

    def _write(self, path: Path, member: Candidate) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        facts: dict[str, Any] = {
            name: getattr(member, name) for name in ("family", "loss", "seconds", "cost", "epochs")
        }
        with replacing(path) as stream:
            np.savez(
                stream,
                allow_pickle=False,
                facts=np.frombuffer(json.dumps({**facts, "run": self._run}).encode(), np.uint8),
                logits=member.logits,
                slopes=member.calibration.slopes,
                offsets=member.calibration.offsets,
            )


def _fingerprint(folds: Folds) -> str:
    """Return a hash of labels, folds and the first base of the features."""
    matrix = folds.material.matrices[0]
    numbers = matrix.data if hasattr(matrix, "indptr") else matrix
    parts = (folds.labels.indptr, folds.labels.indices, folds.numbers, numbers)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
