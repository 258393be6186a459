"""Features that an earlier audit of the same model computed from the same inputs, kept beside it with their hashes."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

__all__ = ["FILE", "FeatureCache", "key_of", "model_key", "write_note"]

FILE = "features.json"
BLOCK = 2**20


@dataclass(frozen=True)
class FeatureCache:
    """The folder of an earlier audit, and the hash of the model that is audited now."""

    folder: Path
    model: str

    def load(self, inputs: str) -> tuple[Any, Any, dict[str, Any]] | None:
        """Return features, held-out features and facts, or None where there are none of this model and these inputs."""
        try:
            kept = json.loads((self.folder / FILE).read_text(encoding="utf-8"))
            if (kept["model"], kept["inputs"]) != (self.model, inputs):
                return None
            hashes = kept["sha256"]
            features, held_out = (_read(self.folder, name, hashes[name]) for name in ("features", "calibration"))
            rows = kept["facts"]["held_out_rows"]
        except Exception:  # a damaged file raises errors of many kinds; what it held is computed again
            return None
        if features is None or (held_out is None) != (rows is None) or (rows and len(rows) != held_out.shape[0]):
            return None
        return features, held_out, kept["facts"]


def write_note(path: Path, model: str, inputs: str, parts: dict[str, Any], facts: dict[str, Any]) -> None:
    """Write what the file beside the features says: whose they are, and their hashes."""
    hashes = {name: None if part is None else _sha256_of_features(part) for name, part in parts.items()}
    note = {"model": model, "inputs": inputs, "sha256": hashes, "facts": facts}
    path.write_text(json.dumps(note, ensure_ascii=False), encoding="utf-8")


def _read(folder: Path, name: str, sha256: str | None) -> Any:
    """Return the features of a file, None where there are none; ValueError if they are others."""
    if sha256 is None:
        return None
    is_dense = (folder / f"{name}.npy").is_file()
    with open(folder / f"{name}.{'npy' if is_dense else 'npz'}", "rb") as stream:
        features = np.load(stream, allow_pickle=False) if is_dense else scipy.sparse.load_npz(stream)
    if _sha256_of_features(features) != sha256:
        raise ValueError(f"{name}: expected the features that were kept, got others")
    return features


def _sha256_of_features(features: Any) -> str:
    """Return the hash of features as they are stored."""
    digest = hashlib.sha256(f"{features.shape} {features.dtype}".encode())
    if scipy.sparse.issparse(features):
        for part in (features.indptr, features.indices, features.data):
            digest.update(np.ascontiguousarray(part.astype("<i8") if part.dtype.kind == "i" else part).tobytes())
    else:
        digest.update(np.ascontiguousarray(features).tobytes())
    return digest.hexdigest()


def key_of(inputs: Any, *rows: npt.NDArray[np.int64] | None) -> str:
    """Return the hash of raw inputs in the order of some rows: texts, files of images with their sizes, or numbers."""
    digest = hashlib.sha256()
    for some in rows:
        digest.update(f"|{0 if some is None else len(some)}|".encode())
        for row in [] if some is None else some.tolist():
            digest.update(_bytes_of(inputs, row))
    return digest.hexdigest()


def _bytes_of(inputs: Any, row: int) -> bytes:
    if scipy.sparse.issparse(inputs):
        part = slice(inputs.indptr[row], inputs.indptr[row + 1])
        return inputs.indices[part].astype("<i8").tobytes() + np.asarray(inputs.data[part], "<f8").tobytes()
    one = inputs[row]
    if isinstance(one, os.PathLike):
        facts = os.stat(one)
        return f"{os.fspath(one)} {facts.st_size} {facts.st_mtime_ns}\0".encode()
    return one.encode("utf-8", "surrogatepass") + b"\0" if isinstance(one, str) else np.asarray(one).tobytes()


def model_key(path: Path) -> str:
    """Return the hash of a model's file, or of all files of its folder, with their names."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(path) if file != path else file.name} {file.stat().st_size} ".encode())
        with open(file, "rb") as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()
