"""Which layer of a torch module gives its output, and what stands before it, read from the module's own graph."""

import inspect
import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from labelproof.importers.feature_domains import UNKNOWN, Before, after, after_norm

__all__ = ["TracedOutput", "traced_output"]

_ACTIVATIONS: dict[Any, str] = {
    nn.ReLU: "relu",
    nn.ReLU6: "relu6",
    nn.Tanh: "tanh",
    nn.Sigmoid: "sigmoid",
    nn.GELU: "gelu",
    nn.SiLU: "silu",
    nn.Mish: "mish",
    nn.Softplus: "softplus",
    nn.Softsign: "softsign",
    nn.Hardsigmoid: "hardsigmoid",
    nn.Hardswish: "hardswish",
    nn.SELU: "selu",
    nn.Softmax: "softmax",
    nn.LayerNorm: "layernorm",
    nn.RMSNorm: "rmsnorm",
    nn.BatchNorm1d: "batchnorm",
    nn.BatchNorm2d: "batchnorm",
    nn.GroupNorm: "groupnorm",
    nn.Linear: "linear",
    nn.LeakyReLU: "leakyrelu",
    nn.PReLU: "prelu",
}
_NAMES = {"relu", "relu_", "tanh", "tanh_", "sigmoid", "sigmoid_", "softplus", "gelu", "silu", "mish", "relu6"}
_NAMES |= {"softmax", "layer_norm", "selu", "hardsigmoid", "hardswish", "softsign", "linear"}
# Averages, maxima and selections of values within an interval that contains 0 stay within it.
_KEEPS_BOUNDS: tuple[type[nn.Module], ...] = (
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.AlphaDropout, nn.Identity, nn.Flatten, nn.Unflatten),
    *(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AvgPool1d, nn.AvgPool2d),
    *(nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.MaxPool1d, nn.MaxPool2d),
)
_KEEPS_BOUNDS_NAMES = {"dropout", "flatten", "view", "reshape", "squeeze", "unsqueeze", "contiguous", "mean", "amax"}
_KEEPS_BOUNDS_NAMES |= {"getitem", "to", "float", "double", "half", "detach", "clone", "select", "permute", "transpose"}
_KEEPS_BOUNDS_NAMES |= {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "max_pool1d"}
_KEEPS_BOUNDS_NAMES |= {"max_pool2d", "amin"}
# What leaves a vector as it is at inference: one of features, or of logits.
_KEEPS_VECTORS = (nn.Dropout, nn.Identity)
_KEEPS_VECTORS_NAMES = {"dropout", "to", "float", "double", "half", "contiguous", "detach", "clone"}


@dataclass(frozen=True)
class TracedOutput:
    """The linear layer that gives a module's output, what stands before it, and whether a softmax follows.

    The layer is named as `labelproof.importers.candidates.choose_weight` takes it; None leaves the choice to names.
    """

    weight: str | None
    before: Before
    softmax: bool = False


def traced_output(module: nn.Module) -> TracedOutput | None:
    """Return what a module's graph says of its output, or None where torch cannot trace it.

    Raises
    ------
    ValueError
        If the graph says that the output is not that of a linear layer.
    """
    graph = _graph(module)
    if graph is None:
        return None
    parts = dict(module.named_modules())
    node, softmax = _before_final_activation(graph, parts)
    if node.op == "call_module" and type(parts[str(node.target)]) is nn.Linear:
        return TracedOutput(str(node.target), _before(_input(node), parts), softmax)
    if node.op == "call_function" and node.target is F.linear and len(node.args) > 1:
        weight = node.args[1]
        bias = node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")
        key = str(weight.target) if isinstance(weight, fx.Node) and weight.op == "get_attr" else ""
        if key.endswith("weight") and (bias is None) == (f"{key.removesuffix('weight')}bias" not in _names(module)):
            return TracedOutput(key, _before(node.args[0], parts), softmax)
    what = type(parts[str(node.target)]).__name__ if node.op == "call_module" else _name(node) or str(node.target)
    raise ValueError(
        f"expected the output of a linear layer, got that of {what}: if the labels of a linear layer "
        "share one feature vector all the same, say which with weight_key="
    )


def _graph(module: nn.Module) -> fx.Graph | None:
    if any("forward" in vars(part) for part in module.modules()):
        return None  # a forward of an instance, where torch would trace that of its class
    training = {part: part.training for part in module.modules()}
    module.eval()  # so that functional dropout is seen as what it is at inference
    try:
        return fx.Tracer().trace(module, concrete_args=_defaults(module))
    except Exception:  # whatever the module's code does with values that are not there
        return None
    finally:
        for part, was in training.items():
            part.training = was


def _defaults(module: nn.Module) -> dict[str, Any]:
    """Return the arguments that can be left out, such as labels for a loss, as they are then."""
    arguments = inspect.signature(type(module).forward).parameters.values()
    return {argument.name: argument.default for argument in arguments if argument.default is not argument.empty}


def _names(module: nn.Module) -> set[str]:
    return {name for name, _ in module.named_parameters()}


def _before_final_activation(graph: fx.Graph, parts: dict[str, nn.Module]) -> tuple[fx.Node, bool]:
    """Return the node of the logits: the output's, but for what keeps their order and sign, or makes them probable."""
    output: Any = next(node for node in graph.nodes if node.op == "output").args[0]
    if isinstance(output, dict) and "logits" in output:
        output = output["logits"]
    softmax = False
    while True:
        if not isinstance(output, fx.Node):
            raise ValueError(f"expected one output, got {type(output).__name__}")
        part = parts.get(str(output.target)) if output.op == "call_module" else None
        name = _name(output)
        is_softmax = isinstance(part, nn.Softmax | nn.LogSoftmax) or name in ("softmax", "log_softmax")
        passes = isinstance(part, (*_KEEPS_VECTORS, nn.Sigmoid)) or name in _KEEPS_VECTORS_NAMES | {"sigmoid"}
        if not (is_softmax or passes):
            return output, softmax
        softmax, output = softmax or is_softmax, _input(output)


def _before(node: Any, parts: dict[str, nn.Module]) -> Before:
    is_whole = True  # whether vectors of features have only been chosen or averaged on the way
    while isinstance(node, fx.Node) and node.op != "placeholder":
        part = parts.get(str(node.target)) if node.op == "call_module" else None
        if part is not None and not isinstance(part, _KEEPS_BOUNDS):
            norm = isinstance(part, nn.LayerNorm | nn.RMSNorm)
            return _after_norm_module(part) if norm and is_whole else _after_module(part)
        name = _name(node)
        is_whole = is_whole and _keeps_vectors(node, part, name)
        if _scales(node, part):
            return UNKNOWN
        if part is None and name not in _KEEPS_BOUNDS_NAMES:
            return after({"layer_norm": "layernorm"}.get(name, name)) if name in _NAMES else UNKNOWN
        node = _input(node)
    return UNKNOWN


def _input(node: fx.Node) -> Any:
    """Return the first argument of a call."""
    return node.args[0] if node.args else node.kwargs.get("input")


def _scales(node: fx.Node, part: nn.Module | None) -> bool:
    """Return whether a node multiplies what it would otherwise leave within its bounds."""
    name = _name(node)
    if name == "dropout" and node.kwargs.get("training", True):
        return True
    if name == "avg_pool2d" and (len(node.args) > 6 or node.kwargs.get("divisor_override")):
        return True
    return getattr(part, "divisor_override", None) is not None


def _keeps_vectors(node: fx.Node, part: nn.Module | None, name: str) -> bool:
    """Return whether a node gives vectors of features that it got, or averages of them."""
    if name == "mean":
        dims: Any = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
        return isinstance(dims, int | tuple | list) and dims in (1, (1,), [1])
    if name == "getitem":
        index = node.args[1]
        return isinstance(index, tuple) and len(index) == 2 and index[0] == slice(None) and isinstance(index[1], int)
    return name in _KEEPS_VECTORS_NAMES or isinstance(part, _KEEPS_VECTORS)


def _after_norm_module(part: nn.Module) -> Before:
    """Return what is known of features that a norm over the last axis returns."""
    operation = _ACTIVATIONS.get(type(part), "unknown")
    shape: tuple[int, ...] = tuple(getattr(part, "normalized_shape", ()))
    if operation == "unknown" or len(shape) != 1:
        return after(operation)
    weight, bias = (getattr(part, name, None) for name in ("weight", "bias"))
    gains, middle = (None if value is None else value.detach().cpu().double().numpy() for value in (weight, bias))
    dtype = "float32" if weight is None else str(weight.dtype).removeprefix("torch.")
    return after_norm(operation, int(shape[0]), gains, middle, dtype)


def _after_module(part: nn.Module) -> Before:
    if isinstance(part, nn.Hardtanh) and not isinstance(part, nn.ReLU6):
        low, high = float(part.min_val), float(part.max_val)
        return Before(
            "hard tanh", (low, high), f"A hard tanh before the layer keeps its inputs between {low:g} and {high:g}."
        )
    if isinstance(part, nn.ELU):
        return after("elu") if part.alpha == 1 else UNKNOWN
    return after(_ACTIVATIONS.get(type(part), "unknown"))


def _name(node: fx.Node) -> str:
    """Return the bare name of what a node calls."""
    if node.op == "call_method":
        return str(node.target)
    if node.op != "call_function":
        return ""
    if node.target is operator.getitem:
        return "getitem"
    known = getattr(node.target, "__module__", None) in (None, "torch", "torch.nn.functional", "torch._C._nn")
    is_torch = known or node.target in vars(torch).values() or node.target in vars(F).values()
    return str(getattr(node.target, "__name__", "")) if is_torch else ""
