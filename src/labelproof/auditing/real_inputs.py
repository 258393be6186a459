"""Features of real inputs for an audit: given, or computed by the model from the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.auditing.document import CHECK_STRETCH

__all__ = ["RealInputs", "given"]


@dataclass(frozen=True, eq=False)
class RealInputs:
    """What the output layer reads for real inputs.

    Attributes
    ----------
    examples
        Features (n, d), dense or CSR: mixtures are of these.
    source
        Where they are from, in words.
    held_out
        Features of inputs that the model was neither trained nor tuned on, for the bar; or None.
    held_out_source
        Where these are from; without them, why there is no bar.
    rows, held_out_rows
        Which rows of the data they are, where that is known.
    texts
        Of all rows of the data.
    """

    examples: Any
    source: str
    held_out: Any = None
    held_out_source: str | None = None
    rows: npt.NDArray[np.int64] | None = None
    held_out_rows: npt.NDArray[np.int64] | None = None
    texts: Sequence[str] | None = None

    @property
    def check_command(self) -> str:
        """The command that proves the stretch again, in the folder of the audit."""
        return CHECK_STRETCH.replace(".npy", ".npz") if scipy.sparse.issparse(self.examples) else CHECK_STRETCH


def given(features: Any, calibration: Any = None, *, source: str = "features that were given") -> RealInputs:
    """Hold features that were given."""
    return RealInputs(
        features, source, calibration, None if calibration is None else "held-out features that were given"
    )
