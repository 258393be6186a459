"""Results of `stretch` on disk: one .npz file without pickles, tied to weights and features by their hashes.

The file holds label sets, bounds and evidence, and the centre of the features, but neither weights nor features:
whoever loads it gives those. Nothing in it is trusted; `Stretch.check` proves the bounds.
"""

import json
import math
import os
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_arrays, told_in_one_sentence
from labelproof.foundation.writing import replacing
from labelproof.proof.examples import Examples, read_examples
from labelproof.proof.regions import OutputLayer, make_layer
from labelproof.proof.store import _label_sets, _require, _require_offset, sha256_of
from labelproof.proof.stretch_result import Bar, Stretch

__all__ = ["load_stretch", "save_stretch"]

Array = npt.NDArray[Any]
FORMAT, VERSION = "labelproof stretch", 1
_ARRAYS = {
    "lower": np.float64,
    "upper": np.float64,
    "mixture_ptr": np.int64,
    "mixture_examples": np.int64,
    "mixture_weights": np.float64,
    "weighted_ptr": np.int64,
    "weighted_labels": np.int64,
    "multipliers": np.float64,
    "conflict_ptr": np.int64,
    "conflict_rows": np.int64,
}
_LAYER_ARRAYS = ("offset", "offset_error", "theta")
_BAR = "bar_"  # begins the names of the arrays of the predictions behind a bar


def save_stretch(result: Stretch, path: str | os.PathLike[str]) -> None:
    """Write bounds and evidence to one file, in one step: it is there complete, or as it was before."""
    layer, bar = result.layer, result.bar
    header = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"labelproof {installed_version('labelproof')}",
        "n_labels": layer.n_labels,
        "d": layer.d,
        "n_examples": len(result.examples),
        "weight_sha256": sha256_of(layer.weight),
        "features_sha256": result.examples.sha256,
        "rule": layer.rule,
        "ties": layer.ties,
        "bar": None if bar is None else {name: getattr(bar, name) for name in _BAR_FIELDS},
    }
    arrays = {
        "header": np.frombuffer(json.dumps(header).encode(), np.uint8),
        "centre": result.examples.centre,
        **_arrays(result, ""),
        **({} if bar is None else _arrays(bar.predicted, _BAR)),
        **{name: value for name in _LAYER_ARRAYS if (value := getattr(layer, name)) is not None},
    }
    with replacing(path) as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


_BAR_FIELDS = {"value": float, "alpha": float, "n": int, "rank": int, "sha256": str, "k": int | None}


def _arrays(result: Stretch, prefix: str) -> dict[str, Array]:
    sets = {"indptr": result.label_sets.indptr, "indices": result.label_sets.indices}
    return {prefix + name: array for name, array in {**sets, **{a: getattr(result, a) for a in _ARRAYS}}.items()}


def load_stretch(path: str | os.PathLike[str], weight: Any, features: Any, *, bias: Any = None) -> Stretch:
    """Read what `Stretch.save` wrote, for the same weights, bias and features as were measured.

    Parameters
    ----------
    path
        The file.
    weight, bias
        As given to `stretch`, in any float type that holds the same numbers. The file knows rule and thresholds.
    features
        As given to `stretch`; sparse if they were, in any float type that holds the same numbers.

    Returns
    -------
    Stretch
        Its `check` proves every bound from the numbers given here; until then the file is only believed.

    Raises
    ------
    DataFormatError
        If the file is damaged, is no such file, or was made for another classifier or other features.
    """
    name = Path(path).name
    arrays = read_arrays(path)
    header = _header(name, arrays)
    layer = _layer(name, header, arrays, weight, bias)
    examples = _examples(name, header, arrays, features)
    with told_in_one_sentence(name):
        bar = None if header["bar"] is None else _bar(header["bar"], arrays, layer, examples)
        return _result(arrays, "", layer, examples, bar)


def _header(name: str, arrays: dict[str, Array]) -> dict[str, Any]:
    if "header" not in arrays:
        raise DataFormatError(f"{name}: expected a result of labelproof stretch, got another .npz file")
    with told_in_one_sentence(name):
        _require(arrays["header"].dtype == np.uint8 and arrays["header"].ndim == 1, "header", "bytes of JSON")
        header: dict[str, Any] = json.loads(arrays["header"].tobytes().decode())
        if header["format"] != FORMAT or header["version"] != VERSION:
            raise DataFormatError(
                f"{name}: expected the format {FORMAT!r}, version {VERSION}, "
                f"got {header['format']!r}, version {header['version']!r}"
            )
        for field in ("n_labels", "d", "n_examples"):
            _require(isinstance(header[field], int), field, "a whole number")
        for field in ("weight_sha256", "features_sha256"):
            _require(isinstance(header[field], str), field, "a hash")
        _require(header["rule"] in ("sigmoid", "topk"), "rule", "sigmoid or topk")
        _require(header["ties"] in ("open", "inactive"), "ties", "a known treatment of ties")
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
    if sha256_of(layer.weight) != header["weight_sha256"]:
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


def _bar(fields: dict[str, Any], arrays: dict[str, Array], layer: OutputLayer, examples: Examples) -> Bar:
    for field, kind in _BAR_FIELDS.items():
        _require(isinstance(fields[field], kind), f"bar's {field}", "another type")
    _require(0 < fields["alpha"] < 1 and not math.isnan(fields["value"]), "bar", "a share and a number")
    predicted = _result(arrays, _BAR, layer, examples, None)
    return Bar(**{name: fields[name] for name in _BAR_FIELDS}, predicted=predicted)


def _result(arrays: dict[str, Array], prefix: str, layer: OutputLayer, examples: Examples, bar: Bar | None) -> Stretch:
    stored = {}
    for name, dtype in {**_ARRAYS, "indptr": np.int64, "indices": np.int64}.items():
        array = arrays.get(prefix + name)
        ok = array is not None and array.dtype == dtype and array.ndim == 1
        _require(ok, prefix + name, f"an array of {np.dtype(dtype)} with one axis")
        stored[name] = array
    sets = _label_sets(stored.pop("indptr"), stored.pop("indices"), layer.n_labels)  # type: ignore[arg-type] # checked
    result = Stretch(layer, sets, examples, **stored, bar=bar)  # type: ignore[arg-type]
    fault = result.frame_fault()
    if fault is not None:
        raise ValueError(fault)
    return result
