"""What stands before an output layer, and which features can therefore reach it.

A domain given here contains every value that the operation returns in floating point: a bound that rounding could
pass is widened. Unargmaxable on a larger domain is a proof for the smaller one.
"""

import math
from dataclasses import dataclass

from labelproof.proof.regions import Domain

__all__ = ["UNKNOWN", "Before", "after"]


@dataclass(frozen=True)
class Before:
    """What stands before a layer, for people; the domain of the features; and why, in one sentence."""

    name: str | None
    domain: Domain
    reason: str


UNKNOWN = Before(None, None, "Nothing is known of what stands before the layer, so every input is allowed.")

_NONNEGATIVE = {
    "relu": "ReLU",
    "softplus": "softplus",
    "relu2": "squared ReLU",
    "abs": "absolute value",
}
_BOUNDED: dict[str, tuple[str, float, float]] = {
    "tanh": ("tanh", -1.0, 1.0),
    "hardtanh": ("hard tanh", -1.0, 1.0),
    "softsign": ("softsign", -1.0, 1.0),
    "sigmoid": ("sigmoid", 0.0, 1.0),
    "hardsigmoid": ("hard sigmoid", 0.0, 1.0),
    "softmax": ("softmax", 0.0, 1.0),
    "relu6": ("ReLU6", 0.0, 6.0),
    "gelu": ("GELU", -0.18, math.inf),  # its least value is above -0.1701, also as computed by tanh
    "silu": ("SiLU", -0.29, math.inf),  # -0.2785
    "mish": ("Mish", -0.32, math.inf),  # -0.3088
    "hardswish": ("hard swish", -0.38, math.inf),  # -3/8
    "elu": ("ELU", -1.0, math.inf),
    "selu": ("SELU", -1.76, math.inf),  # -1.7581
}
_ALIASES = {
    "gelu_new": "gelu",
    "gelu_fast": "gelu",
    "gelu_python": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu_accurate": "gelu",
    "quick_gelu": "gelu",  # its least value is -0.1637
    "swish": "silu",
    "logistic": "sigmoid",
    "relu_": "relu",
    "tanh_": "tanh",
    "sigmoid_": "sigmoid",
}
_EVERYWHERE = {
    "layernorm": "LayerNorm",
    "rmsnorm": "RMSNorm",
    "batchnorm": "BatchNorm",
    "groupnorm": "GroupNorm",
    "linear": "a linear layer",
    "leakyrelu": "leaky ReLU",
    "prelu": "PReLU",
}


def after(operation: str) -> Before:
    """Return what is known of features that an operation returns.

    Parameters
    ----------
    operation
        Its usual name in lower case, such as "relu" or "gelu_new"; one that is not known bounds nothing.

    Examples
    --------
    >>> after("relu").domain, after("tanh").domain, after("layernorm").domain
    ('nonnegative', (-1.0, 1.0), None)
    """
    operation = _ALIASES.get(operation, operation)
    if operation in _NONNEGATIVE:
        name = _NONNEGATIVE[operation]
        return Before(name, "nonnegative", f"The inputs of the layer have passed {name}, so they are nonnegative.")
    if operation in _BOUNDED:
        name, low, high = _BOUNDED[operation]
        bounds = f"at least {low}" if math.isinf(high) else f"between {low:g} and {high:g}"
        return Before(name, (low, high), f"The inputs of the layer have passed {name}, so they are {bounds}.")
    if operation in _EVERYWHERE:
        name = _EVERYWHERE[operation]
        return Before(name, None, f"What stands before the layer, {name}, bounds no input, so every one is allowed.")
    return UNKNOWN
