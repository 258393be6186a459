"""What `audit` returns, and the folder that it is kept in."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from labelproof.auditing.document import AuditDocument, NotTested
from labelproof.auditing.feature_cache import FILE
from labelproof.auditing.folders import write_folder
from labelproof.auditing.not_tested import not_tested
from labelproof.auditing.real_inputs import RealInputs
from labelproof.importers import ImportedLayer
from labelproof.importers.tables import arrays_of_weight
from labelproof.proof.pair_result import PairStretch
from labelproof.proof.reach_result import Reach
from labelproof.proof.result import Verification
from labelproof.proof.stretch_result import Stretch

__all__ = ["Audit"]


@dataclass(frozen=True, eq=False)
class Audit:
    """Which label sets a model can predict, with proofs.

    Attributes
    ----------
    layer
        The output layer that was found in the model, with the label names that were used.
    verifications
        Verdicts and proofs by group: "data", and where they were asked for "pairs", "triples", "required", "predicted".
    document
        Everything that the report shows, as JSON has it; see `labelproof.auditing.document`.
    stretch
        The proven stretch of the data's distinct label sets, where features of real inputs were given or computed.
    pairs
        That of the pairs of labels that occur in the data, under the rule sigmoid.
    reach
        The proven reach of those label sets that can be predicted, where it was asked for.
    inputs
        These features.
    model_key
        Hash of the model's files, where features may be found again by it.

    Examples
    --------
    >>> import labelproof as lp
    >>> found = lp.audit([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0], [0, 1, 2]])
    >>> found.verifications["data"].status
    array([1, 0], dtype=int8)
    """

    layer: ImportedLayer = field(repr=False)
    verifications: dict[str, Verification] = field(repr=False)
    document: AuditDocument = field(repr=False)
    stretch: Stretch | None = field(default=None, repr=False)
    pairs: PairStretch | None = field(default=None, repr=False)
    reach: Reach | None = field(default=None, repr=False)
    inputs: RealInputs | None = field(default=None, repr=False)
    model_key: str | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Audit({self.headline!r})"

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        return self.document["headline"]

    @property
    def passed(self) -> bool:
        """Whether all that was required holds."""
        requirements = self.document["requirements"]
        return requirements is None or requirements["passed"]

    def not_tested(self, model: str, data: str) -> list[NotTested]:
        """Return what the audit does not tell, each with a command that calls model and data as given.

        The document has the same commands with short names, so that it can be passed on.

        Parameters
        ----------
        model, data
            Their paths.

        Returns
        -------
        list of dict
            Each with ``what`` and ``command``.
        """
        return not_tested(
            model,
            data,
            rule=self.document["layer"]["rule"],
            stretch=self.document["stretch"],
            runs=self.layer.can_run,
            why_not=None if self.inputs is None else self.inputs.why_no_bar,
        )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``audit.json``, the layer and all proofs to a folder; a file is there complete, or as it was before.

        The proofs of ``proofs-data.npz`` are checked again by
        ``labelproof check proofs-data.npz --weights layer.npz``, the stretch by
        ``labelproof check stretch.npz --weights layer.npz --features features.npy``, and so are
        ``pairs.npz`` and ``reach.npz``.

        Parameters
        ----------
        folder
            A new one, an empty one, or one with an earlier audit, whose files are replaced.
        """
        write_folder(folder, self._write)

    def _write(self, folder: Path) -> None:
        text = json.dumps(self.document, ensure_ascii=False, allow_nan=False)
        (folder / "audit.json").write_text(text, encoding="utf-8")
        arrays: dict[str, Any] = arrays_of_weight(self.layer.weight)
        if self.layer.bias is not None:
            arrays["bias"] = self.layer.bias
        if self.layer.label_names is not None:
            arrays["label_names"] = np.array(self.layer.label_names, np.str_)
        if self.layer.thresholds is not None:
            arrays["thresholds"] = self.layer.thresholds
        np.savez(folder / "layer.npz", **arrays)
        for group, v in self.verifications.items():
            v.save(folder / f"proofs-{group}.npz", label_names=self.document["label_names"])
        measured = {"stretch": self.stretch, "pairs": self.pairs, "reach": self.reach}
        for name, proven in measured.items():
            if proven is not None:
                proven.save(folder / f"{name}.npz")
        if self.inputs is not None and any(proven is not None for proven in measured.values()):
            _write_features(folder / "features", self.inputs.examples)
            if self.inputs.held_out is not None:
                _write_features(folder / "calibration", self.inputs.held_out)
            if self.model_key is not None:
                self.inputs.write_note(folder / FILE, self.model_key)


def _write_features(path: Path, features: Any) -> None:
    """Write features as ``.npy``, or ``.npz`` where they are sparse."""
    if scipy.sparse.issparse(features):
        scipy.sparse.save_npz(path.with_suffix(".npz"), scipy.sparse.csr_matrix(features))
    else:
        np.save(path.with_suffix(".npy"), np.asarray(features))
