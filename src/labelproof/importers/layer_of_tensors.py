"""From named tensors to a layer."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.importers.candidates import bias_key
from labelproof.importers.exact_numbers import exact, finite_layer
from labelproof.importers.feature_domains import UNKNOWN, Before
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.tables import read_table
from labelproof.importers.tensors import Tensors

__all__ = ["read_bias", "take"]


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
    notes: tuple[str, ...] = (),
) -> ImportedLayer:
    """Return the layer of a weight, with the bias that goes with it unless another is given.

    Parameters
    ----------
    tensors, key
        The model's tensors, and the name of the weight.
    bias
        None; the name of a tensor; the path of a file; or numbers.
    model, kind, label_names, before, rule, notes
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
            notes=notes,
        )
    )


def read_bias(bias: Any) -> npt.NDArray[np.float64] | None:
    """Return the bias that a user gave: the path of a file of numbers, or the numbers; None stays None."""
    if bias is None:
        return None
    values = read_table(Path(bias)) if isinstance(bias, str | os.PathLike) else bias
    return exact("bias", values)
