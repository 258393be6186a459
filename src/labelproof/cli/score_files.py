"""Write scores to .npy and .npz files batch by batch: their number need not be known, nor all of them be in memory."""

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.writing import replacing

__all__ = ["ENDINGS", "score_file"]

ENDINGS = (".npy", ".npz")


class ScoreFile:
    """A matrix of float32 in a .npy file that grows row by row."""

    def __init__(self, stream: IO[bytes], n_labels: int) -> None:
        self._stream, self._n_labels = stream, n_labels
        self.rows = 0
        self._begin = self._write_header()

    def add(self, scores: npt.NDArray[Any]) -> None:
        """Write rows (n_examples, n_labels)."""
        self._stream.write(np.ascontiguousarray(scores, np.float32).tobytes())
        self.rows += len(scores)

    def close(self) -> None:
        """Write how many rows there are; numpy leaves room for it."""
        self._stream.seek(0)
        if self._write_header() != self._begin:
            raise OSError(f"the header of {self.rows} rows does not fit")

    def _write_header(self) -> int:
        shape = {"descr": "<f4", "fortran_order": False, "shape": (self.rows, self._n_labels)}
        np.lib.format.write_array_header_1_0(self._stream, shape)
        return self._stream.tell()


@contextmanager
def score_file(path: Path, label_names: Sequence[str], kind: str) -> Iterator[ScoreFile]:
    """Give a matrix to add rows to; the file takes its name once it is complete, or is not there.

    Parameters
    ----------
    path
        .npy, or .npz with the arrays ``scores``, ``label_names`` and ``score_kind``.
    label_names
        Of the columns.
    kind
        "probabilities" or "logits".
    """
    with replacing(path) as target:
        if path.suffix == ".npy":
            scores = ScoreFile(target, len(label_names))
            yield scores
            scores.close()
            return
        with TemporaryFile(dir=path.parent) as stream:  # it has no name and disappears with the process
            scores = ScoreFile(stream, len(label_names))
            yield scores
            scores.close()
            _pack(stream, target, {"label_names": np.array(label_names), "score_kind": np.array(kind)})


def _pack(scores: IO[bytes], target: IO[bytes], others: dict[str, npt.NDArray[Any]]) -> None:
    with zipfile.ZipFile(target, "w", allowZip64=True) as archive:
        with archive.open("scores.npy", "w", force_zip64=True) as entry:
            scores.seek(0)
            shutil.copyfileobj(scores, entry, 2**20)
        for name, array in others.items():
            buffer = BytesIO()
            np.save(buffer, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", buffer.getvalue())
