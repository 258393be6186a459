"""Results of `verify` on disk: one .npz file without pickles, tied to the weights by their hash.

The file holds the label sets, the verdicts and their evidence, but no weights: whoever loads it gives those. Nothing
in it is trusted. Loading checks the form of what it reads; whether the verdicts are true, `Verification.check` proves.
"""

import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_arrays, told_in_one_sentence
from labelproof.foundation.writing import replacing
from labelproof.proof.domains import arrays_of_balls, balls_of_arrays
from labelproof.proof.labels import LabelSets
from labelproof.proof.radius_bounds import Radii
from labelproof.proof.regions import OutputLayer, make_layer
from labelproof.proof.result import Verification
from labelproof.proof.samples import Sample, read_sample
from labelproof.proof.sparse_weights import SparseWeight

__all__ = ["load_label_names", "load_verification", "save_verification"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

FORMAT = "labelproof verification"
VERSIONS = (1, 2)  # the second has balls in the domain, or conflicts with multipliers; other files are as before


def save_verification(
    verification: Verification, path: str | os.PathLike[str], *, label_names: Sequence[str] | None = None
) -> None:
    """Write verdicts and evidence to one file, in one step: it is there complete, or as it was before.

    Parameters
    ----------
    verification
        What `verify` returned.
    path
        The file to write, by custom ``*.npz``.
    label_names
        One name for each label, kept for those who show the result.
    """
    layer, sets = verification.layer, verification.label_sets
    if label_names is not None and len(label_names) != layer.n_labels:
        raise ValueError(f"label_names must hold {layer.n_labels} names, one for each label, got {len(label_names)}")
    weights = verification.multipliers
    header = {
        "format": FORMAT,
        "version": 2 if layer.balls or weights else 1,
        "written_by": f"labelproof {installed_version('labelproof')}",
        "n_labels": layer.n_labels,
        "d": layer.d,
        "weight_sha256": layer.weight_sha256,
        "rule": layer.rule,
        "ties": layer.ties,
        "temperature": layer.temperature,
        "certified": verification.certified,
        "eps": verification.eps,
        "box": None if verification.radii is None else verification.radii.box,
        "fractions": {i: [_ratio(c) for c in x] for i, x in verification.fractions.items()},
        "multipliers": {i: [_ratio(c) for c in given] for i, given in weights.items()},
        "reasons": verification.reasons,
        "label_names": None if label_names is None else list(label_names),
        **({} if verification.sample is None else {"sample": asdict(verification.sample)}),
    }
    arrays = {
        "header": np.frombuffer(json.dumps(header).encode(), np.uint8),
        "indptr": sets.indptr,
        "indices": sets.indices,
        "status": verification.status,
        "points": verification.points,
        "point_of": verification.point_of,
        "conflict_ptr": verification.conflict_ptr,
        "conflict_rows": verification.conflict_rows,
        **{f"radius_{name}": getattr(verification.radii, name) for name in _RADII_ARRAYS if verification.radii},
        **_arrays_of(layer),
    }
    with replacing(path) as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def load_verification(path: str | os.PathLike[str], weight: Any, *, bias: Any = None) -> Verification:
    """Read what `Verification.save` wrote, for the same weights and bias as were verified.

    Parameters
    ----------
    path
        The file.
    weight, bias
        As given to `verify`, in any float type that holds the same numbers. The file knows rule, domain and thresholds.

    Returns
    -------
    Verification
        Its `check` proves every verdict from the weights given here; until then the file is only believed.

    Raises
    ------
    DataFormatError
        If the file is damaged, is no such file, or was made for another classifier.

    Examples
    --------
    >>> import tempfile
    >>> from labelproof import verify
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     verify(weight, [[0], [0, 1, 2]]).save(f"{folder}/result.npz")
    ...     v = load_verification(f"{folder}/result.npz", weight)
    >>> v.status
    array([1, 0], dtype=int8)
    >>> v.check()
    """
    name = Path(path).name
    arrays = read_arrays(path)
    header = _header(name, arrays)
    layer = _layer(name, header, arrays, weight, bias)
    with told_in_one_sentence(name):
        return _verification(header, arrays, layer)


def load_label_names(path: str | os.PathLike[str]) -> list[str] | None:
    """Return the label names that a file of results holds, or None."""
    return _header(Path(path).name, read_arrays(path, only={"header"})).label_names


# Reading a result


@dataclass(frozen=True)
class _Header:
    """What a file says in words: the fields of `save_verification` in their types."""

    n_labels: int
    d: int
    weight_sha256: str
    rule: str
    ties: str
    temperature: float
    certified: bool
    eps: float
    box: float | None
    fractions: dict[int, tuple[Fraction, ...]]
    multipliers: dict[int, tuple[Fraction, ...]]
    reasons: dict[int, str]
    label_names: list[str] | None
    sample: Sample | None


_LAYER_ARRAYS = ("offset", "offset_error", "theta", "low", "high")
_RADII_ARRAYS = {"sets": np.int64, "lower": np.float64, "upper": np.float64, "centers": np.float64}
_RADII_ARRAYS |= {"ptr": np.int64, "rows": np.int64, "multipliers": np.float64}
_RESULT_ARRAYS = {  # dtype and number of dimensions
    "indptr": (np.int64, 1),
    "indices": (np.int64, 1),
    "status": (np.int8, 1),
    "points": (np.float64, 2),
    "point_of": (np.int64, 1),
    "conflict_ptr": (np.int64, 1),
    "conflict_rows": (np.int64, 1),
}


def _header(name: str, arrays: dict[str, Array]) -> _Header:
    if "header" not in arrays:
        raise DataFormatError(f"{name}: expected a result of labelproof verify, got another .npz file")
    with told_in_one_sentence(name):
        _require(arrays["header"].dtype == np.uint8 and arrays["header"].ndim == 1, "header", "bytes of JSON")
        raw = json.loads(arrays["header"].tobytes().decode())
        if raw["format"] != FORMAT:
            raise DataFormatError(f"{name}: expected the format {FORMAT!r}, got {raw['format']!r}")
        if raw["version"] not in VERSIONS:
            raise DataFormatError(
                f"{name}: expected version 1 or 2 of the format, got {raw['version']!r}: "
                f"read it with the release that wrote it ({raw.get('written_by')})"
            )
        raw.setdefault("multipliers", {})
        ratios = {
            field: {int(i): tuple(_fraction(c) for c in x) for i, x in raw[field].items()}
            for field in ("fractions", "multipliers")
        }
        reasons = {int(i): str(reason) for i, reason in raw["reasons"].items()}
        names = raw["label_names"]
        _require(names is None or len(names) == raw["n_labels"], "label_names", "one name for each label")
        _require(raw["rule"] in ("sigmoid", "topk", "sparsemax"), "rule", "a known rule")
        _require(raw["ties"] in ("open", "inactive"), "ties", "a known treatment of ties")
        _require(_is_float(raw["temperature"]) and raw["temperature"] > 0, "temperature", "a positive number")
        _require(isinstance(raw["certified"], bool), "certified", "true or false")
        _require(_is_float(raw["eps"]) and raw["eps"] >= 0, "eps", "a number ≥ 0")
        _require(raw["box"] is None or _is_float(raw["box"]), "box", "a number")
        raw["sample"] = read_sample(raw.get("sample"))
        known = {field: raw[field] for field in _Header.__dataclass_fields__}
        return _Header(**{**known, **ratios, "reasons": reasons})


def _layer(name: str, header: _Header, arrays: dict[str, Array], weight: Any, bias: Any) -> OutputLayer:
    """Make the layer from the user's numbers and the file's rule and domain; refuse numbers that differ."""
    theta = arrays.get("theta")
    with told_in_one_sentence(name):
        if theta is not None:
            _require(theta.shape == (header.n_labels,) and theta.dtype == np.float64, "theta", "one number a label")
            _require(bool(np.isfinite(theta).all()), "theta", "finite numbers")
        low, high = (_bounds(bound, arrays, header.d) for bound in ("low", "high"))
        balls = balls_of_arrays(arrays, header.d)
    if np.shape(weight) != (header.n_labels, header.d):
        raise DataFormatError(
            f"{name}: made for a weight of shape {(header.n_labels, header.d)}, got {np.shape(weight)}"
        )
    layer = make_layer(
        SparseWeight(weight) if scipy.sparse.issparse(weight) and header.box is None else weight,
        bias=bias,
        theta=theta,
        rule=header.rule,  # type: ignore[arg-type] # the header was checked
        ties=header.ties,  # type: ignore[arg-type]
        domain=None if low is None and high is None else (_or(low, -np.inf), _or(high, np.inf)),
        temperature=header.temperature,
    )
    layer = replace(layer, balls=balls)
    if layer.weight_sha256 != header.weight_sha256:
        raise DataFormatError(f"{name}: made for another weight of the same shape (the sha256 of its numbers differs)")
    with told_in_one_sentence(name):
        stored = [arrays.get(part) for part in ("offset", "offset_error")]
        _require_offset(name, layer, stored[0], stored[1])
    return layer


def _or(bound: Floats | None, otherwise: float) -> Floats | float:
    return otherwise if bound is None else bound


def _bounds(side: str, arrays: dict[str, Array], d: int) -> Floats | None:
    if side not in arrays:
        return None
    bound = arrays[side]
    _require(bound.shape == (d,) and bound.dtype == np.float64, side, f"{d} numbers")
    _require(not np.isnan(bound).any(), side, "no NaN")
    _require(not (bound == (np.inf if side == "low" else -np.inf)).any(), side, "a domain that is not empty")
    if side == "high" and "low" in arrays:
        _require(bool((arrays["low"] <= bound).all()), "the domain", "low ≤ high")
    return bound


def _require_offset(name: str, layer: OutputLayer, offset: Array | None, error: Array | None) -> None:
    if offset is None or error is None:
        _require(offset is None and error is None, "offset", "two arrays, offset and offset_error, or neither")
        if layer.offset is not None:
            raise DataFormatError(f"{name}: made without a bias, got one")
        return
    if layer.offset is None or layer.offset_error is None:
        raise DataFormatError(f"{name}: made with a bias, got none")
    _require(offset.shape == error.shape == layer.offset.shape, "offset", f"{layer.n_labels} numbers")
    _require(offset.dtype == error.dtype == np.float64, "offset", "numbers of type float64")
    differs = np.flatnonzero((offset != layer.offset) | (error != layer.offset_error))
    if len(differs):
        i = int(differs[0])
        raise DataFormatError(
            f"{name}: made with another bias: for label {i}, "
            f"bias − logit(threshold) was {offset[i]}, got {layer.offset[i]}"
        )


def _verification(header: _Header, arrays: dict[str, Array], layer: OutputLayer) -> Verification:
    for key, (dtype, ndim) in _RESULT_ARRAYS.items():
        _require(key in arrays, key, "an array of that name")
        _require(arrays[key].dtype == dtype and arrays[key].ndim == ndim, key, f"{ndim}-d {np.dtype(dtype)}")
    status, points, point_of = arrays["status"], arrays["points"], arrays["point_of"]
    sets = _label_sets(arrays["indptr"], arrays["indices"], layer.n_labels)
    n_sets, rows = len(sets), arrays["conflict_rows"]
    _require(status.shape == (n_sets,), "status", f"one verdict for each of {n_sets} label sets")
    _require(bool(np.isin(status, (-1, 0, 1)).all()), "status", "1, 0 or -1")
    _require(points.shape[1] == layer.d, "points", f"{layer.d} features")
    _require(point_of.shape == (n_sets,), "point_of", f"{n_sets} numbers")
    _require(_within(point_of, -1, len(points)), "point_of", f"numbers from -1 to {len(points) - 1}")
    _require_pointers("conflict_ptr", arrays["conflict_ptr"], n_sets, len(rows))
    _require(_within(rows, 0, layer.n_rows), "conflict_rows", f"numbers from 0 to {layer.n_rows - 1}")
    _require(all(len(x) == layer.d for x in header.fractions.values()), "fractions", f"{layer.d} features each")
    if header.certified:
        unseen = np.flatnonzero((status == 1) & (point_of < 0)).tolist()
        _require(set(unseen) <= set(header.fractions), "fractions", "a witness for each argmaxable set")
        undecided = np.flatnonzero(status == -1).tolist()
        _require(set(undecided) <= set(header.reasons), "reasons", "a reason for each undecided set")
    return Verification(
        layer,
        sets,
        status,
        points,
        point_of,
        arrays["conflict_ptr"],
        rows,
        header.fractions,
        header.reasons,
        header.certified,
        None if header.box is None else _radii(header.box, arrays, layer),
        header.eps,
        header.multipliers,
        header.sample,
    )


def _radii(box: float, arrays: dict[str, Array], layer: OutputLayer) -> Radii:
    stored = {name: arrays.get(f"radius_{name}") for name in _RADII_ARRAYS}
    for name, dtype in _RADII_ARRAYS.items():
        array = stored[name]
        _require(array is not None and array.dtype == dtype, f"radius_{name}", f"an array of {np.dtype(dtype)}")
    radii = Radii(box, **stored)  # type: ignore[arg-type] # each was checked
    fault = radii.frame_fault(layer)
    if fault is not None:
        raise ValueError(f"radii: {fault}")
    return radii


def _label_sets(indptr: Indices, indices: Indices, n_labels: int) -> LabelSets:
    _require_pointers("indptr", indptr, len(indptr) - 1, len(indices))
    _require(_within(indices, 0, n_labels), "indices", f"labels from 0 to {n_labels - 1}")
    inside = np.ones(max(len(indices) - 1, 0), np.bool_)  # whether a label and the next one are of one set
    ends = indptr[1:-1]
    inside[ends[(ends > 0) & (ends < len(indices))] - 1] = False
    _require(bool((indices[1:] > indices[:-1])[inside].all()), "indices", "ascending labels in each set")
    return LabelSets(n_labels, indptr, indices)


def _require_pointers(name: str, pointers: Indices, n_sets: int, length: int) -> None:
    _require(n_sets >= 0 and pointers.shape == (n_sets + 1,), name, f"{n_sets + 1} numbers")
    _require(pointers[0] == 0 and pointers[-1] == length, name, f"numbers from 0 to {length}")
    _require(bool((pointers[1:] >= pointers[:-1]).all()), name, "ascending numbers")


def _is_float(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _within(numbers: Indices, start: int, stop: int) -> bool:
    return bool(((numbers >= start) & (numbers < stop)).all())


def _require(condition: bool, name: str, expected: str) -> None:
    if not condition:
        raise ValueError(f"{name}: expected {expected}")


# Writing


def _arrays_of(layer: OutputLayer) -> dict[str, Array]:
    """Return what a file keeps of a layer beside its weights and what the header tells."""
    own = {name: value for name in _LAYER_ARRAYS if (value := getattr(layer, name)) is not None}
    return own | arrays_of_balls(layer.balls, layer.d)


def _ratio(number: Fraction) -> str:
    return f"{number.numerator:#x}/{number.denominator:#x}"  # in decimal, Python refuses long ones


def _fraction(text: str) -> Fraction:
    if not re.fullmatch(r"-?0x[0-9a-f]+/0x[0-9a-f]+", text):
        raise ValueError(f"fractions: expected numbers like 0x1/0x2, got {text[:20]!r}")
    numerator, denominator = text.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))
