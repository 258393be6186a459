"""What stands before an output layer, and which features can therefore reach it.

A domain given here contains every value that the operation returns in floating point: a bound that rounding could
pass is widened. Unargmaxable on a larger domain is a proof for the smaller one.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.proof.regions import Domain

__all__ = ["UNIT", "UNKNOWN", "Before", "after", "after_norm"]

UNIT = 1 + 2.0**-20  # a row that was divided by its length is not longer, in float32 and with up to 2**30 features


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


_NORM_ROUNDING = {"float64": 1e-6, "float32": 1e-3}  # of what a norm returns; of coarser numbers 1/32


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


def after_norm(
    operation: str, d: int, scale: npt.ArrayLike | None = None, shift: npt.ArrayLike | None = None, dtype: str = ""
) -> Before:
    """Return what is known of d features that a LayerNorm or RMSNorm returns, given its weight and its bias.

    Before these the features have a length of at most √d, so they are in a ball around the bias; the ball is a little
    larger than the largest weight times √d, for rounding.

    Examples
    --------
    >>> after_norm("layernorm", 4, [1.0, -2.0, 1.0, 1.0], dtype="float32").domain
    ('ball', 4.004)
    """
    gains = np.ones(d) if scale is None else np.asarray(scale, np.float64)
    middle = np.zeros(d) if shift is None else np.asarray(shift, np.float64)
    if gains.shape != (d,) or middle.shape != (d,):
        return after(operation)
    slack = _NORM_ROUNDING.get(dtype, 1 / 32)
    radius = float(np.abs(gains).max() * math.sqrt(d) * (1 + slack) + slack * np.linalg.norm(middle))
    if not (math.isfinite(radius) and radius > 0):
        return after(operation)
    name = _EVERYWHERE[operation]
    domain: Domain = ("ball", radius, middle) if middle.any() else ("ball", radius)
    where = "its bias" if middle.any() else "0"
    reason = f"The inputs of the layer have passed {name}, so they are within {radius:.4g} of {where}."
    return Before(name, domain, reason)
