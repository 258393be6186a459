"""Real inputs for the explorer: those of a data set, run through the model, or those that an audit kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import progress_wanted
from labelproof.cli.feature_files import Calibration, read_features
from labelproof.cli.models import SetOptions
from labelproof.cli.options import SomeLabels

if TYPE_CHECKING:
    from labelproof.auditing.real_inputs import RealInputs
    from labelproof.importers import ImportedLayer
    from labelproof.proof.labels import LabelSets

__all__ = ["Sources", "known_of"]

ALPHA = 0.01
SEED = 0  # as in an audit, so that its features are found again


@dataclass(frozen=True)
class Sources:
    """Where label sets and real inputs come from."""

    labels: SomeLabels = None
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="Instead of --labels: a data set with texts, images or features to run the model on: how far "
            "from such inputs is a combination?",
            show_default=False,
        ),
    ] = None
    features: Annotated[
        Path | None,
        typer.Option(
            help="Features of real inputs, .npy or sparse .npz, if the model cannot be run here.",
            show_default=False,
        ),
    ] = None
    calibration: Calibration = None
    audit: Annotated[
        Path | None,
        typer.Option(help="With --data: folder of an earlier audit, whose features are used.", show_default=False),
    ] = None

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.data is not None and (self.labels is not None or self.features is not None):
            raise ValueError("--data takes the place of --labels and --features, got both")
        if self.audit is not None and self.data is None:
            raise ValueError("--audit goes with --data, got it alone")
        if self.calibration is not None and self.features is None:
            raise ValueError("--calibration goes with --features, got it alone")


@dataclass(frozen=True)
class Known:
    """Label names, the label sets of the data, real inputs and the bar, as far as there are any."""

    names: Sequence[str] | None
    label_sets: "LabelSets | None" = None
    inputs: "RealInputs | None" = None
    bar: float | None = None


def known_of(
    model: Path, layer: "ImportedLayer", names: Sequence[str] | None, sources: Sources, sets: SetOptions
) -> Known:
    """Read all that the explorer may show beside the layer itself."""
    known = Known(names)
    if sources.data is not None:
        known = _with_inputs(model, layer, names, sources.data, sources.audit, sets)
    elif sources.labels is not None:
        from labelproof.data.label_files import read_label_file

        how: dict[str, Any] = {"n_labels": layer.n_labels, "part": sets.part, "columns": sets.columns}
        read = read_label_file(sources.labels, label_names=names, **how)
        if read.note:
            print(read.note)
        known = Known(read.names, read.sets)
    if sources.features is not None:
        from labelproof.auditing.real_inputs import given

        held_out = None if sources.calibration is None else read_features(sources.calibration)
        return replace(known, inputs=given(read_features(sources.features), held_out))
    return known if known.inputs is not None else _kept_inputs(model, known)


def _with_inputs(
    model: Path,
    layer: "ImportedLayer",
    names: Sequence[str] | None,
    source: str,
    audit: Path | None,
    sets: SetOptions,
) -> Known:
    """Read a data set and run the model on its inputs, or take the features that an audit of it kept."""
    from labelproof.auditing.alignment import align
    from labelproof.auditing.feature_cache import FeatureCache, model_key
    from labelproof.auditing.real_inputs import MOST_EXAMPLES, choose_rows, compute, raw_inputs
    from labelproof.cli.audit_inputs import read_data

    dataset = read_data(layer, source, sets.columns)
    inputs = raw_inputs(layer, dataset)
    rows = choose_rows(dataset, sets.part, Path(source).name, alpha=ALPHA, most=MOST_EXAMPLES, seed=SEED)
    cache = None if audit is None else FeatureCache(audit, model_key(model))
    how: dict[str, Any] = {"alpha": ALPHA, "texts": dataset.texts, "cache": cache, "progress": progress_wanted()}
    real = compute(layer, inputs, rows, **how)
    aligned = align(layer, dataset, names, part=sets.part, apart=True)
    return Known(aligned.names, aligned.sets, real, None if audit is None else _bar_of(audit, real))


def _kept_inputs(folder: Path, known: Known) -> Known:
    """Add the features and the bar that the folder of an audit holds, if it is one."""
    from labelproof.auditing.real_inputs import given

    file = next((f for name in ("features.npy", "features.npz") if (f := folder / name).is_file()), None)
    if file is None or not (folder / "audit.json").is_file():
        return known
    real = given(read_features(file))
    return replace(known, inputs=real, bar=_bar_of(folder, real))


def _bar_of(folder: Path, real: "RealInputs") -> float | None:
    """Return the bar that an audit found, if it was of the same examples."""
    from labelproof.auditing import read_document
    from labelproof.proof.examples import read_examples

    facts = read_document(folder)["stretch"]
    if facts is None or facts["bar"] is None:
        return None
    d = real.examples.shape[1]
    if facts["sha256"] != read_examples(real.examples, d).sha256:
        return None
    value = facts["bar"]["value"]
    return math.inf if value is None else value
