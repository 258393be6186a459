"""The difference of two methods on the same test examples, with its interval by the paired bootstrap.

Where there are several seeds, an example that several test parts have is drawn for all of them, and the difference is
the mean over seeds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from default_outcomes import METRICS, load_resampled

__all__ = ["Difference", "difference"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """The first method's value minus the second's, and the middle 95 % of what resamples give; NaN where none are."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> int:
        """1 or -1 where the interval lies on one side of 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def difference(pairs: Iterable[tuple[Row, Row]], metric: str, folder: Path) -> Difference:
    """Compare two methods in a metric, over the rows of all seeds."""
    pairs, place = list(pairs), METRICS.index(metric)
    value = float(np.mean([first[metric] - second[metric] for first, second in pairs]))
    if any("origin" in row for pair in pairs for row in pair):
        return Difference(value, np.nan, np.nan)
    gaps = [np.subtract(*(_values(row, folder)[place] for row in pair)) for pair in pairs]
    low, high = np.quantile(np.mean(gaps, axis=0), (0.025, 0.975))
    return Difference(value, float(low), float(high))


def _values(row: Row, folder: Path) -> Any:
    return load_resampled(folder / f"{row['set']}.npz", f"{row['seed']} {row['method']}")
