"""The options that several losses share: their types once, and the signatures that spell them out."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from torch import Tensor

from labelproof.losses.metric_ratios import Average, Scores
from labelproof.losses.reduction import Reduction
from labelproof.losses.smooth_metrics import Empty

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = [
    "CountOptions",
    "F1ModuleOptions",
    "F1Options",
    "ModuleWeights",
    "PointwiseOptions",
    "spelled_out_as",
]

Function = TypeVar("Function", bound=Callable[..., object])


class ModuleWeights(TypedDict, total=False):
    """What every module of a pointwise loss takes."""

    label_weight: Tensor | None
    reduction: Reduction


class PointwiseOptions(ModuleWeights, total=False):
    """What every pointwise loss takes with each call."""

    example_weight: Tensor | None
    mask: Tensor | None


class CountOptions(TypedDict, total=False):
    """What decides on the counts of a batch."""

    beta: float | Tensor
    eta: float | Tensor
    scores: Scores
    average: Average
    mask: Tensor | None
    example_weight: Tensor | None
    label_weight: Tensor | None


class F1ModuleOptions(TypedDict, total=False):
    """What every module of a confusion loss takes."""

    average: Average
    empty: Empty
    smoothing: float
    decay: float
    label_weight: Tensor | None
    reduction: Reduction
    process_group: "ProcessGroup | None"


class F1Options(TypedDict, total=False):
    """What every confusion loss takes with each call."""

    average: Average
    empty: Empty
    smoothing: float
    memory: Tensor | None
    mask: Tensor | None
    example_weight: Tensor | None
    label_weight: Tensor | None
    reduction: Reduction
    counts: Tensor | None
    process_group: "ProcessGroup | None"


def spelled_out_as(source: Callable[..., object], options: type[Any]) -> Callable[[Function], Function]:
    """Write the options that a function takes as ``**options`` into the signature that `help` shows.

    Parameters
    ----------
    source
        A function with these options among its own, which says their defaults.
    options
        The TypedDict that names them.

    Examples
    --------
    >>> def ask(*, reduction="mean", label_weight=None): ...
    >>> @spelled_out_as(ask, ModuleWeights)
    ... def tell(n, **options): ...
    >>> inspect.signature(tell)
    <Signature (n, *, label_weight=None, reduction='mean')>
    """

    def spell_out(function: Function) -> Function:
        signature, told = inspect.signature(function), inspect.signature(source).parameters
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        shared = [told[name] for name in options.__annotations__]
        function.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
        return function

    return spell_out
