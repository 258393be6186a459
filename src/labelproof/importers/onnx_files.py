"""Output layers of ONNX files: the Gemm or MatMul that gives the output, and what stands before it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.optional_packages import need
from labelproof.importers.exact_numbers import finite_layer, refuse_size
from labelproof.importers.feature_domains import UNKNOWN, Before, after, after_norm
from labelproof.importers.layer import SOFTMAX, ImportedLayer

__all__ = ["read_onnx"]

MAX_FILE = 2**31  # protobuf's own limit
PASS_ON = {"Identity", "Cast", "Dropout"}
KEEP_BOUNDS = PASS_ON | {"Flatten", "Reshape", "Squeeze", "Unsqueeze", "Gather", "Slice", "Transpose", "ReduceMean"}
KEEP_BOUNDS |= {"GlobalAveragePool", "AveragePool", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin"}
OPERATIONS = {
    "Relu": "relu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "Softplus": "softplus",
    "Gelu": "gelu",
    "Mish": "mish",
    "Softmax": "softmax",
    "Softsign": "softsign",
    "HardSwish": "hardswish",
    "HardSigmoid": "hardsigmoid",
    "Abs": "abs",
    "Gemm": "linear",
    "LeakyRelu": "leakyrelu",
    "PRelu": "prelu",
    "LayerNormalization": "layernorm",
    "BatchNormalization": "batchnorm",
    "GroupNormalization": "groupnorm",
    "RMSNormalization": "rmsnorm",
}


@dataclass(frozen=True)
class _Graph:
    """An ONNX graph by the names of its values."""

    makers: dict[str, Any]  # nodes, by what they give
    stored: dict[str, Any]  # tensors of initializers and constants
    outputs: list[str]
    folder: Path


@dataclass(frozen=True)
class _Found:
    """A linear layer: names of weight and bias, whether the weight is (n_labels, n_features), input, and softmax."""

    weight: str
    bias: str | None
    by_label: bool
    input: str
    softmax: bool


def read_onnx(path: Path, *, weight_key: str | None = None) -> ImportedLayer:
    """Return the layer of an .onnx file.

    Parameters
    ----------
    path
        Of the file. Tensors that it keeps in other files are read from its own folder only.
    weight_key
        Name of the weight, where several outputs end in linear layers.

    Raises
    ------
    ValueError
        If no output is that of a Gemm, or of a MatMul and perhaps an Add, with stored weights.
    """
    need("onnx", f"reading {path.name}")
    graph = _read_graph(path)
    try:
        return _layer(graph, _found(graph, weight_key), path.name)
    except (IndexError, KeyError) as error:
        raise ValueError("expected an ONNX model, got one with nodes that lack inputs or outputs") from error


def _found(graph: _Graph, weight_key: str | None) -> _Found:
    """Return the linear layer behind the output."""
    outputs = ["logits"] if "logits" in graph.outputs and weight_key is None else graph.outputs
    found = {name: layer for name in outputs if (layer := _behind(graph, name)) is not None}
    if weight_key is not None:
        found = {name: layer for name, layer in found.items() if layer.weight == weight_key}
    if not found:
        makers = ", ".join(_operation(graph, name) for name in outputs) or "nothing"
        named = "" if weight_key is None else f" with the weight {weight_key!r}"
        raise ValueError(f"expected an output{named} that a Gemm or MatMul with stored weights gives, got {makers}")
    if weight_key is None and len(outputs) > 1:
        names = ", ".join(f"{name} (weight {layer.weight})" for name, layer in found.items())
        raise ValueError(
            f"expected one output, or one called logits, got {len(outputs)}, and of linear layers {names}: "
            "say which with weight_key="
        )
    return next(iter(found.values()))


def _layer(graph: _Graph, found: _Found, name: str) -> ImportedLayer:
    weight, dtype = _numbers(graph, found.weight)
    if weight.ndim != 2:
        raise ValueError(f"expected a weight of two axes, got {found.weight} of shape {weight.shape}")
    before = _before(graph, found.input)
    return finite_layer(
        ImportedLayer(
            weight=weight if found.by_label else weight.T,
            bias=None if found.bias is None else _bias(graph, found.bias),
            dtype=dtype,
            model=name,
            kind="ONNX file",
            source=f"{found.weight} of {name}",
            before=before.name,
            domain=before.domain,
            domain_reason=before.reason,
            rule="topk" if found.softmax else "sigmoid",
            notes=(SOFTMAX,) if found.softmax else (),
        )
    )


def _bias(graph: _Graph, name: str) -> npt.NDArray[np.float64]:
    """Return one number for each label, which ONNX may keep with leading axes of length 1."""
    values = _numbers(graph, name)[0]
    if any(length != 1 for length in values.shape[:-1]):
        raise ValueError(f"expected a bias with one number for each label, got {name} of shape {values.shape}")
    return values.reshape(-1)


def _read_graph(path: Path) -> _Graph:
    import onnx

    size = path.stat().st_size
    if size > MAX_FILE:
        raise ValueError(f"expected at most {MAX_FILE} bytes, got {size}")
    try:
        graph = onnx.load(path, load_external_data=False).graph
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"expected an ONNX model ({str(error).splitlines()[0][:200]})") from error
    constants = (node for node in graph.node if node.op_type == "Constant")
    values = ((name, entry) for node in constants for name in node.output for entry in node.attribute)
    stored = {name: entry.t for name, entry in values if entry.name == "value"}
    stored |= {tensor.name: tensor for tensor in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output if node.op_type != "Constant"}
    return _Graph(makers, stored, [value.name for value in graph.output], path.resolve().parent)


def _behind(graph: _Graph, name: str) -> _Found | None:
    """Return the linear layer that gives an output, or None."""
    softmax = False
    for node in _chain(graph, name):
        if node.op_type in ("Softmax", "LogSoftmax"):
            softmax = True
        elif node.op_type not in PASS_ON and node.op_type != "Sigmoid":
            return _linear(graph, node, softmax)
    return None


def _chain(graph: _Graph, name: str) -> Iterator[Any]:
    """Yield the nodes behind a value, along first inputs."""
    for _ in range(len(graph.makers) + 1):
        if name not in graph.makers:
            return
        yield graph.makers[name]
        name = graph.makers[name].input[0]


def _linear(graph: _Graph, node: Any, softmax: bool) -> _Found | None:
    if node.op_type == "Gemm":
        return _gemm(graph, node, softmax)
    bias = None
    if node.op_type == "Add" and len(node.input) == 2:
        first, second = node.input
        bias, product = (first, second) if first in graph.stored else (second, first)
        if bias not in graph.stored or product not in graph.makers:
            return None
        node = graph.makers[product]
    if node.op_type != "MatMul":
        return None
    weight, by_label = _through_transpose(graph, node.input[1])
    return _Found(weight, bias, by_label, node.input[0], softmax) if weight in graph.stored else None


def _gemm(graph: _Graph, node: Any, softmax: bool) -> _Found | None:
    options = {entry.name: entry for entry in node.attribute}
    factors = {name: options[name].f if name in options else 1.0 for name in ("alpha", "beta")}
    if any(factor != 1 for factor in factors.values()) or ("transA" in options and options["transA"].i):
        raise ValueError(f"expected a Gemm without factors or a transposed input, got {factors}")
    weight, transposed = _through_transpose(graph, node.input[1])
    bias = node.input[2] if len(node.input) > 2 and node.input[2] else None
    if weight not in graph.stored or (bias is not None and bias not in graph.stored):
        return None
    by_label = transposed != bool("transB" in options and options["transB"].i)
    return _Found(weight, bias, by_label, node.input[0], softmax)


def _through_transpose(graph: _Graph, name: str) -> tuple[str, bool]:
    """Return the stored matrix behind a value, and whether a transposition lies between."""
    transposed = False
    for node in _chain(graph, name):
        if node.op_type not in ("Transpose", "Identity"):
            break
        orders = [list(entry.ints) for entry in node.attribute if entry.name == "perm"]
        transposed ^= node.op_type == "Transpose" and orders != [[0, 1]]
        name = node.input[0]
    return name, transposed


def _before(graph: _Graph, name: str) -> Before:
    is_whole = True  # whether nothing has taken vectors of features apart on the way
    for node in _chain(graph, name):
        if node.op_type == "Clip":
            return _after_clip(graph, node)
        if node.op_type in ("LayerNormalization", "RMSNormalization") and not node.domain and is_whole:
            return _after_norm(graph, node)
        is_whole = is_whole and node.op_type in PASS_ON
        training = node.op_type == "Dropout" and len(node.input) > 2  # it may then scale what it leaves
        if training or node.op_type not in KEEP_BOUNDS:
            return after(OPERATIONS.get(node.op_type, "unknown")) if not node.domain else UNKNOWN
    return UNKNOWN


def _after_norm(graph: _Graph, node: Any) -> Before:
    """Return what is known of features that a norm over the last axis returns."""
    operation, names = OPERATIONS[node.op_type], [name for name in node.input[1:] if name]
    axes = [entry.i for entry in node.attribute if entry.name == "axis"]
    if axes not in ([], [-1]) or not names or any(name not in graph.stored for name in names):
        return after(operation)
    scale, dtype = _numbers(graph, names[0])
    shift = _numbers(graph, names[1])[0] if len(names) > 1 else None
    return after_norm(operation, scale.size, scale, shift, dtype)


def _after_clip(graph: _Graph, node: Any) -> Before:
    names = [*node.input[1:], "", ""][:2]
    if any(name and name not in graph.stored for name in names):
        return UNKNOWN
    low, high = (
        float(_numbers(graph, name)[0].item()) if name else end
        for name, end in zip(names, (-math.inf, math.inf), strict=True)
    )
    if not low <= 0 <= high:  # averages over padding could leave it
        return UNKNOWN
    return Before("clip", (low, high), f"A clip before the layer keeps its inputs between {low:g} and {high:g}.")


def _operation(graph: _Graph, name: str) -> str:
    return str(graph.makers[name].op_type) if name in graph.makers else "an input"


def _numbers(graph: _Graph, name: str) -> tuple[npt.NDArray[np.float64], str]:
    """Return a stored tensor, exactly, and its dtype."""
    from onnx import TensorProto, numpy_helper

    tensor = graph.stored[name]
    kinds = {
        TensorProto.FLOAT: "float32",
        TensorProto.DOUBLE: "float64",
        TensorProto.FLOAT16: "float16",
        TensorProto.BFLOAT16: "bfloat16",
    }
    if tensor.data_type not in kinds:
        kind = TensorProto.DataType.Name(tensor.data_type)
        raise ValueError(
            f"expected numbers in float64, float32, float16 or bfloat16 in {name}, got {kind} (quantised?)"
        )
    shape = tuple(tensor.dims)
    refuse_size(name, shape)
    dtype = kinds[tensor.data_type]
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external(tensor, graph.folder, dtype), dtype
    try:
        return np.asarray(numpy_helper.to_array(tensor)).astype(np.float64), dtype
    except (ValueError, TypeError) as error:
        raise ValueError(f"expected the numbers of shape {shape} in {name}, got others") from error


def _external(tensor: Any, folder: Path, dtype: str) -> npt.NDArray[np.float64]:
    """Return a tensor that is kept in another file, which must be in the same folder or below it."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    place = (folder / entries.get("location", "")).resolve()
    if not place.is_relative_to(folder) or not place.is_file():
        raise ValueError(f"expected the data of {tensor.name} in a file below the model's folder, got {place.name!r}")
    stored = np.dtype({"bfloat16": "<u2", "float16": "<f2", "float32": "<f4", "float64": "<f8"}[dtype])
    start, size = entries.get("offset", "0"), math.prod(tensor.dims) * stored.itemsize
    if not start.isdecimal() or int(start) + size > place.stat().st_size:
        raise ValueError(f"expected {size} bytes of {tensor.name} at {start} in {place.name}, which is shorter")
    if not size:
        return np.zeros(tuple(tensor.dims))
    values = np.memmap(place, stored, "r", int(start), tuple(tensor.dims))
    if dtype == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)
