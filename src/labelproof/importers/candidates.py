"""Which of a model's named tensors is the weight of its output layer.

Names decide, since shapes cannot: the usual names of an output layer, below nothing but usual wrappers. Whatever
leaves a doubt is an error that lists what there is.
"""

import re
from itertools import pairwise

from labelproof.importers.tensors import Tensors, shown

__all__ = ["ASK", "UnclearLayerError", "bias_key", "choose_weight"]

ASK = "say which with weight_key="
HEADS = {"classifier", "score", "out_proj", "head", "heads", "fc", "_fc", "classification_head", "logits_proj"}
WEAK_HEADS = {"output", "output_layer", "final", "last_linear", "linear", "out", "third_linear"}
WEAK_HEADS |= {"labelwise_linear_output"}
WRAPPERS = {"module", "model", "net", "network", "base_model", "_orig_mod"}
LAST = ("out_proj", "linear_out", "output", "out", "classifier", "head", "linear", "fc")
LABELWISE = re.compile(r"(^|\.)(U|Q|second_linear)\.weight$|(?i:label_?wise|label_attention|lwan|laat)")


class UnclearLayerError(ValueError):
    """Which of several matrices is the output layer cannot be told; the number of labels may tell."""


def choose_weight(
    tensors: Tensors, *, weight_key: str | None = None, n_labels: int | None = None, prefers: int | None = None
) -> str:
    """Return the key of the output layer's weight.

    Parameters
    ----------
    tensors
        Of the model.
    weight_key
        The key itself, or the name of the module whose ``weight`` it is.
    n_labels
        Of the model, where something else tells it; it decides between candidates.
    prefers
        Number of labels of the data, which decides between candidates if one alone has as many.

    Raises
    ------
    ValueError
        If there is no candidate, if there are several, or if labels do not share one feature vector.

    Examples
    --------
    >>> import numpy as np
    >>> from labelproof.importers.tensors import StoredTensor
    >>> def tensor(*shape): return StoredTensor(shape, "float32", "f", lambda: np.zeros(shape))
    >>> choose_weight({"encoder.0.weight": tensor(8, 9), "classifier.dense.weight": tensor(8, 8),
    ...                "classifier.out_proj.weight": tensor(3, 8)})
    'classifier.out_proj.weight'
    """
    if weight_key is None:
        _refuse_computed_weights(tensors)
    if weight_key is not None:
        key = _named(tensors, weight_key)
    else:
        key = _found(tensors, n_labels if n_labels is not None else prefers)
    _refuse_unshared_features(tensors, key)
    shape = tensors[key].shape
    if n_labels is not None and shape[0] != n_labels:
        raise ValueError(f"expected {n_labels} labels, got {shape[0]} rows in {shown(tensors, [key])}")
    return key


def bias_key(tensors: Tensors, key: str) -> str | None:
    """Return the key of the bias that goes with a weight, or None."""
    for weight, bias in (("weight", "bias"), ("W", "b"), ("coef", "intercept"), ("coef_", "intercept_")):
        partner = key.removesuffix(weight) + bias
        if (key == weight or key.endswith(f".{weight}")) and partner in tensors:
            return partner
    return None


def _refuse_unshared_features(tensors: Tensors, key: str) -> None:
    """Refuse a weight whose labels read different features, as far as names and shapes tell."""
    shape, module = tensors[key].shape, key.removesuffix(".weight")
    if len(shape) != 2:
        raise ValueError(
            f"expected a weight of shape (n_labels, n_features), got {shown(tensors, [key])}: "
            "labels of such a layer do not share one feature vector"
        )
    attention = [
        other
        for other, tensor in tensors.items()
        if other != key and len(tensor.shape) == 2 and tensor.shape[0] == shape[0] and LABELWISE.search(other)
    ]
    if attention:
        raise ValueError(
            f"{shown(tensors, attention[:1])} beside {shown(tensors, [key])} is label-wise attention (as in CAML): "
            "every label has features of its own, so no verdict on combinations follows from the weights"
        )
    if any(other.startswith(f"{_parent(module)}tail.0.") for other in tensors):
        raise ValueError(f"{key} is the head of an adaptive softmax: its labels are partitioned into clusters")


def _refuse_computed_weights(tensors: Tensors) -> None:
    """Refuse an output layer whose weight is not stored but computed: a DFT head's, or a normalised one."""
    for key in tensors:
        module, _, name = key.rpartition(".")
        if name == "places" and f"{module}.projection.weight" in tensors:
            raise ValueError(
                f"{module} is a head with fixed columns, which are not stored: give the live model to "
                "labelproof.importers.layer_of, or save it as a labelproof model"
            )
        if name in ("weight_g", "original0") and HEADS.intersection(module.split(".")):
            raise ValueError(f"{key} belongs to a weight that is computed from others: store that weight by itself")


def _named(tensors: Tensors, weight_key: str) -> str:
    for key in (weight_key, f"{weight_key}.weight"):
        if key in tensors:
            return key
    raise ValueError(f"expected the tensor {weight_key!r}, got {_listed(tensors) or 'no tensors'}")


def _found(tensors: Tensors, n_labels: int | None) -> str:
    groups = _groups(tensors)
    if not groups:
        return _unnamed(tensors, n_labels)
    last = [_last_of(tensors, module, keys) for module, keys in groups.items()]
    if n_labels is not None:
        last = [keys for keys in last if any(tensors[key].shape[0] == n_labels for key in keys)] or last
    candidates = [key for keys in last for key in keys]
    fitting = [key for key in candidates if tensors[key].shape[0] == n_labels]
    candidates = fitting if len(fitting) == 1 else candidates
    if len(candidates) > 1:
        raise UnclearLayerError(f"expected one output layer, got {shown(tensors, candidates)}: {ASK}")
    return candidates[0]


def _groups(tensors: Tensors) -> dict[str, list[str]]:
    """Return the weights at or below each module with an output layer's name, as far as no other is more likely."""
    tiers: list[dict[str, list[str]]] = [{}, {}, {}, {}]
    for key, tensor in tensors.items():
        parts = key.split(".")
        place = next((i for i, part in enumerate(parts[:-1]) if part in HEADS or part in WEAK_HEADS), None)
        if place is None or parts[-1] != "weight" or len(tensor.shape) < 2 or any(map(str.isdigit, parts[:place])):
            continue
        tier = 2 * (not WRAPPERS.issuperset(parts[:place])) + (parts[place] not in HEADS)
        tiers[tier].setdefault(".".join(parts[: place + 1]), []).append(key)
    return next((groups for groups in tiers if groups), {})


def _last_of(tensors: Tensors, module: str, keys: list[str]) -> list[str]:
    """Return the last layer among the weights of one module, or all of them where that is in doubt."""
    if len(keys) == 1:
        return keys
    if f"{module}.weight" not in keys:
        for name in LAST:
            if f"{module}.{name}.weight" in keys:
                return [f"{module}.{name}.weight"]
    return _end_of_chain(tensors, keys) or keys


def _end_of_chain(tensors: Tensors, keys: list[str]) -> list[str]:
    """Return the last of numbered layers that feed one another, as in a Sequential; nothing where they may not."""
    places = {key: match for key in keys if (match := re.fullmatch(r"((?:.*\.)?)(\d+)\.weight", key))}
    prefixes = {match[1] for match in places.values()}
    if len(places) < len(keys) or len(prefixes) != 1:
        return []
    order = sorted(keys, key=lambda key: int(places[key][2]))
    shapes = [tensors[key].shape for key in order]
    feeds = all(one[0] == following[1] for one, following in pairwise(shapes))
    distinct = len(set(shapes)) > 1  # equal square layers might as well stand side by side
    number = re.compile(re.escape(prefixes.pop()) + r"(\d+)\.")
    beside = (number.match(key) for key in tensors)
    ends = all(int(match[1]) <= int(places[order[-1]][2]) for match in beside if match)
    return order[-1:] if feeds and distinct and ends else []


def _unnamed(tensors: Tensors, n_labels: int | None) -> str:
    matrices = [key for key, tensor in tensors.items() if len(tensor.shape) > 1]
    plain = [key for key in matrices if key in ("weight", "W", "coef", "coef_")]
    if len(plain) == 1:
        return plain[0]
    if len(matrices) == 1:
        return matrices[0]
    chain = _end_of_chain(tensors, [key for key in matrices if key.endswith(".weight")]) if len(matrices) > 1 else []
    if chain and all(key.split(".")[0].isdigit() for key in tensors):
        return chain[0]
    fitting = [key for key in matrices if tensors[key].shape[0] == n_labels]
    if len(fitting) == 1:
        return fitting[0]
    if any(key.endswith("lm_head.weight") for key in tensors):
        raise ValueError("found a language model's lm_head, which gives one word after another, and no output layer")
    if not matrices:
        raise ValueError("found no linear layer: expected a weight of shape (n_labels, n_features)")
    raise UnclearLayerError(f"found no layer of an output layer's usual name among {_listed(tensors)}: {ASK}")


def _listed(tensors: Tensors) -> str:
    """Return the last matrices of a model, where its output layer most often is."""
    keys = [key for key, tensor in tensors.items() if len(tensor.shape) > 1]
    return shown(tensors, keys[::-1])


def _parent(name: str) -> str:
    return f"{name.rsplit('.', 1)[0]}." if "." in name else ""
