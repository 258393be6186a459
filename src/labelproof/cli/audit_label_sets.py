"""labelproof audit MODEL with --labels or --data: which label sets of the data can a model never predict?"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelproof.cli.audit_running import Running
from labelproof.cli.console import console, print_json, print_saved_audit
from labelproof.cli.feature_files import read_features
from labelproof.cli.kept_parts import kept_beside
from labelproof.cli.models import as_asked, read_model

if TYPE_CHECKING:
    from labelproof.importers import ImportedLayer

__all__ = ["Data", "Further", "Inputs", "Layer", "audit_label_sets_of"]


@dataclass(frozen=True)
class Layer:
    """The model, and how its output layer is read."""

    model: Path
    weight_key: str | None
    bias: Path | None
    label_names: Path | None
    rule: str | None
    thresholds: str | None
    ties: str
    domain: str | None


@dataclass(frozen=True)
class Data:
    """Where the label sets are: in a file of them, or in a data set on whose inputs the model is run."""

    labels: str | None
    data: str | None
    part: str | None
    columns: Sequence[str]
    drop_unknown: bool

    @property
    def source(self) -> str:
        """What was named, by either option."""
        if self.data is not None and self.labels is not None:
            raise ValueError("either --data or --labels can be given, got both")
        source = self.data or self.labels
        if source is None:
            raise ValueError("Missing option '--data', or '--labels' / '-l' (see --help)")
        return source


@dataclass(frozen=True)
class Inputs:
    """Real inputs, by which stretch and reach are measured."""

    features: Path | None
    calibration: Path | None
    alpha: float
    most_inputs: int
    reach: bool

    def require_known(self, *, by_data: bool) -> None:
        """Refuse what is measured on real inputs where there are none."""
        if self.features is None and not by_data and self.reach:
            raise ValueError("--reach needs features of real inputs: use --data, or --features")
        if self.features is None and not by_data and self.calibration is not None:
            raise ValueError("--calibration goes with --features or --data, got it alone")


@dataclass(frozen=True)
class Further:
    """What else is asked of the layer."""

    radius: bool
    box: float
    predicted: Path | None
    pairs: int
    triples: int
    serving_dtype: str | None
    require: Path | None


def audit_label_sets_of(asked: Layer, data: Data, inputs: Inputs, further: Further, running: Running) -> bool:
    """Audit a model, print what was found, and return whether all that was required holds."""
    source = data.source
    inputs.require_known(by_data=data.data is not None)
    from labelproof.auditing import audit
    from labelproof.auditing.feature_cache import FeatureCache, model_key
    from labelproof.cli.audit_summary import print_audit, summary_of

    running.require_room()
    layer, names = read_model(asked.model, asked.weight_key, asked.bias, asked.label_names, data=source)
    judged, names = _judged(layer, names, data, whole=inputs.features is None)
    is_run = data.data is not None and inputs.features is None
    held_out = partial(_read_data, layer, data.columns) if is_run else read_features
    output = running.output
    with kept_beside(output) as parts:
        found = audit(
            layer,
            judged,
            part=data.part if is_run else None,
            label_names=None if names == layer.label_names else names,
            drop_unknown=data.drop_unknown,
            **as_asked(asked.rule, asked.thresholds, asked.domain),
            ties=asked.ties,  # type: ignore[arg-type] # verify says which there are
            features=None if inputs.features is None else read_features(inputs.features),
            calibration=None if inputs.calibration is None else held_out(inputs.calibration),
            alpha=inputs.alpha,
            most_inputs=inputs.most_inputs,
            cache=None if output is None or data.data is None else FeatureCache(output, model_key(asked.model)),
            reach=inputs.reach,
            **_of_further(further, names, layer.n_labels),
            n_explained=running.explain,
            data_name=Path(source).name,
            keep=parts,
            **running.options(),
        )
        if output is not None:
            from labelproof.report import write_report

            found.save(output)
            write_report(output / "report.html", [found.document])
    if running.as_json:
        print_json(summary_of(found, output))
    else:
        print_audit(found, model=str(asked.model), source=source)
        if output is not None:
            console().print()
            print_saved_audit(output, "proofs-data.npz", "layer.npz")
    return found.passed


def _judged(
    layer: "ImportedLayer", names: tuple[str, ...] | None, data: Data, *, whole: bool
) -> tuple[Any, tuple[str, ...] | None]:
    """Return what is judged, and the labels' names: a data set as a whole where the model is run on it, or label sets.

    Label sets bring names along where the model has none.
    """
    from labelproof.data.label_files import read_label_file

    if data.data is not None and whole:
        return _read_data(layer, data.columns, data.data), names
    apart = data.drop_unknown or None
    how: dict[str, Any] = {"n_labels": layer.n_labels, "part": data.part, "columns": data.columns, "apart": apart}
    read = read_label_file(data.source, label_names=names, **how)
    return read, read.names


def _read_data(layer: "ImportedLayer", columns: Sequence[str], source: str | Path) -> Any:
    from labelproof.cli.audit_inputs import read_data

    return read_data(layer, source, columns)


def _of_further(further: Further, names: Sequence[str] | None, n_labels: int) -> dict[str, Any]:
    """Return what else is asked in the form of `labelproof.audit`."""
    from labelproof.cli.audit_inputs import read_required
    from labelproof.data.label_files import read_label_file

    predicted, require = further.predicted, further.require
    return {
        "radius": further.radius,
        "box": further.box,
        "predicted": None
        if predicted is None
        else read_label_file(predicted, label_names=names, n_labels=n_labels).sets,
        "pairs": further.pairs,
        "triples": further.triples,
        "serving_dtype": further.serving_dtype,
        "required": None if require is None else read_required(require, names, n_labels),
    }
