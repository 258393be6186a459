"""What the verbs share that read a model: groups of options, and how these are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from labelproof.cli.options import (
    FORMATS,
    Bias,
    Domain,
    LabelColumn,
    LabelNames,
    Part,
    Rule,
    Thresholds,
    Ties,
    WeightKey,
)

if TYPE_CHECKING:
    from labelproof.importers import ImportedLayer
    from labelproof.importers.assumptions import Reading

__all__ = [
    "FoundReading",
    "FoundThresholds",
    "GivenReading",
    "InactiveTies",
    "LayerOptions",
    "ModelFile",
    "SetOptions",
    "differences",
]

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help=f"{FORMATS[0].upper()}{FORMATS[1:]}.", show_default=False)
]
FoundThresholds = Annotated[
    str | None,
    typer.Option(metavar="FILE|NUMBER", help="By default those of the model, otherwise ½.", show_default=False),
]
InactiveTies = Annotated[str, typer.Option(metavar="open|inactive", help="'inactive' is what logits > 0 computes.")]


@dataclass(frozen=True)
class SetOptions:
    """Which label sets of a file or data set, and in which of its columns they are."""

    part: Part = None
    label_column: LabelColumn = None

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the labels, none where that is to be found out."""
        return self.label_column or ()


@dataclass(frozen=True)
class LayerOptions:
    """Which numbers of a model are its output layer, and what its labels are called."""

    weight_key: WeightKey = None
    bias: Bias = None
    label_names: LabelNames = None

    def read(self, model: Path, *, data: str | None = None) -> tuple["ImportedLayer", tuple[str, ...] | None]:
        """Read the output layer of a model, and the names of its labels: those of the file, or else its own.

        Where several layers could be it, the one with as many labels as ``data`` is taken.
        """
        from labelproof.errors import ModelFormatError
        from labelproof.importers import read_layer
        from labelproof.importers.candidates import UnclearLayerError

        key, bias = self.weight_key, self.bias
        if self.label_names is None:
            try:
                layer = read_layer(model, weight_key=key, bias=bias)
            except ModelFormatError as error:
                if data is None or not isinstance(error.__cause__, UnclearLayerError):
                    raise
                layer = read_layer(model, weight_key=key, bias=bias, n_labels=_labels_in(data))
            return layer, layer.label_names
        from labelproof.data.label_files import read_label_names

        given = read_label_names(self.label_names)
        layer = read_layer(model, weight_key=key, bias=bias, n_labels=len(given))
        return layer, tuple(read_label_names(self.label_names, layer.n_labels))  # only now is their number known


@dataclass(frozen=True)
class GivenReading:
    """How logits become label sets, in verbs that assume of a model only what they are told."""

    thresholds: Thresholds = None
    rule: Rule = "sigmoid"
    ties: Ties = "open"
    domain: Domain = None

    def read(self) -> "Reading":
        """Return it in the form of `labelproof.verify`."""
        from labelproof.cli.files import parse_domain, read_thresholds
        from labelproof.importers.assumptions import Reading

        thresholds = None if self.thresholds is None else read_thresholds(self.thresholds)
        return Reading(self.rule, thresholds, cast("Any", self.ties), parse_domain(self.domain))


@dataclass(frozen=True)
class FoundReading:
    """How logits become label sets, in verbs that do as the model does unless they are told otherwise."""

    rule: Annotated[
        str | None,
        typer.Option(metavar="sigmoid|topk|sparsemax", help="By default the model's own.", show_default=False),
    ] = None
    thresholds: FoundThresholds = None
    ties: InactiveTies = "inactive"
    domain: Annotated[
        str | None,
        typer.Option(
            metavar="free|nonnegative|unit|ball,RADIUS|LOW,HIGH",
            help="Which features can reach the layer; by default as stored with the model.",
            show_default=False,
        ),
    ] = None

    def read(self) -> "Reading":
        """Return it in the form of `labelproof.audit`; what was not asked for is as found."""
        from labelproof.cli.files import parse_domain, read_thresholds
        from labelproof.importers.assumptions import AS_FOUND, Reading

        rule = AS_FOUND if self.rule is None else self.rule
        thresholds = AS_FOUND if self.thresholds is None else read_thresholds(self.thresholds)
        domain = parse_domain(None if self.domain == "free" else self.domain)
        return Reading(rule, thresholds, cast("Any", self.ties), AS_FOUND if self.domain is None else domain)


def _labels_in(data: str) -> int | None:
    """Return how many labels data have, None where they do not tell."""
    from labelproof.data.label_files import read_label_file
    from labelproof.errors import DataFormatError

    try:
        return read_label_file(data).sets.n_labels
    except (DataFormatError, ValueError):
        return None


def differences(layer: "ImportedLayer", used: "Reading") -> list[str]:
    """Say what a model tells of itself and what is used in its place, one sentence each."""
    own = layer.rule if isinstance(layer.rule, str) else getattr(getattr(layer.rule, "geometry", None), "rule", None)
    fitted = layer.thresholds is not None or not isinstance(layer.rule, str)
    told = []
    if own != used.rule:
        told.append(f"The model's own rule is {own or type(layer.rule).__name__}; used here: {used.rule} (--rule).")
    elif fitted and used.rule == "sigmoid" and used.thresholds is None:
        told.append("The model has thresholds of its own; used here: ½ (--thresholds, or labelproof audit).")
    if layer.domain is not None and used.domain is None:
        told.append(f"{layer.domain_reason} Used here: every input (--domain).")
    return told
