"""How hard each label of a conflict pulls, in floats, for the picture of it."""

import numpy as np
import numpy.typing as npt

from labelproof.explaining.small_conflicts import shares
from labelproof.proof.certificates import Unargmaxable
from labelproof.proof.margins import UnitWeights
from labelproof.proof.regions import exact_row

__all__ = ["pulls"]

Indices = npt.NDArray[np.int64]
SLACK = 1e-6  # how far from zero the weighted rows may add up


def pulls(certificate: Unargmaxable, weights: UnitWeights, active: Indices, rows: Indices) -> list[float]:
    """Return multiplier times norm of the weights of each label of a conflict, as shares; empty if it takes too long.

    The multipliers are those of the one linear dependence of the conflict's rows, numbered as in `regions`. Exact ones
    take tens of milliseconds, and are computed only where floats find no dependence of positive multipliers.
    """
    layer, labels = weights.layer, rows[rows < weights.layer.n_labels]
    if not len(labels):
        return []
    table = np.zeros((len(rows), layer.width))
    table[: len(labels), : layer.d] = weights.rows[labels]
    with np.errstate(all="ignore"):
        if layer.offset is not None:
            table[: len(labels), layer.d] = np.ldexp(layer.offset[labels], -weights.exponents[labels])
        if layer.has_threshold:
            table[: len(labels), -1] = -np.ldexp(np.ones(len(labels)), -weights.exponents[labels])
        norms = np.where(weights.norms[labels] > 0, weights.norms[labels], 1.0)
        table[: len(labels)] *= (np.where(np.isin(labels, active), 1.0, -1.0) / norms)[:, None]
    for place, row in enumerate(rows[len(labels) :].tolist(), len(labels)):
        table[place] = [float(c) for c in exact_row(layer, row, active)]
    if not np.isfinite(table).all():
        return shares(certificate)
    dependence = np.linalg.svd(table)[0][:, -1]
    dependence *= np.sign(dependence.sum())
    if dependence.min() <= 0 or np.abs(dependence @ table).max() > SLACK * np.abs(table).max():
        return shares(certificate)
    return (dependence[: len(labels)] / dependence[: len(labels)].sum()).tolist()
