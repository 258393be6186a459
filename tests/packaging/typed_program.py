"""A program of a user who checks types: mypy --strict must accept it against the installed package."""

import numpy as np
import numpy.typing as npt

import labelproof as lp


def impossible(weight: npt.NDArray[np.float64], label_sets: list[list[int]]) -> list[tuple[int, ...]]:
    """Return the labels that contradict each other, for each label set that cannot be predicted."""
    verification: lp.Verification = lp.verify(weight, label_sets)
    return [tuple(verdict.conflict) for verdict in verification if isinstance(verdict, lp.Unargmaxable)]


rows = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
version: str = lp.__version__
count: int = lp.count_argmaxable(3, 2)
print(version, count, impossible(rows, [[0], [0, 1, 2]]))
