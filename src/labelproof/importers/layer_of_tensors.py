"""From named tensors to a layer."""

import os
from typing import Any

from labelproof.importers.candidates import bias_key
from labelproof.importers.exact_numbers import finite_layer
from labelproof.importers.feature_domains import UNKNOWN, Before
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.number_files import read_bias
from labelproof.importers.tensors import Tensors

__all__ = ["take"]


def take(
    tensors: Tensors,
    key: str,
    bias: Any,
    *,
    model: str,
    kind: str,
    label_names: tuple[str, ...] | None = None,
    before: Before = UNKNOWN,
    rule: Any = "sigmoid",
    size: int | None = None,
    notes: tuple[str, ...] = (),
) -> ImportedLayer:
    """Return the layer of a weight, with the bias that goes with it unless another is given.

    Parameters
    ----------
    tensors, key
        The model's tensors, and the name of the weight.
    bias
        None; the name of a tensor; the path of a file; or numbers.
    model, kind, label_names, before, rule, size, notes
        As in `ImportedLayer`.
    """
    stored, own_bias = tensors[key], bias_key(tensors, key)
    source = f"{key} of {stored.file}" if stored.file else key
    if bias is None:
        values = None if own_bias is None else tensors[own_bias].read()
    elif isinstance(bias, str | os.PathLike) and os.fspath(bias) in tensors:
        values, source = tensors[os.fspath(bias)].read(), f"{source}, with the bias {os.fspath(bias)}"
    else:
        values, source = read_bias(bias), f"{source}, with a bias of its own"
    return finite_layer(
        ImportedLayer(
            weight=stored.read(),
            bias=values,
            dtype=stored.dtype,
            model=model,
            kind=kind,
            source=source,
            label_names=label_names,
            before=before.name,
            domain=before.domain,
            domain_reason=before.reason,
            rule=rule,
            size=size,
            notes=notes,
        )
    )
