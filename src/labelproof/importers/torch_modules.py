"""Output layers of live torch modules.

A module's graph, where torch can trace it, says which linear layer gives the output and what stands before it; where
it cannot, names decide as for a checkpoint.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from labelproof.heads import BottleneckHead
from labelproof.heads.cyclic import CyclicHead
from labelproof.importers.candidates import choose_weight
from labelproof.importers.checkpoints import stored
from labelproof.importers.feature_domains import UNKNOWN
from labelproof.importers.huggingface import layer_of_config
from labelproof.importers.layer import SOFTMAX, ImportedLayer
from labelproof.importers.layer_of_tensors import take
from labelproof.importers.module_features import catch_inputs_and_output
from labelproof.importers.own_models import layer_of_head
from labelproof.importers.tensors import StoredTensor
from labelproof.importers.tracing import TracedOutput, traced_output

__all__ = ["layer_of_module"]


def layer_of_module(module: nn.Module, *, weight_key: str | None = None) -> ImportedLayer:
    """Return the output layer of a module, with what computes its features.

    Parameters
    ----------
    module
        A torch module; of transformers and timm too.
    weight_key
        Name of a linear layer, or of its weight.

    Raises
    ------
    ValueError
        If the output is not that of one linear layer, as far as can be known.

    Examples
    --------
    >>> layer = layer_of_module(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 5)))
    >>> layer.source, layer.weight.shape, layer.domain
    ('2.weight', (5, 3), 'nonnegative')
    """
    name = type(module).__name__
    heads = {key: part for key, part in module.named_modules() if _is_own_head(part)}
    if len(heads) == 1 and weight_key is None:
        key, head = next(iter(heads.items()))
        layer = layer_of_head(head)
        if key == "":
            return layer
        return replace(layer, model=name, kind=f"torch module with a {type(head).__name__}", source=f"{key}.weight")
    if isinstance(module, nn.Linear):
        return take(_tensors(module), "weight", None, model=name, kind="torch module")
    if _is_pretrained(module):
        official = type(module).__module__.startswith("transformers.models.")
        config = {**_config(module), "architectures": [name if official else "Other"]}
        layer = layer_of_config(config, _tensors(module), name, "Hugging Face model", weight_key)
        return _with_features(layer, module, logits=True)
    output = TracedOutput(weight_key, UNKNOWN) if weight_key is not None else traced_output(module)
    output = output or TracedOutput(_classifier_of(module), UNKNOWN)
    layer = take(
        _tensors(module),
        choose_weight(_tensors(module), weight_key=output.weight),
        None,
        model=name,
        kind="torch module",
        before=output.before,
        rule="topk" if output.softmax else "sigmoid",
        size=1 if output.softmax else None,
        notes=(SOFTMAX,) if output.softmax else (),
    )
    return _with_features(layer, module)


def _classifier_of(module: nn.Module) -> str | None:
    """Return the name of what timm's models call their classifier, or None."""
    get_classifier = getattr(module, "get_classifier", None)
    last = get_classifier() if callable(get_classifier) else None
    return next((name for name, part in module.named_modules() if part is last and isinstance(last, nn.Linear)), None)


def _tensors(module: nn.Module) -> dict[str, StoredTensor]:
    return {key: stored(tensor, "") for key, tensor in module.state_dict().items() if isinstance(tensor, Tensor)}


def _is_own_head(part: nn.Module) -> bool:
    own = type(part).__module__.startswith("labelproof.")
    return isinstance(part, CyclicHead | BottleneckHead) or (own and type(part).__name__ == "LinearHead")


def _is_pretrained(module: nn.Module) -> bool:
    return any(cls.__module__.startswith("transformers.") for cls in type(module).__mro__)


def _config(module: nn.Module) -> dict[str, Any]:
    described: Mapping[str, Any] = module.config.to_dict()  # type: ignore[union-attr, operator]
    return {key: value for key, value in described.items() if key != "architectures"}


def _with_features(layer: ImportedLayer, module: nn.Module, *, logits: bool = False) -> ImportedLayer:
    """Return a layer with a function that runs the module and catches what enters the layer, and perhaps its logits."""
    key = layer.source.removesuffix(".weight")
    if key == "score":  # decoders score every position, then choose one
        return layer
    parts = dict(module.named_modules())
    if not isinstance(parts.get(key), nn.Linear):
        return layer
    run = catch_inputs_and_output(module, parts[key])
    own = (lambda inputs: run(inputs)[1]) if logits else None
    return replace(layer, features=lambda inputs: run(inputs)[0], logits=own)
