"""Real inputs for the explorer: those of a data set, run through the model, or those that an audit kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelproof.cli.console import progress_wanted

if TYPE_CHECKING:
    from labelproof.auditing.real_inputs import RealInputs
    from labelproof.importers import ImportedLayer
    from labelproof.proof.labels import LabelSets

__all__ = ["Sought", "kept_inputs", "with_inputs"]

ALPHA = 0.01
SEED = 0  # as in an audit, so that its features are found again


@dataclass(frozen=True)
class Sought:
    """Label names, the label sets of the data, real inputs and the bar, as far as there are any."""

    names: Sequence[str] | None
    label_sets: "LabelSets | None"
    inputs: "RealInputs | None"
    bar: float | None


def with_inputs(
    layer: "ImportedLayer",
    names: Sequence[str] | None,
    source: str,
    part: str | None,
    columns: Sequence[str],
    model: Path,
    audit: Path | None,
) -> Sought:
    """Read a data set and run the model on its inputs, or take the features that an audit of it kept."""
    from labelproof.auditing.feature_cache import FeatureCache, model_key
    from labelproof.auditing.names import align
    from labelproof.auditing.real_inputs import MOST_EXAMPLES, choose_rows, compute, raw_inputs
    from labelproof.cli.audit_inputs import read_data

    dataset = read_data(layer, source, columns)
    inputs = raw_inputs(layer, dataset)
    rows = choose_rows(dataset, part, Path(source).name, alpha=ALPHA, most=MOST_EXAMPLES, seed=SEED)
    cache = None if audit is None else FeatureCache(audit, model_key(model))
    how: dict[str, Any] = {"alpha": ALPHA, "texts": dataset.texts, "cache": cache, "progress": progress_wanted()}
    real = compute(layer, inputs, rows, **how)
    aligned = align(layer, dataset, names, part=part, apart=True)
    return Sought(aligned.names, aligned.sets, real, None if audit is None else _bar_of(audit, real))


def kept_inputs(folder: Path, sought: Sought) -> Sought:
    """Add the features and the bar that the folder of an audit holds, if it is one."""
    from labelproof.auditing.real_inputs import given
    from labelproof.cli.feature_files import read_features

    file = next((f for name in ("features.npy", "features.npz") if (f := folder / name).is_file()), None)
    if file is None or not (folder / "audit.json").is_file():
        return sought
    real = given(read_features(file))
    return replace(sought, inputs=real, bar=_bar_of(folder, real))


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
