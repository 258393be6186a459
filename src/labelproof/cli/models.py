"""What the verbs share that read a model: their options, and how these are read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.options import FORMATS

if TYPE_CHECKING:
    from labelproof.importers import ImportedLayer

__all__ = [
    "FoundDomain",
    "FoundRule",
    "FoundThresholds",
    "InactiveTies",
    "ModelFile",
    "as_asked",
    "differences",
    "read_model",
]

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help=f"{FORMATS[0].upper()}{FORMATS[1:]}.", show_default=False)
]
FoundRule = Annotated[
    str | None,
    typer.Option(metavar="sigmoid|topk|sparsemax", help="By default the model's own.", show_default=False),
]
FoundThresholds = Annotated[
    str | None,
    typer.Option(metavar="FILE|NUMBER", help="By default those of the model, otherwise ½.", show_default=False),
]
InactiveTies = Annotated[str, typer.Option(metavar="open|inactive", help="'inactive' is what logits > 0 computes.")]
FoundDomain = Annotated[
    str | None,
    typer.Option(
        metavar="free|nonnegative|unit|ball,RADIUS|LOW,HIGH",
        help="Which features can reach the layer; by default as stored with the model.",
        show_default=False,
    ),
]


def read_model(
    model: Path, weight_key: str | None, bias: Path | None, label_names: Path | None, *, data: str | None = None
) -> tuple["ImportedLayer", tuple[str, ...] | None]:
    """Read the output layer of a model, and the names of its labels: those of the file, or else its own.

    Where several layers could be it, the one with as many labels as ``data`` is taken.
    """
    from labelproof.errors import ModelFormatError
    from labelproof.importers import read_layer
    from labelproof.importers.candidates import UnclearLayerError

    if label_names is None:
        try:
            layer = read_layer(model, weight_key=weight_key, bias=bias)
        except ModelFormatError as error:
            if data is None or not isinstance(error.__cause__, UnclearLayerError):
                raise
            layer = read_layer(model, weight_key=weight_key, bias=bias, n_labels=_labels_in(data))
        return layer, layer.label_names
    from labelproof.data.label_files import read_label_names

    given = read_label_names(label_names)
    layer = read_layer(model, weight_key=weight_key, bias=bias, n_labels=len(given))
    return layer, tuple(read_label_names(label_names, layer.n_labels))  # only now is their number known


def _labels_in(data: str) -> int | None:
    """Return how many labels data have, None where they do not tell."""
    from labelproof.data.label_files import read_label_file
    from labelproof.errors import DataFormatError

    try:
        return read_label_file(data).sets.n_labels
    except (DataFormatError, ValueError):
        return None


def differences(layer: "ImportedLayer", *, rule: str, thresholds: Any, domain: Any) -> list[str]:
    """Say what a model tells of itself and what is used in its place, one sentence each."""
    own = layer.rule if isinstance(layer.rule, str) else getattr(getattr(layer.rule, "geometry", None), "rule", None)
    fitted = layer.thresholds is not None or not isinstance(layer.rule, str)
    told = []
    if own != rule:
        told.append(f"The model's own rule is {own or type(layer.rule).__name__}; used here: {rule} (--rule).")
    elif fitted and rule == "sigmoid" and thresholds is None:
        told.append("The model has thresholds of its own; used here: ½ (--thresholds, or labelproof audit).")
    if layer.domain is not None and domain is None:
        told.append(f"{layer.domain_reason} Used here: every input (--domain).")
    return told


def as_asked(rule: str | None, thresholds: str | None, domain: str | None) -> dict[str, Any]:
    """Return rule, thresholds and domain for the audit and the explorer; what was not asked for is as found."""
    from labelproof.auditing import AS_FOUND
    from labelproof.cli.files import parse_domain, read_thresholds

    return {
        "rule": AS_FOUND if rule is None else rule,
        "thresholds": AS_FOUND if thresholds is None else read_thresholds(thresholds),
        "domain": AS_FOUND if domain is None else None if domain == "free" else parse_domain(domain),
    }
