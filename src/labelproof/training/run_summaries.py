"""What many runs say together: mean and deviation over the seeds of each variant, the best variant, box plots."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelproof.foundation.figures import new_figure, save_figure
from labelproof.metrics import by_name
from labelproof.training.run_records import RunRecord

__all__ = ["Spread", "best_variant", "by_variant", "draw_boxes", "spread", "variant_name"]


@dataclass(frozen=True)
class Spread:
    """Mean and sample deviation of some runs.

    >>> str(Spread(0.5, 0.0123, 3)), str(Spread(0.5, None, 1))
    ('0.5000 ± 0.0123', '0.5000')
    """

    mean: float
    deviation: float | None
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.4f}" if self.deviation is None else f"{self.mean:.4f} ± {self.deviation:.4f}"


def variant_name(changes: dict[str, Any]) -> str:
    """Return what a variant changes, in words.

    >>> variant_name({"loss.kind": "focal", "trainer.lr": 0.1}), variant_name({})
    ('loss.kind=focal trainer.lr=0.1', 'as given')
    """
    text = " ".join(f"{key}={_plain(value)}" for key, value in changes.items())
    return text or "as given"


def by_variant(records: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return the runs of each variant, by its name, in the order of the first of each."""
    found: dict[str, list[RunRecord]] = {}
    for record in records:
        found.setdefault(variant_name(record.changes), []).append(record)
    return found


def spread(records: Sequence[RunRecord], name: str) -> Spread | None:
    """Return mean and deviation of a result over runs, as `RunRecord.value` names it; None where no run has it."""
    values = [value for record in records if (value := record.value(name)) is not None]
    if not values:
        return None
    return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def best_variant(records: Sequence[RunRecord], metric: str = "micro-f1") -> str | None:
    """Return the name of the variant with the best mean of a metric on validation data; None where none has any.

    Of test data nothing is read, so that the test figures of the best variant are honest.
    """
    sign = 1.0 if by_name(metric).greater_is_better else -1.0
    found = {name: spread(runs, f"validation/{metric}") for name, runs in by_variant(records).items()}
    scores = {name: sign * one.mean for name, one in found.items() if one is not None}
    return max(scores, key=lambda name: scores[name]) if scores else None


def draw_boxes(records: Sequence[RunRecord], path: str | Path, names: Sequence[str] = ("test/micro-f1",)) -> None:
    """Draw a box and all its points for each variant, one panel for each result. Needs matplotlib.

    Parameters
    ----------
    records
        Of finished runs.
    path
        Of the picture; its ending tells the format, such as .png or .svg.
    names
        The results, as `RunRecord.value` names them.
    """
    runs = by_variant(records)
    height = 1.2 + 0.32 * len(runs)
    figure = new_figure(2.2 + 3.4 * len(names), height)
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for panel, name in zip(panels, names, strict=True):
        values = [[v for r in some if (v := r.value(name)) is not None and math.isfinite(v)] for some in runs.values()]
        panel.boxplot(values, orientation="horizontal", widths=0.6, medianprops={"color": "#1f5fa8"}, showfliers=False)
        for place, some in enumerate(values, 1):
            panel.plot(some, [place] * len(some), ".", color="#1f5fa8", alpha=0.6, markersize=5)
        panel.set_yticks(range(1, len(runs) + 1), list(runs), fontsize=8, parse_math=False)
        panel.set_title(name, fontsize=10)
        panel.grid(axis="x", alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()
    save_figure(figure, path)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
