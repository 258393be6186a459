"""Measure label sets in parts, here or on a cluster, and keep those that are done for a call that is made again."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_arrays
from labelproof.foundation.digests import digest_of
from labelproof.foundation.engines import Engine, of_blocks
from labelproof.foundation.release import __version__
from labelproof.proof.labels import LabelSets
from labelproof.proof.measured_store import sets_arrays, take_arrays
from labelproof.proof.stretch_result import Stretch
from labelproof.proof.stretch_store import ARRAYS, save_stretch
from labelproof.search.engines import block_of
from labelproof.stretching.packing import evidence_of, pack
from labelproof.stretching.search import Asked, Evidence, find_evidence

__all__ = ["find_in_parts"]

PART = 1000  # label sets, which are measured in some seconds


def find_in_parts(
    asked: Asked,
    sets: LabelSets,
    *,
    engine: Engine = "local",
    n_jobs: int | None = None,
    keep: str | os.PathLike[str] | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Evidence]:
    """Return proven bounds of the stretch of every set, part after part; see `labelproof.stretch`.

    The parts, and so the bounds, do not depend on engine, threads, or what was kept.
    """
    blocks = [block_of(sets, start, start + PART) for start in range(0, len(sets), PART)]
    kept = None if keep is None else _Kept(asked, Path(keep))
    found = {i: part for i, block in enumerate(blocks) if kept is not None and (part := kept.read(block))}
    for part in found.values():
        advance(len(part))
    missing = [i for i in range(len(blocks)) if i not in found]
    todo = (blocks[i] for i in missing)
    how: dict[str, Any] = {"n_blocks": len(missing), "n_jobs": n_jobs, "advance": advance}
    with closing(of_blocks(find_evidence, asked, todo, engine, one_at_a_time=True, **how)) as measured:
        for i, (block, part) in zip(missing, measured, strict=True):
            found[i] = part
            if kept is not None:
                kept.write(block, part)
    return [evidence for i in range(len(blocks)) for evidence in found[i]]


@dataclass(frozen=True, eq=False)
class _Kept:
    """Finished parts in a folder: results as `Stretch.save` writes them, each named by the hash of what was asked."""

    asked: Asked
    folder: Path

    def read(self, block: LabelSets) -> list[Evidence] | None:
        """Return what was found for label sets; None where nothing is kept, or what is kept cannot be read."""
        try:
            arrays = read_arrays(self._path(block))
            evidence: dict[str, Any] = take_arrays(arrays, ARRAYS)
        except (DataFormatError, OSError, ValueError):
            return None
        part = Stretch(self.asked.bounds.layer, block, self.asked.bounds.examples, **evidence)
        own = sets_arrays(block)
        same = all(name in arrays and np.array_equal(arrays[name], own[name]) for name in own)
        return evidence_of(part) if same and part.frame_fault() is None else None

    def write(self, block: LabelSets, found: list[Evidence]) -> None:
        """Write a part in one step: it is there complete, or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_stretch(pack(self.asked.bounds.layer, block, self.asked.bounds.examples, found), self._path(block))

    def _path(self, block: LabelSets) -> Path:
        return self.folder / f"stretch-{digest_of([*self._asked(), block.indptr, block.indices])}.npz"

    def _asked(self) -> Iterator[Any]:
        layer, examples = self.asked.bounds.layer, self.asked.bounds.examples
        yield from (__version__, layer.rule, layer.ties, self.asked.tolerance)
        yield from (layer.weight_sha256, examples.sha256, examples.centre, layer.offset, layer.offset_error)
