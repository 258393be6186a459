"""Output layers of live Keras models, on whichever backend Keras runs."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.importers.candidates import ASK
from labelproof.importers.exact_numbers import finite_layer
from labelproof.importers.feature_domains import after
from labelproof.importers.keras_graph import OWN_HEADS
from labelproof.importers.keras_layers import keras_layer
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.tensors import StoredTensor

__all__ = ["layer_of_keras"]


def layer_of_keras(model: Any, *, weight_key: str | None = None) -> ImportedLayer:
    """Return the output layer of a Keras model, of a Dense layer, or of one of labelproof's heads for Keras.

    Parameters
    ----------
    model
        Sequential and Functional models are read by their graph; one that is a class of its own needs ``weight_key``.
    weight_key
        Name of a Dense layer or head, or of the attribute that holds it.

    Raises
    ------
    ValueError
        If there is no such layer, or it is not built yet.
    """
    name = type(model).__name__
    if not model.built:
        raise ValueError(f"the {name} has no weights yet: call it on inputs first")
    if _is_layer(model):
        return _of_layer(model, name, name)
    if name in ("Sequential", "Functional"):
        config = json.loads(model.to_json())
        compiled = model.get_compile_config() if model.compiled else None
        config["compile_config"] = json.loads(json.dumps(compiled, default=str))
        layer = keras_layer(
            config, lambda path: _variables(model, path), model=name, kind="Keras model", weight_key=weight_key
        )
        return _with_features(layer, model)
    layers = {found: part for found, part in _named_layers(model) if _is_layer(part)}
    chosen = [part for found, part in layers.items() if weight_key in (found, part.name)]
    if len(chosen) != 1:
        raise ValueError(
            f"expected a model with a graph, got a {name} with {', '.join(layers) or 'no Dense layer'}: {ASK}"
        )
    return _of_layer(chosen[0], name, str(weight_key))


def _is_layer(part: Any) -> bool:
    module, kind = type(part).__module__, type(part).__name__
    return (module == "keras.src.layers.core.dense" and kind == "Dense") or _is_own_head(part)


def _is_own_head(part: Any) -> bool:
    return type(part).__module__ == "labelproof.keras3.heads" and type(part).__name__ in OWN_HEADS


def _named_layers(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a model by the attributes that hold them."""
    attributes = {**vars(model), **vars(model).get("_modules", {})}  # where torch keeps them
    for part in model.layers:
        yield next((name for name, value in attributes.items() if value is part), part.name), part


def _of_layer(part: Any, model: str, source: str) -> ImportedLayer:
    if _is_own_head(part):
        before, weight, bias = after("linear"), part.weight, part.bias
        layer = ImportedLayer(
            weight.astype(np.float64),
            None if bias is None else bias.astype(np.float64),
            str(weight.dtype),
            model,
            "labelproof head for Keras" if model == source else "Keras model",
            f"the weight of its {type(part).__name__}",
            before=before.name,
            domain=before.domain,
            domain_reason=before.reason,
        )
        return finite_layer(layer)
    tensors = [_stored(variable) for variable in part.weights]
    bias = tensors[1].read() if part.use_bias else None
    return finite_layer(ImportedLayer(tensors[0].read().T, bias, tensors[0].dtype, model, "Keras model", source))


def _variables(model: Any, path: tuple[str, ...]) -> list[StoredTensor]:
    for name in path:
        model = model.get_layer(name)
    return [_stored(variable) for variable in model.weights]


def _stored(variable: Any) -> StoredTensor:
    import keras

    def load() -> npt.NDArray[np.float64]:
        if "float" not in variable.dtype or "8" in variable.dtype:
            raise ValueError(f"expected floating-point numbers, got {variable.dtype} (quantised?)")
        values = keras.ops.convert_to_numpy(keras.ops.cast(variable, _readable(variable.dtype)))
        return np.array(values, np.float64)

    return StoredTensor(tuple(variable.shape), variable.dtype, "", load)


def _readable(dtype: str) -> str:
    """Return a type of numpy's that holds the numbers exactly."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def _with_features(layer: ImportedLayer, model: Any) -> ImportedLayer:
    """Return a layer with a function that runs the model up to it, where it is a Dense layer of the model itself."""
    import keras

    if "/" in layer.source or _is_own_head(model.get_layer(layer.source)):
        return layer
    inputs = model.inputs[0] if len(model.inputs) == 1 else model.inputs
    encoder = keras.Model(inputs, model.get_layer(layer.source).input)

    def features(inputs: Any) -> npt.NDArray[np.float64]:
        found = np.array(keras.ops.convert_to_numpy(encoder(inputs, training=False)), np.float64)
        if found.ndim != 2:
            raise ValueError(f"expected features (n_examples, n_features), got shape {found.shape}")
        return found

    run: Callable[[Any], Any] = features
    return replace(layer, features=run)
