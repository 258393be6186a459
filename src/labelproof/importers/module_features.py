"""Features of a live torch module, caught as they enter its output layer."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, inference_mode, nn

__all__ = ["catch_inputs_and_output"]

Array = npt.NDArray[Any]


def catch_inputs_and_output(module: nn.Module, layer: nn.Module) -> Callable[[Any], tuple[Array, Array]]:
    """Return a function that runs a module, and returns what enters one of its layers and the module's own output.

    Parameters
    ----------
    module
        It is run as at inference, and left as it was.
    layer
        A part of it, which must run once.

    Returns
    -------
    function
        From inputs (a tensor, or a mapping of keyword arguments) to float64 arrays: the features (n_examples,
        n_features), and the output of the module or its ``logits``.
    """

    def run(inputs: Any) -> tuple[Array, Array]:
        caught: list[Tensor] = []
        handle = layer.register_forward_pre_hook(lambda _, given: caught.append(given[0].detach()))
        training = {part: part.training for part in module.modules()}
        module.eval()
        try:
            with inference_mode():
                output = module(**inputs) if isinstance(inputs, Mapping) else module(inputs)
        finally:
            handle.remove()
            for part, was in training.items():
                part.training = was
        if len(caught) == 1 and caught[0].ndim == 4 and caught[0].shape[2:] == (1, 1):
            caught = [caught[0].flatten(1)]  # pooled images
        if len(caught) != 1 or caught[0].ndim != 2:
            shapes = [tuple(tensor.shape) for tensor in caught]
            raise ValueError(f"expected one batch of features (n_examples, n_features), got shapes {shapes}")
        return _numbers(caught[0]), _numbers(getattr(output, "logits", output))

    return run


def _numbers(tensor: Any) -> Array:
    if not isinstance(tensor, Tensor):
        return np.zeros((0, 0))
    return np.asarray(tensor.detach().double().cpu().numpy())
