"""What the verbs share that read a model: their options, and how these are read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from labelproof.importers import ImportedLayer

__all__ = [
    "FoundDomain",
    "FoundRule",
    "FoundThresholds",
    "InactiveTies",
    "LayerBias",
    "ModelFile",
    "WeightKey",
    "as_asked",
    "read_model",
]

ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A model folder (labelproof, Hugging Face), or a file: .safetensors, .pt, .ckpt, .bin, .skops, .onnx, "
        ".npz, .npy, .csv.",
        show_default=False,
    ),
]
WeightKey = Annotated[str | None, typer.Option(help="Which tensor is the output layer.", show_default=False)]
LayerBias = Annotated[Path | None, typer.Option(help="Bias of each label, from a file.", show_default=False)]
FoundRule = Annotated[
    str | None,
    typer.Option(metavar="sigmoid|topk|sparsemax", help="By default the model's own.", show_default=False),
]
FoundThresholds = Annotated[
    str | None,
    typer.Option(metavar="FILE|NUMBER", help="By default the model's own, else ½.", show_default=False),
]
InactiveTies = Annotated[str, typer.Option(metavar="open|inactive", help="'inactive' is what logits > 0 computes.")]
FoundDomain = Annotated[
    str | None,
    typer.Option(
        metavar="free|nonnegative|LOW,HIGH",
        help="Which features reach the layer; by default what the model tells.",
        show_default=False,
    ),
]


def read_model(
    model: Path, weight_key: str | None, bias: Path | None, label_names: Path | None
) -> tuple["ImportedLayer", tuple[str, ...] | None]:
    """Read the output layer of a model, and the names of its labels: those of the file, or else its own."""
    from labelproof.cli.files import read_label_names
    from labelproof.importers import read_layer

    given = read_label_names(label_names)
    layer = read_layer(model, weight_key=weight_key, bias=bias, n_labels=None if given is None else len(given))
    given = read_label_names(label_names, layer.n_labels)  # now that their number is known
    return layer, layer.label_names if given is None else tuple(given)


def as_asked(rule: str | None, thresholds: str | None, domain: str | None) -> dict[str, Any]:
    """Return rule, thresholds and domain for the audit and the explorer; what was not asked for is as found."""
    from labelproof.auditing import AS_FOUND
    from labelproof.cli.files import parse_domain, read_thresholds

    return {
        "rule": AS_FOUND if rule is None else rule,
        "thresholds": AS_FOUND if thresholds is None else read_thresholds(thresholds),
        "domain": AS_FOUND if domain is None else None if domain == "free" else parse_domain(domain),
    }
