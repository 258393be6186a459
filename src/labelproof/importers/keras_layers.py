"""The output layer of a Keras model, given its configuration and its numbers, from a file or from a live model."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.arguments import whole_number
from labelproof.importers.exact_numbers import finite_layer, refuse_size
from labelproof.importers.feature_domains import Before, after_norm
from labelproof.importers.keras_graph import KerasOutput, KerasPart, is_own_head, output_of
from labelproof.importers.layer import SOFTMAX, ImportedLayer
from labelproof.importers.tensors import StoredTensor
from labelproof.theory.codes import Code, codewords
from labelproof.theory.fixed_columns import checked_order, code_columns, dft_columns, grid_length

__all__ = ["keras_layer"]

Floats = npt.NDArray[np.float64]
Variables = Callable[[tuple[str, ...]], list[StoredTensor]]
"""From the names that lead to a layer to its numbers, in Keras's order."""
CROSS_ENTROPIES = {"categorical_crossentropy", "sparse_categorical_crossentropy"}
CROSS_ENTROPIES |= {"CategoricalCrossentropy", "SparseCategoricalCrossentropy"}
COMPILED = "The model was compiled with the cross entropy of a softmax: it is judged by the rule topk."


def keras_layer(config: Any, variables: Variables, *, model: str, kind: str, weight_key: str | None) -> ImportedLayer:
    """Return the output layer of a Sequential or Functional model.

    Parameters
    ----------
    config
        As Keras serialises it.
    variables
        Reads the numbers of a layer.
    model, kind
        As in `ImportedLayer`.
    weight_key
        Name of a layer, where it cannot be found.
    """
    found = output_of(config, weight_key)
    tensors = variables(found.layer.path)
    weight, bias, dtype = (_own_weight if is_own_head(found.layer) else _dense_weight)(found.layer, tensors)
    before = _before(found, variables)
    is_softmax, by_loss = found.rule == "topk", found.rule == "sigmoid" and _is_softmax_loss(found, config)
    return finite_layer(
        ImportedLayer(
            weight=weight,
            bias=bias,
            dtype=dtype,
            model=model,
            kind=kind,
            source=f"{'/'.join(found.layer.path)}",
            before=before.name,
            domain=before.domain,
            domain_reason=before.reason,
            rule="topk" if by_loss else found.rule,
            size=1 if is_softmax or by_loss else None,
            notes=(SOFTMAX,) if is_softmax else (COMPILED,) if by_loss else (),
        )
    )


def _dense_weight(layer: KerasPart, tensors: list[StoredTensor]) -> tuple[Floats, Floats | None, str]:
    has_bias = bool(layer.settings.get("use_bias", True))
    units = layer.settings.get("units")
    shapes = [tensor.shape for tensor in tensors]
    if len(shapes) != 1 + has_bias or len(shapes[0]) != 2 or shapes[0][1] != units:
        raise ValueError(f"expected a kernel (n_features, {units}) of {layer.path[-1]}, and its bias, got {shapes}")
    return tensors[0].read().T, tensors[1].read() if has_bias else None, tensors[0].dtype


def _own_weight(layer: KerasPart, tensors: list[StoredTensor]) -> tuple[Floats, Floats | None, str]:
    """Return the weight of one of labelproof's heads, whose fixed columns are made again from its settings."""
    name, settings = layer.kind.split(">")[-1], layer.settings
    if name == "BottleneckHead":
        if len(tensors) != 3 + bool(settings.get("bias")):
            raise ValueError(f"expected the numbers of a BottleneckHead, got shapes {[one.shape for one in tensors]}")
        return tensors[2].read().T, tensors[3].read() if settings.get("bias") else None, tensors[2].dtype
    try:
        columns = _dft_columns(settings) if name == "DFTHead" else _code_columns(settings)
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected the settings of a {name}, got others ({error})") from error
    precision = "float64" if tensors and tensors[0].dtype == "float64" else "float32"
    fixed = columns.astype(precision).astype(np.float64)
    if not settings.get("slack"):
        return fixed, None, precision
    if len(tensors) != 3 or tensors[2].shape != (len(fixed), settings["slack"]):
        raise ValueError(f"expected the learnable columns of a {name}, got shapes {[one.shape for one in tensors]}")
    return np.concatenate([fixed, tensors[2].read().astype(precision).astype(np.float64)], axis=1), None, precision


def _dft_columns(settings: Mapping[str, Any]) -> Floats:
    n_labels, k = (whole_number(name, settings[name], minimum=1) for name in ("n_labels", "k"))
    refuse_size("the weight", (n_labels, 2 * k + 1))
    places = checked_order(settings["order"], n_labels)
    n_nodes = grid_length(n_labels) if settings["nodes"] == "fast" else n_labels
    return dft_columns(places, n_nodes, k, float(settings["scale"]))


def _code_columns(settings: Mapping[str, Any]) -> Floats:
    n_labels = whole_number("n_labels", settings["n_labels"], minimum=1)
    code = Code(*(whole_number("code", number, minimum=1) for number in settings["code"]))
    refuse_size("the weight", (n_labels, 1 + code.columns))
    return code_columns(codewords(n_labels, code), code, float(settings["scale"]))


def _before(found: KerasOutput, variables: Variables) -> Before:
    norm = found.norm
    if norm is None or norm.settings.get("rms_scaling") or norm.settings.get("axis") not in ([-1], -1):
        return found.before
    tensors = variables(norm.path)
    is_layer_norm = norm.kind == "LayerNormalization"
    has_scale, has_shift = not is_layer_norm or bool(norm.settings.get("scale")), bool(norm.settings.get("center"))
    has_shift = has_shift and is_layer_norm
    if len(tensors) != has_scale + has_shift or not tensors:
        return found.before
    scale = tensors[0].read() if has_scale else None
    shift = tensors[-1].read() if has_shift else None
    operation, dtype = "layernorm" if is_layer_norm else "rmsnorm", tensors[0].dtype
    return after_norm(operation, int(tensors[0].shape[0]), scale, shift, dtype)


def _is_softmax_loss(found: KerasOutput, config: Any) -> bool:
    """Return whether linear outputs were trained by the cross entropy of their softmax."""
    compiled = config.get("compile_config")
    loss = compiled.get("loss") if isinstance(compiled, Mapping) else None
    loss = loss.get("class_name") if isinstance(loss, Mapping) else loss
    return found.layer.activation == "linear" and isinstance(loss, str) and loss in CROSS_ENTROPIES
