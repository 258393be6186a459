"""Put a head into a transformers model in place of its own output layer."""

from collections.abc import Mapping
from typing import Any, TypeVar

from torch import nn

from labelproof.errors import ModelFormatError

__all__ = ["replace_head"]

M = TypeVar("M", bound=nn.Module)
PLACES = ("classifier.out_proj", "classifier", "score", "out_proj")


def replace_head(model: M, head: Any, *, id2label: Mapping[int, str] | None = None) -> M:
    """Replace the output layer of a transformers sequence classifier; the model is changed and returned.

    The layer is ``classifier.out_proj``, ``classifier``, ``score`` or ``out_proj``: the first that is a linear one. The
    configuration's ``problem_type`` becomes "multi_label_classification".

    Parameters
    ----------
    model : transformers.PreTrainedModel
        With a linear output layer.
    head : module
        With ``in_features`` and ``n_labels``, such as `DFTHead` and `BottleneckHead`.
    id2label : mapping of int to str, optional
        Names of the labels; by default the model keeps its own, of which there must be as many.

    Raises
    ------
    ModelFormatError
        If the model has no such layer.

    Examples
    --------
    >>> from transformers import BertConfig, BertForSequenceClassification
    >>> from labelproof.heads import DFTHead
    >>> sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=10)
    >>> model = BertForSequenceClassification(BertConfig(num_labels=9, **sizes))
    >>> replace_head(model, DFTHead(16, 9, k=3, slack=4)).classifier.weight.shape
    torch.Size([9, 11])
    """
    place, layer = _output_layer(model)
    config: Any = model.config
    for name in ("in_features", "n_labels"):
        if not isinstance(getattr(head, name, None), int):
            raise ValueError(f"head must have {name}, as DFTHead and BottleneckHead have, got {type(head).__name__}")
    if head.in_features != layer.in_features:
        raise ValueError(f"head must take the {layer.in_features} features of {place}, got {head.in_features}")
    names = dict(config.id2label if id2label is None else id2label)
    if sorted(names) != list(range(head.n_labels)):
        raise ValueError(f"head must have one label for each of {len(names)} names in id2label, got {head.n_labels}")
    owner, _, attribute = place.rpartition(".")
    setattr(model.get_submodule(owner), attribute, head.to(layer.weight.device, layer.weight.dtype))
    config.id2label = names
    config.label2id = {name: i for i, name in names.items()}
    config.problem_type = "multi_label_classification"
    if hasattr(model, "num_labels"):
        model.num_labels = len(names)  # type: ignore[assignment] # torch types attributes as modules
    return model


def _output_layer(model: nn.Module) -> tuple[str, nn.Linear]:
    modules = dict(model.named_modules())
    for place in PLACES:
        layer = modules.get(place)
        if isinstance(layer, nn.Linear):
            return place, layer
    raise ModelFormatError(
        f"expected a model with a linear layer called {', '.join(PLACES[:-1])} or {PLACES[-1]}, "
        f"got {type(model).__name__} without one"
    )
