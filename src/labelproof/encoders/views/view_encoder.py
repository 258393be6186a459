"""The encoder of views: what the recipe has chosen, as one block of features for one linear head.

A part of the output is a view itself, or a hidden layer with ReLU on a view. Sparse views are never made dense where
only the product with the head counts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
import torch
from torch import Tensor, nn

from labelproof.encoders.encoder import Encoder
from labelproof.encoders.layers import Bag, dense_rows
from labelproof.encoders.views.bases import BASES, Base
from labelproof.encoders.views.leaves import Leaves
from labelproof.encoders.views.view import Block, View
from labelproof.encoders.views.weightings import WEIGHTINGS, Weighting
from labelproof.errors import ModelFormatError
from labelproof.foundation.array_files import read_arrays
from labelproof.foundation.json_files import parse_json
from labelproof.proof.domains import Domain

__all__ = ["Part", "ViewsEncoder"]

_BASES, _ARRAYS = "bases.json", "weightings.npz"
_WEIGHTINGS: dict[str, type[Weighting]] = WEIGHTINGS | {Leaves.kind: Leaves}


@dataclass(frozen=True)
class ViewsOptions:
    """Views have no options: the recipe chooses them."""


@dataclass(frozen=True)
class Part:
    """Some of the output: the view of this number, or ``hidden`` ReLUs of it."""

    view: int
    hidden: int | None = None


@dataclass(frozen=True, eq=False)
class PreparedViews:
    """The rows of every view, CSR or dense, float32."""

    rows: tuple[Any, ...]

    def __len__(self) -> int:
        return int(self.rows[0].shape[0])


class ViewsEncoder(Encoder):
    """Texts or numbers → views → the parts of the output, one after the other.

    Parameters
    ----------
    bases
        What the views are made from.
    views
        With what they have learned.
    parts
        Of the output, in their order.
    """

    kind: ClassVar[str] = "views"
    Options: ClassVar[type] = ViewsOptions
    FACTS: ClassVar[tuple[str, ...]] = ("views", "parts")

    def __init__(self, bases: Sequence[Base], views: Sequence[View], parts: Sequence[Part]) -> None:
        super().__init__()
        self.options = ViewsOptions()
        self.bases, self._views, self._parts = tuple(bases), tuple(views), tuple(parts)
        widths = [view.width(self.bases) for view in self._views]
        self.widths = tuple(part.hidden or widths[part.view] for part in self._parts)
        self.width = sum(self.widths)
        self._kept: tuple[Any, list[npt.NDArray[np.float32]]] | None = None
        hidden = [part for part in self._parts if part.hidden]
        self.hidden = nn.ModuleList(Bag(widths[part.view], int(part.hidden or 0), scale=0.0) for part in hidden)

    @property
    def views(self) -> list[Any]:
        """The views, ready for JSON."""
        return [
            {
                "sparse": view.is_sparse,
                "blocks": [{"base": b.base, "weighting": b.weighting.kind, "scale": b.scale} for b in view.blocks],
            }
            for view in self._views
        ]

    @property
    def parts(self) -> list[Any]:
        """The parts, ready for JSON."""
        return [{"view": part.view, "hidden": part.hidden} for part in self._parts]

    @property
    def input_kind(self) -> str:
        """Return "tfidf" for texts, "features" for numbers."""
        return "tfidf" if self.bases[0].kind == "terms" else "features"

    @property
    def n_features(self) -> int | None:
        """Number of features that an example must have; None for texts."""
        return getattr(self.bases[0], "n_features", None)

    @classmethod
    def _learn(cls, inputs: Any, options: Any) -> Self:  # noqa: ARG003
        raise ValueError("encoder.kind 'views' is chosen by head.kind 'auto', and cannot be asked for alone")

    def prepare(self, inputs: Any) -> PreparedViews:
        """Return the rows of every view."""
        matrices = [base.matrix(inputs) for base in self.bases]
        return PreparedViews(tuple(_rows(view, matrices) for view in self._views))

    def collate(self, prepared: PreparedViews, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return of every view a dense tensor, or ids, offsets and values."""
        batch: list[Tensor] = []
        for matrix in prepared.rows:
            some = matrix[rows]
            if scipy.sparse.issparse(some):
                batch += [_long(some.indices), _long(some.indptr[:-1]), torch.from_numpy(some.data)]
            else:
                batch.append(torch.from_numpy(np.ascontiguousarray(some)))
        return tuple(batch)

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, width)."""
        given = _by_view(self._views, batch)
        hidden, parts = iter(self.hidden), []
        for part, width in zip(self._parts, self.widths, strict=True):
            one = given[part.view]
            if part.hidden:
                parts.append(next(hidden)(*one).relu())
            else:
                parts.append(one[0] if len(one) == 1 else dense_rows(width, *one))
        return torch.cat([part.to(parts[0].dtype) for part in parts], dim=1)

    def products(self, prepared: PreparedViews, rows: npt.NDArray[np.int64], weight: Tensor) -> npt.NDArray[np.float32]:
        """Return the features of rows times the transposed weight (n_labels, width), sparse views left sparse."""
        total: Any = np.float32(0)
        hidden = iter(self.hidden)
        for part, table in zip(self._parts, self._tables(weight), strict=True):
            some = prepared.rows[part.view][rows]
            features = _hidden_rows(some, next(hidden)) if part.hidden else some
            total = total + np.asarray(features @ table)
        return np.asarray(total, np.float32)

    def _tables(self, weight: Tensor) -> list[npt.NDArray[np.float32]]:
        """Return the weights of each part, (width, n_labels), made once for a weight as it is."""
        key = weight.data_ptr(), weight._version, tuple(weight.shape)
        if self._kept is None or self._kept[0] != key:
            ends = np.cumsum((0, *self.widths)).tolist()
            whole = weight.detach().cpu().float().numpy()
            tables = [np.ascontiguousarray(whole[:, a:b].T) for a, b in pairwise(ends)]
            self._kept = key, tables
        return self._kept[1]

    def domain(self) -> Domain:
        """Return a domain for each block of each part."""
        blocks: list[tuple[int, Domain]] = []
        for part in self._parts:
            hidden: list[tuple[int, Domain]] = [(part.hidden or 0, "nonnegative")]
            blocks += hidden if part.hidden else self._views[part.view].domains(self.bases)
        return "blocks", [block for block in blocks if block[0]]

    def save_files(self, folder: Path) -> None:
        """Write bases.json, and weightings.npz with what the weightings have learned."""
        facts = [{"kind": base.kind, **base.facts()} for base in self.bases]
        (Path(folder) / _BASES).write_text(json.dumps(facts, ensure_ascii=False), encoding="utf-8")
        arrays = {
            f"{v}.{b}.{name}": array
            for v, view in enumerate(self._views)
            for b, block in enumerate(view.blocks)
            for name, array in block.weighting.arrays().items()
        }
        np.savez_compressed(Path(folder) / _ARRAYS, allow_pickle=False, **arrays)

    @classmethod
    def _restore(cls, options: Any, facts: dict[str, Any], folder: Path) -> Self:  # noqa: ARG003
        try:
            listed = parse_json((folder / _BASES).read_bytes())
            bases = [BASES[base["kind"]].from_facts(base) for base in listed]
            arrays = read_arrays(folder / _ARRAYS)
            views = [_restored_view(v, view, arrays, len(bases)) for v, view in enumerate(facts["views"])]
            parts = [Part(int(part["view"]), part["hidden"]) for part in facts["parts"]]
            if not parts or not all(0 <= part.view < len(views) for part in parts):
                raise ValueError("expected parts of the views, got others")
            return cls(bases, views, parts)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ModelFormatError(f"{folder}: expected the views of an encoder, got others ({error})") from error
        except FileNotFoundError as error:
            raise ModelFormatError(f"{error.filename}: the model lacks this file") from error


def _restored_view(v: int, described: Mapping[str, Any], arrays: Mapping[str, Any], n_bases: int) -> View:
    blocks = []
    for b, block in enumerate(described["blocks"]):
        prefix = f"{v}.{b}."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        if not 0 <= block["base"] < n_bases:
            raise ValueError(f"expected a base below {n_bases}, got {block['base']}")
        blocks.append(Block(block["base"], _WEIGHTINGS[block["weighting"]].from_arrays(own), float(block["scale"])))
    return View(tuple(blocks), bool(described["sparse"]))


def _rows(view: View, matrices: Sequence[Any]) -> Any:
    features = view.features(matrices)
    return features.astype(np.float32)


def _hidden_rows(matrix: Any, layer: Any) -> npt.NDArray[np.float32]:
    weight, bias = layer.weight.detach().cpu().float().numpy(), layer.bias.detach().cpu().float().numpy()
    return np.maximum(np.asarray(matrix @ weight) + bias, 0.0)


def _by_view(views: Sequence[View], batch: tuple[Tensor, ...]) -> list[tuple[Tensor, ...]]:
    given, first = [], 0
    for view in views:
        size = 3 if view.is_sparse else 1
        given.append(batch[first : first + size])
        first += size
    return given


def _long(numbers: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(numbers.astype(np.int64))
