"""What is measured among examples, on disk: one .npz file without pickles, tied to weights and features by hashes.

The file holds claims and evidence, and the centre of the features, but neither weights nor features: whoever loads it
gives those. Nothing in it is trusted; the `check` of the result proves it. `stretch_store`, `reach_store` and
`pair_store` say which arrays their results have.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_arrays, told_in_one_sentence
from labelproof.foundation.writing import replacing
from labelproof.proof.examples import Examples, read_examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer, make_layer
from labelproof.proof.store import _label_sets, _require, _require_offset
from labelproof.proof.stretch_bar import Bar, M

__all__ = [
    "BAR",
    "Stored",
    "format_of",
    "load_measured",
    "make_bar_again",
    "save_measured",
    "sets_arrays",
    "take_arrays",
]

Array = npt.NDArray[Any]
VERSION = 1
BAR = "bar_"  # begins the names of the arrays of the predictions behind a bar
_LAYER_ARRAYS = ("offset", "offset_error", "theta")
_BAR_FIELDS = {"value": float, "alpha": float, "n": int, "rank": int, "sha256": str, "k": int | None}


def save_measured(
    path: str | os.PathLike[str],
    kind: str,
    layer: OutputLayer,
    examples: Examples,
    arrays: Mapping[str, Array],
    bar: Bar[Any] | None = None,
) -> None:
    """Write a result to one file, in one step: it is there complete, or as it was before."""
    header = {
        "format": kind,
        "version": VERSION,
        "written_by": f"labelproof {installed_version('labelproof')}",
        "n_labels": layer.n_labels,
        "d": layer.d,
        "n_examples": len(examples),
        "weight_sha256": layer.weight_sha256,
        "features_sha256": examples.sha256,
        "rule": layer.rule,
        "ties": layer.ties,
        "bar": None if bar is None else {name: getattr(bar, name) for name in _BAR_FIELDS},
    }
    every = {
        "header": np.frombuffer(json.dumps(header).encode(), np.uint8),
        "centre": examples.centre,
        **arrays,
        **{name: value for name in _LAYER_ARRAYS if (value := getattr(layer, name)) is not None},
    }
    with replacing(path) as stream:
        np.savez_compressed(stream, allow_pickle=False, **every)


def sets_arrays(sets: LabelSets, prefix: str = "") -> dict[str, Array]:
    """Return the arrays of label sets, by the names that `Stored.label_sets` reads."""
    return {f"{prefix}indptr": sets.indptr, f"{prefix}indices": sets.indices}


@dataclass(frozen=True, eq=False)
class Stored:
    """A file that was read: what it is about, its arrays, and the fields of its bar."""

    name: str
    layer: OutputLayer
    examples: Examples
    arrays: dict[str, Array]
    bar: dict[str, Any] | None

    def label_sets(self, prefix: str = "") -> LabelSets:
        """Return the label sets whose arrays begin with this prefix."""
        pointers = take_arrays(self.arrays, {"indptr": np.int64, "indices": np.int64}, prefix)
        return _label_sets(pointers["indptr"], pointers["indices"], self.layer.n_labels)


def take_arrays(
    arrays: Mapping[str, Array], names: Mapping[str, Any], prefix: str = "", axes: int = 1
) -> dict[str, Array]:
    """Return arrays by name, of the types that they must have."""
    found = {}
    for name, dtype in names.items():
        array = arrays.get(prefix + name)
        if array is None or array.dtype != dtype or array.ndim != axes:
            words = "one axis" if axes == 1 else "two axes"
            raise ValueError(f"{prefix + name}: expected an array of {np.dtype(dtype)} with {words}")
        found[name] = array
    return found


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that a result names, or nothing where it is none of those that are measured among examples."""
    arrays = read_arrays(path, only={"header"})
    try:
        return str(json.loads(arrays["header"].tobytes().decode())["format"])
    except (KeyError, TypeError, ValueError):
        return ""


def load_measured(path: str | os.PathLike[str], kind: str, weight: Any, features: Any, *, bias: Any = None) -> Stored:
    """Read a result for the same weights, bias and features as were measured."""
    name = Path(path).name
    arrays = read_arrays(path)
    header = _header(name, kind, arrays)
    layer = _layer(name, header, arrays, weight, bias)
    return Stored(name, layer, _examples(name, header, arrays, features), arrays, header["bar"])


def _header(name: str, kind: str, arrays: dict[str, Array]) -> dict[str, Any]:
    if "header" not in arrays:
        raise DataFormatError(f"{name}: expected a result of {kind}, got another .npz file")
    with told_in_one_sentence(name):
        _require(arrays["header"].dtype == np.uint8 and arrays["header"].ndim == 1, "header", "bytes of JSON")
        header: dict[str, Any] = json.loads(arrays["header"].tobytes().decode())
        if header["format"] != kind or header["version"] != VERSION:
            raise DataFormatError(
                f"{name}: expected the format {kind!r}, version {VERSION}, "
                f"got {header['format']!r}, version {header['version']!r}"
            )
        for field in ("n_labels", "d", "n_examples"):
            _require(isinstance(header[field], int), field, "a whole number")
        for field in ("weight_sha256", "features_sha256"):
            _require(isinstance(header[field], str), field, "a hash")
        _require(header["rule"] in ("sigmoid", "topk"), "rule", "sigmoid or topk")
        _require(header["ties"] in ("open", "inactive"), "ties", "a known treatment of ties")
        _require_bar(header["bar"])
    return header


def _layer(name: str, header: dict[str, Any], arrays: dict[str, Array], weight: Any, bias: Any) -> OutputLayer:
    shape = (header["n_labels"], header["d"])
    if np.shape(weight) != shape:
        raise DataFormatError(f"{name}: made for a weight of shape {shape}, got {np.shape(weight)}")
    theta = arrays.get("theta")
    with told_in_one_sentence(name):
        ok = theta is None or (theta.shape == shape[:1] and theta.dtype == np.float64 and np.isfinite(theta).all())
        _require(bool(ok), "theta", "one finite number a label")
    layer = make_layer(weight, bias=bias, theta=theta, rule=header["rule"], ties=header["ties"])
    if layer.weight_sha256 != header["weight_sha256"]:
        raise DataFormatError(f"{name}: made for another weight of the same shape (the sha256 of its numbers differs)")
    with told_in_one_sentence(name):
        _require_offset(name, layer, arrays.get("offset"), arrays.get("offset_error"))
    return layer


def _examples(name: str, header: dict[str, Any], arrays: dict[str, Array], features: Any) -> Examples:
    with told_in_one_sentence(name):
        centre = arrays["centre"]
        _require(centre.shape == (header["d"],) and centre.dtype == np.float64, "centre", "one number a feature")
        _require(bool(np.isfinite(centre).all()), "centre", "finite numbers")
    examples = read_examples(features, header["d"], centre=centre)
    if len(examples) != header["n_examples"]:
        raise DataFormatError(f"{name}: made for features of {header['n_examples']:,} examples, got {len(examples):,}")
    if examples.sha256 != header["features_sha256"]:
        raise DataFormatError(f"{name}: made for other features (the sha256 of their numbers differs)")
    return examples


def _require_bar(fields: Any) -> None:
    if fields is None:
        return
    for field, kind in _BAR_FIELDS.items():
        _require(isinstance(fields[field], kind), f"bar's {field}", "another type")
    _require(0 < fields["alpha"] < 1 and not math.isnan(fields["value"]), "bar", "a share and a number")


def make_bar_again(fields: dict[str, Any], predicted: M) -> Bar[M]:
    """Return a stored bar with the predictions behind it."""
    return Bar(**{name: fields[name] for name in _BAR_FIELDS}, predicted=predicted)
