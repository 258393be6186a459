"""labelproof audit MODEL with --labels or --data: which label sets of the data can a model never predict?"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelproof.cli.audit_options import Data, Further, Inputs, Running
from labelproof.cli.console import console, print_json, print_saved_audit
from labelproof.cli.feature_files import read_features
from labelproof.cli.kept_parts import kept_beside
from labelproof.cli.models import FoundReading, LayerOptions

if TYPE_CHECKING:
    from labelproof.importers import ImportedLayer

__all__ = ["audit_label_sets_of"]


def audit_label_sets_of(
    model: Path,
    asked: LayerOptions,
    reading: FoundReading,
    data: Data,
    inputs: Inputs,
    further: Further,
    running: Running,
) -> bool:
    """Audit a model, print what was found, and return whether all that was required holds."""
    source = data.source
    inputs.require_known(by_data=data.data is not None)
    from labelproof.auditing import audit
    from labelproof.auditing.feature_cache import FeatureCache, model_key
    from labelproof.cli.audit_summary import print_audit, summary_of

    running.require_room()
    layer, names = asked.read(model, data=source)
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
            **reading.read().options(),
            features=None if inputs.features is None else read_features(inputs.features),
            calibration=None if inputs.calibration is None else held_out(inputs.calibration),
            alpha=inputs.alpha,
            most_inputs=inputs.most_inputs,
            cache=None if output is None or data.data is None else FeatureCache(output, model_key(model)),
            reach=inputs.reach,
            **further.options(names, layer.n_labels),
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
        print_audit(found, model=str(model), source=source)
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
