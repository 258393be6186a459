"""What the search hands on for one label set."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.verification.proofs import Witness

__all__ = ["Evidence"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """One label set's verdict: a witness, or the rows of a conflict, or the reason why there is neither."""

    witness: Witness | None = None
    conflict: npt.NDArray[np.int64] | None = None
    reason: str = ""
