"""Which layer of a torch module gives its output, and what stands before it, read from the module's own graph."""

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from labelproof.importers.before import UNKNOWN, Before, after

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
_KEEPS_BOUNDS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.AlphaDropout, nn.Identity, nn.Flatten, nn.Unflatten)
_KEEPS_BOUNDS += (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AvgPool1d, nn.AvgPool2d)  # type: ignore[assignment]
_KEEPS_BOUNDS += (nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.MaxPool1d, nn.MaxPool2d)  # type: ignore[assignment]
_KEEPS_BOUNDS_NAMES = {"dropout", "flatten", "view", "reshape", "squeeze", "unsqueeze", "contiguous", "mean", "amax"}
_KEEPS_BOUNDS_NAMES |= {"getitem", "to", "float", "double", "half", "detach", "clone", "select", "permute", "transpose"}
_KEEPS_BOUNDS_NAMES |= {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "max_pool1d"}
_KEEPS_BOUNDS_NAMES |= {"max_pool2d", "amin"}
_KEEPS_LABELS = (nn.Dropout, nn.Identity)
_KEEPS_LABELS_NAMES = {"dropout", "to", "float", "double", "half", "contiguous", "detach", "clone"}


@dataclass(frozen=True)
class TracedOutput:
    """The name of the linear layer that gives a module's output, what stands before it, and whether softmax follows."""

    layer: str
    before: Before
    softmax: bool


def traced_output(module: nn.Module) -> TracedOutput | None:
    """Return what a module's graph says of its output, or None where torch cannot trace it.

    Raises
    ------
    ValueError
        If the graph says that the output is not that of a linear layer.
    """
    try:
        traced = fx.symbolic_trace(module)
    except Exception:  # whatever the module's code does with values that are not there
        return None
    parts = dict(traced.named_modules())
    node, softmax = _before_final_activation(traced.graph, parts)
    if node.op != "call_module" or type(parts[str(node.target)]) is not nn.Linear:
        what = type(parts[str(node.target)]).__name__ if node.op == "call_module" else _name(node)
        raise ValueError(
            f"expected the output of a linear layer, got that of {what}: if the labels of a linear layer "
            "share one feature vector all the same, say which with weight_key (--weight-key)"
        )
    return TracedOutput(str(node.target), _before(node.args[0], parts), softmax)


def _before_final_activation(graph: fx.Graph, parts: dict[str, nn.Module]) -> tuple[fx.Node, bool]:
    """Return the node of the logits: the output's, but for what keeps their order and sign, or makes them probable."""
    output = next(node for node in graph.nodes if node.op == "output").args[0]
    softmax = False
    while True:
        if not isinstance(output, fx.Node):
            raise ValueError(f"expected one output, got {type(output).__name__}")
        part = parts.get(str(output.target)) if output.op == "call_module" else None
        name = _name(output)
        is_softmax = isinstance(part, nn.Softmax | nn.LogSoftmax) or name in ("softmax", "log_softmax")
        passes = isinstance(part, (*_KEEPS_LABELS, nn.Sigmoid)) or name in _KEEPS_LABELS_NAMES | {"sigmoid"}
        if not (is_softmax or passes) or not output.args:
            return output, softmax
        softmax, output = softmax or is_softmax, output.args[0]


def _before(node: Any, parts: dict[str, nn.Module]) -> Before:
    while isinstance(node, fx.Node) and node.op != "placeholder":
        part = parts.get(str(node.target)) if node.op == "call_module" else None
        if part is not None and not isinstance(part, _KEEPS_BOUNDS):
            return _after_module(part)
        name = _name(node)
        if part is None and name not in _KEEPS_BOUNDS_NAMES:
            return after({"layer_norm": "layernorm"}.get(name, name)) if name in _NAMES else UNKNOWN
        node = node.args[0]
    return UNKNOWN


def _after_module(part: nn.Module) -> Before:
    if isinstance(part, nn.Hardtanh) and not isinstance(part, nn.ReLU6):
        low, high = float(part.min_val), float(part.max_val)
        return Before("hard tanh", (low, high), f"A hard tanh before the layer keeps inputs within {low} and {high}.")
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
