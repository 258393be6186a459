"""The report of calibrated_ranking.py, and its verdict for that of defaults.py."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["KS", "read", "report", "verdicts"]

KS = (1, 5)
HEADER = """\
# Ranking by calibrated or by raw scores

The default model calibrates each label with its own slope and offset, so that scores are logits of probabilities. This
changes which labels of an example come first. Would raw scores, with one slope and offset for all labels of a member,
rank better (`LABELPROOF_DATA=... python benchmarks/calibrated_ranking.py`)?

All values are percentages out of fold on the training part: models and calibration have not seen the example, and no
test examples are used. *Gain* is raw minus calibrated, with the middle 95 % of 1,000 paired resamples of the examples;
it is bold where the interval lies on one side of 0. *Chosen* is what one would gain by choosing: in each fold the
ranking that is better on the other folds, minus calibrated.
"""
Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Return the rows so far."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def report(rows: list[Row]) -> str:
    """Return the page."""
    lines = [HEADER, "## What raw scores gain\n", *verdicts(rows)]
    for k in KS:
        lines += [f"\n## P@{k}\n", "| data (examples, labels) | calibrated | raw | gain | interval | chosen |"]
        lines.append("|---" * 6 + "|")
        for row in rows:
            found = row[f"precision@{k}"]
            gain, bold = found["raw"] - found["calibrated"], "**" * (found["low"] > 0 or found["high"] < 0)
            cells = [f"{100 * found['calibrated']:.1f}", f"{100 * found['raw']:.1f}", f"{bold}{100 * gain:+.2f}{bold}"]
            cells += [f"{100 * found['low']:+.2f} to {100 * found['high']:+.2f}", f"{100 * found['chosen']:+.2f}"]
            lines.append(f"| {row['set']} ({row['n']:,}, {row['labels']}) | {' | '.join(cells)} |")
        means = [np.mean([row[f"precision@{k}"][key] for row in rows]) for key in ("calibrated", "raw", "chosen")]
        cells = [f"{100 * means[0]:.1f}", f"{100 * means[1]:.1f}", f"{100 * (means[1] - means[0]):+.2f}", ""]
        lines.append(f"| mean of {len(rows)} | {' | '.join(cells)} | {100 * means[2]:+.2f} |")
    lines += ["\n## The models\n", *(f"- {row['set']}: {row['model']} ({row['cpu']:.0f} CPU s)." for row in rows)]
    return "\n".join(lines) + "\n"


def verdicts(rows: list[Row]) -> Iterator[str]:
    """Yield a line for each metric: what raw scores gain over calibrated ones."""
    for k in KS:
        found = [row[f"precision@{k}"] for row in rows]
        better, worse = (sum(one[end] * sign > 0 for one in found) for end, sign in (("low", 1), ("high", -1)))
        gain = 100 * np.mean([one["raw"] - one["calibrated"] for one in found])
        chosen = 100 * np.mean([one["chosen"] for one in found])
        yield (
            f"- P@{k}: raw scores gain {gain:+.2f} points on average of {len(rows)} sets; significantly better on "
            f"{better}, significantly worse on {worse}. Choosing out of fold gains {chosen:+.2f}."
        )
