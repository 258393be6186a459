"""Which Dense layer gives the output of a Keras model, and what stands before it, from the model's configuration.

The configuration is that which Keras writes into a .keras file, or serialises of a live model: nothing of it is run.
"""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labelproof.importers.candidates import ASK
from labelproof.importers.feature_domains import UNKNOWN, Before, after

__all__ = ["OWN_HEADS", "KerasOutput", "KerasPart", "is_graph", "is_own_head", "output_of"]

MODELS = ("Sequential", "Functional")
OWN_HEADS = ("DFTHead", "CodeHead", "BottleneckHead")
DROPOUTS = {"Dropout", "SpatialDropout1D", "SpatialDropout2D", "AlphaDropout", "GaussianDropout", "GaussianNoise"}
PASS_ON = DROPOUTS | {"Identity", "ActivityRegularization"}
# Averages, maxima and selections of values within an interval that contains 0 stay within it.
KEEP_BOUNDS = PASS_ON | {"Flatten", "Reshape", "Permute", "RepeatVector", "Masking"}
KEEP_BOUNDS |= {f"{kind}Pooling{n}D" for kind in ("Max", "Average", "GlobalMax", "GlobalAverage") for n in (1, 2, 3)}
OPERATIONS = {
    "softmax": "softmax",
    "leaky_relu": "leakyrelu",
    "hard_sigmoid": "hardsigmoid",
    "hard_silu": "hardswish",
    "hard_swish": "hardswish",
    "hard_tanh": "hardtanh",
    "linear": "linear",
}
OPERATIONS |= {
    name: name
    for name in (
        "relu",
        "relu6",
        "tanh",
        "sigmoid",
        "softplus",
        "softsign",
        "gelu",
        "silu",
        "swish",
        "mish",
        "elu",
        "selu",
    )
}
LAYERS = {"Softmax": "softmax", "LeakyReLU": "leakyrelu", "PReLU": "prelu", "BatchNormalization": "batchnorm"}
FINAL = ("Dense", "Activation", "Softmax", "labelproof>Sparsemax")
RULES = {"sigmoid": "sigmoid", "softmax": "topk", "log_softmax": "topk", "sparsemax": "sparsemax"}


@dataclass(frozen=True, eq=False)
class KerasPart:
    """A layer: the names that lead to it through models within models, its class and its settings."""

    path: tuple[str, ...]
    kind: str
    settings: Mapping[str, Any]

    @property
    def activation(self) -> str:
        """The name of its activation; that of a function of someone's own is in <>."""
        if self.kind in ("Softmax", "labelproof>Sparsemax"):
            return self.kind.split(">")[-1].lower() if self.settings.get("axis", -1) == -1 else "<another axis>"
        activation = self.settings.get("activation") or "linear"
        if isinstance(activation, Mapping) and activation.get("config") == "labelproof>sparsemax":
            return "sparsemax"
        return activation if isinstance(activation, str) else "<function>"


@dataclass(frozen=True, eq=False)
class KerasOutput:
    """The layer that gives the output, the rule that follows it, what stands before it, and a norm to be read."""

    layer: KerasPart
    rule: str
    before: Before
    norm: KerasPart | None = None


def output_of(model: Any, weight_key: str | None = None) -> KerasOutput:
    """Return what a model's configuration says of its output.

    Parameters
    ----------
    model
        Of a Sequential or Functional model, as Keras serialises it.
    weight_key
        Name of a layer, where a model has several outputs, or its output is not that of a Dense layer.

    Raises
    ------
    ValueError
        If the output is not that of a Dense layer, or of one of labelproof's heads.
    """
    if weight_key is not None:
        part = _named(model, weight_key)
        return KerasOutput(
            part, RULES.get(part.activation, "sigmoid"), after("linear") if is_own_head(part) else UNKNOWN
        )
    parts = _behind(model, ())
    activations: list[str] = []
    for part in parts:
        if part.kind in PASS_ON:
            continue
        if part.kind not in FINAL and not is_own_head(part):
            raise ValueError(f"expected the output of a Dense layer, got that of {part.path[-1]} ({part.kind}): {ASK}")
        if part.activation != "linear":
            activations.append(part.activation)
        if part.kind == "Dense":
            rest = list(parts)
            return KerasOutput(part, _rule(activations), _before(rest), _norm_before(rest))
        if is_own_head(part):
            return KerasOutput(part, _rule(activations), after("linear"))
    raise ValueError("expected the output of a Dense layer, got that of none")


def is_graph(model: Mapping[str, Any]) -> bool:
    """Return whether a configuration is that of Keras's own Sequential or Functional model."""
    module = str(model.get("module"))
    is_keras = module == "keras" or module.startswith(("keras.models", "keras.src.models"))
    return is_keras and model.get("class_name") in MODELS


def is_own_head(part: KerasPart) -> bool:
    """Return whether a layer is one of labelproof's heads."""
    return part.kind in (f"labelproof>{name}" for name in OWN_HEADS)


def _rule(activations: list[str]) -> str:
    """Return the rule that belongs to what follows the logits."""
    if not activations:
        return "sigmoid"
    if len(activations) > 1 or activations[0] not in RULES:
        raise ValueError(
            "expected one activation of the logits at most, linear, sigmoid, softmax or sparsemax, got "
            f"{' after '.join(activations)}: if signs and order are those of the logits, {ASK}"
        )
    return RULES[activations[0]]


def _behind(model: Any, path: tuple[str, ...]) -> Generator[KerasPart, None, bool]:
    """Yield the layers behind the output, along single inputs; return whether they lead to the model's input."""
    settings = _settings(model)
    layers = {str(_settings(layer).get("name")): layer for layer in _list(settings.get("layers"))}
    is_chain = model.get("class_name") == "Sequential"
    order = list(layers)
    name: str | None = (order[-1] if order else None) if is_chain else _one_output(settings)
    for _ in range(len(layers) + 1):
        if name not in layers:
            return False
        layer = layers[name]
        if layer.get("class_name") == "InputLayer":
            return True
        if is_graph(layer):
            reached = yield from _behind(layer, (*path, name))
            if not reached:
                return False
        else:
            yield KerasPart((*path, name), _kind(layer), _settings(layer))
        if is_chain:
            place = order.index(name)
            if place == 0:
                return True
            name = order[place - 1]
        else:
            sources = _sources(layer)
            name = sources[0] if len(sources) == 1 else None
    return False


def _one_output(settings: Mapping[str, Any]) -> str:
    names = list(dict.fromkeys(_histories(settings.get("output_layers"))))
    if len(names) != 1:
        raise ValueError(f"expected one output, got {', '.join(names) or 'none'}: {ASK}")
    return names[0]


def _histories(value: Any) -> Iterator[str]:
    """Yield the layers that tensors come from: [name, node, index], in any nesting."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _histories(inner)
    elif isinstance(value, list):
        if len(value) == 3 and isinstance(value[0], str) and all(type(number) is int for number in value[1:]):
            yield value[0]
        else:
            for inner in value:
                yield from _histories(inner)


def _sources(layer: Mapping[str, Any]) -> list[str]:
    """Return the layers that feed a layer which is called once; none where it is called more often."""
    nodes = _list(layer.get("inbound_nodes"))
    return list(_histories(nodes[0])) if len(nodes) == 1 else []


def _named(model: Any, name: str) -> KerasPart:
    """Return the Dense layer or head of this name, wherever it is."""
    found = [part for part in _all(model, ()) if name in (part.path[-1], "/".join(part.path))]
    usable = [part for part in found if part.kind == "Dense" or is_own_head(part)]
    if len(usable) != 1:
        dense = [("/".join(part.path)) for part in _all(model, ()) if part.kind == "Dense" or is_own_head(part)]
        raise ValueError(f"expected the name of one Dense layer, got {name!r}; there are {', '.join(dense) or 'none'}")
    return usable[0]


def _all(model: Any, path: tuple[str, ...]) -> Iterator[KerasPart]:
    for layer in _list(_settings(model).get("layers")):
        name = str(_settings(layer).get("name"))
        if is_graph(layer):
            yield from _all(layer, (*path, name))
        else:
            yield KerasPart((*path, name), _kind(layer), _settings(layer))


def _norm_before(parts: list[KerasPart]) -> KerasPart | None:
    """Return the norm whose vectors of features reach the layer whole, if that is what stands before it."""
    for part in parts:
        if part.kind in ("LayerNormalization", "RMSNormalization"):
            return part
        if part.kind not in PASS_ON:
            return None
    return None


def _before(parts: list[KerasPart]) -> Before:
    for part in parts:
        if part.kind not in KEEP_BOUNDS:
            return _after(part)
    return UNKNOWN


def _after(part: KerasPart) -> Before:
    """Return what is known of features that a layer returns."""
    settings = part.settings
    if part.kind in ("Dense", "Activation"):
        return after(OPERATIONS.get(part.activation, "unknown"))
    if part.kind == "ReLU":
        plain = not settings.get("negative_slope") and not settings.get("threshold")
        most = settings.get("max_value")
        return after("relu" if most is None else "relu6" if most == 6 else "relu") if plain else UNKNOWN
    if part.kind == "ELU":
        return after("elu") if settings.get("alpha") == 1 else UNKNOWN
    if part.kind in ("LayerNormalization", "RMSNormalization"):
        return after("layernorm" if part.kind == "LayerNormalization" else "rmsnorm")
    if part.kind.startswith(("Conv", "EinsumDense", "SeparableConv", "DepthwiseConv")):
        return after(OPERATIONS.get(part.activation, "unknown"))
    return after(LAYERS.get(part.kind, "unknown"))


def _kind(layer: Mapping[str, Any]) -> str:
    """Return the class of Keras's own layers, and the registered name of others, which has a >."""
    own = layer.get("registered_name")
    if str(layer.get("module")) == "keras.layers" and own is None:
        return str(layer.get("class_name"))
    return str(own) if own else f"{layer.get('module')}>{layer.get('class_name')}"


def _settings(part: Any) -> Mapping[str, Any]:
    settings = part.get("config") if isinstance(part, Mapping) else None
    if not isinstance(settings, Mapping):
        raise ValueError("expected the configuration of a Keras model, got one with parts that lack settings")
    return settings


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
