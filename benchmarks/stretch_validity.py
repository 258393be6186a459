"""Does the bar hold, and does the stretch tell? Fresh predictions beyond the bar in resplits of held-out inputs.

    LABELPROOF_DATA=… LABELPROOF_ENCODER=… python benchmarks/stretch_validity.py [mesh_pubmed reuters21578 delicious …]

For each data set the stretch of the sets predicted for the held-out inputs, and of their true sets, is measured once
among the training examples, and kept in build/stretch. Then the held-out inputs are split at random, a hundred times:
a half gives the bar for α = 1 %, the other half is fresh. The number of fresh predictions beyond the bar follows at
most a beta-binomial distribution (m; r + 1, n − r), whose 95 % quantile it should exceed in about one split of
twenty.

Each split is a line of benchmarks/results/stretch_validity.jsonl, and those that are there are not made again; the
table is benchmarks/results/stretch_validity.md.
"""

import json
import sys
import textwrap
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.stats import betabinom
from sklearn.metrics import roc_auc_score

import labelproof as lp
from labelproof.proof.stretch_bar import bar_rank, bar_value
from stretch_models import FOLDER, Wide, load_wide

RESULTS = Path(__file__).parent / "results"
ROWS, PAGE = RESULTS / "stretch_validity.jsonl", RESULTS / "stretch_validity.md"
PICTURE = RESULTS / "stretch_validity.png"
SPLITS, ALPHA = 100, 0.01
NAMES = ("mesh_pubmed", "arxiv", "delicious", "reuters21578", "debtags")
HEAD = """# Does the stretch separate what a model predicts from what it does not?

The audit says that label sets beyond a *bar* are predicted rarely: a bound on the stretch (how far beyond mixtures
of real inputs the model would have to go) that is calibrated on held-out inputs. Does the promise hold on fresh
inputs? And does the stretch tell more than simple baselines would? (`python benchmarks/stretch_validity.py`)

The held-out inputs are split at random a hundred times: one half calibrates the bar (α = 1 %), the other half is
fresh. *Fresh beyond*: fresh inputs whose predicted set lies beyond the bar, and the 95 % quantile of the
beta-binomial distribution that bounds them; *splits within*: in how many splits the count stays within the quantile
(target: at least 90 of 100). *True sets beyond*: share of the fresh inputs whose true label set lies beyond the
bar, and how many of these are predicted exactly. All numbers except *splits within* are medians over the splits.

Held-out inputs whose features equal those of a training example are left out (871 of 3,185 for delicious).
Features: a frozen sentence encoder (64 tokens) for mesh_pubmed and arxiv, TF-IDF for reuters21578 and debtags,
given ones for delicious. Heads: one support vector machine per label for reuters21578 and debtags, otherwise linear
layers trained with cross entropy. To save time, arxiv is a random sample of 5,000 training and 3,000 test texts,
debtags one of 8,000 and 3,000 packages, with each source package on one side of the split.
"""
MIDDLE = """
How well does the stretch tell the sets predicted for held-out inputs from true sets that were never predicted for
any input? Area under the ROC curve (1 is perfect, 0.5 is chance), next to two baselines: how rare the labels of a
set are among predictions, taken one by one, and the Jaccard distance to the nearest set predicted for a training
example.
"""
END = """
Left: cumulative share of label sets by stretch, for sets predicted on held-out inputs and for their true sets; the
dashed line is the bar of the first split. Right: fresh predictions beyond the bar in each split, and the 95 %
quantile.

![Distributions of the stretch, and fresh predictions beyond the bar](stretch_validity.png)
"""
LITTLE, MOST_SHOWN = 0.05, 4.0
FAR = 1e6  # stands for infinity where scores are ranked


def main(names: list[str]) -> None:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    for name in names or NAMES:
        done = {(row["data"], row["split"]) for row in rows}
        missing = [split for split in range(-1, SPLITS) if (name, split) not in done]
        if missing:
            values = measured(name)
            with open(ROWS, "a") as stream:
                for split in missing:
                    row = {"data": name, "split": split}
                    row |= telling(name, values) if split < 0 else one_split(values, split)
                    stream.write(json.dumps(row) + "\n")
                    rows.append(row)
    draw([name for name in NAMES if any(row["data"] == name for row in rows)], rows)
    PAGE.write_text(page(rows))
    print(PAGE.read_text())


def measured(name: str) -> dict[str, np.ndarray]:
    """Return bounds of the stretch of predicted, then of true sets of the held-out inputs that are no examples."""
    path = FOLDER / f"{name}-stretch.npz"
    if not path.exists():
        model = load_wide(name)
        kept = new_inputs(model)
        held_out, true = model.held_out[kept], model.test_labels[kept]
        predicted = logits_of(model, held_out) > 0
        both = sp.vstack([sp.csr_matrix(predicted), sp.csr_matrix(true > 0)]).tocsr()
        s = lp.stretch(
            model.weight, both, model.features, bias=model.bias, ties="inactive", progress=sys.stderr.isatty()
        )
        n = len(kept)
        exact = np.asarray(abs(both[:n].astype(int) - both[n:].astype(int)).sum(axis=1)).ravel() == 0
        np.savez(path, lower=s.lower, upper=s.upper, exact=exact, kept=kept)
    with np.load(path) as file:
        return dict(file)


def new_inputs(model: Wide) -> np.ndarray:
    """Return the held-out inputs whose features are no training example's."""

    def keys(matrix):
        dense = (matrix[i].toarray() if sp.issparse(matrix) else matrix[i] for i in range(matrix.shape[0]))
        return [np.asarray(row).tobytes() for row in dense]

    known = set(keys(model.features))
    return np.array([i for i, key in enumerate(keys(model.held_out)) if key not in known])


def logits_of(model: Wide, features) -> np.ndarray:
    return np.asarray(features @ model.weight.T.astype(np.float64)) + model.bias


def one_split(values: dict[str, np.ndarray], split: int) -> dict[str, float]:
    """Take the bar from one half of the inputs and count on the other."""
    n_all = len(values["exact"])
    order = np.random.default_rng([16, split]).permutation(n_all)
    calibration, fresh = order[: n_all // 2], order[n_all // 2 :]
    bar = bar_value(values["upper"][calibration], ALPHA)
    predicted, true = values["lower"][fresh] > bar, values["lower"][n_all + fresh] > bar
    n, m = len(calibration), len(fresh)
    r = bar_rank(n, ALPHA)
    return {
        "bar": bar,
        "n": n,
        "m": m,
        "beyond": int(predicted.sum()),
        "quantile": int(betabinom.ppf(0.95, m, r + 1, n - r)),
        "true_beyond": float(true.mean()),
        "exact_beyond": int(values["exact"][fresh][true].sum()),
    }


def telling(name: str, values: dict[str, np.ndarray]) -> dict[str, float]:
    """Return how well scores tell sets that are predicted from true sets that never are: areas under the curve."""
    model = load_wide(name)
    held_out, true = model.held_out[values["kept"]], model.test_labels[values["kept"]]
    on, seen = logits_of(model, held_out) > 0, logits_of(model, model.features) > 0
    n = len(on)
    ever = {row.tobytes() for row in np.vstack([on, seen])}
    wanted = np.asarray(_dense(true)) > 0
    never = np.array([i for i, row in enumerate(wanted) if row.any() and row.tobytes() not in ever])
    if not len(never):
        return {"never": 0}
    share = seen.mean(axis=0).clip(0.3 / len(seen), 1 - 1e-9)
    frequency = -(np.log(share) - np.log1p(-share))
    single = seen.astype(np.float32)

    def nearest(rows: np.ndarray) -> np.ndarray:
        common = rows.astype(np.float32) @ single.T
        union = rows.sum(axis=1)[:, None] + single.sum(axis=1)[None] - common
        return 1 - (common / np.maximum(union, 1)).max(axis=1)

    score = np.minimum(np.where(np.isfinite(values["upper"]), values["upper"], values["lower"]), FAR)
    kinds = np.r_[np.zeros(n), np.ones(len(never))]
    return {
        "never": len(never),
        "stretch": float(roc_auc_score(kinds, np.r_[score[:n], score[n + never]])),
        "independent": float(roc_auc_score(kinds, np.r_[on @ frequency, wanted[never] @ frequency])),
        "nearest": float(roc_auc_score(kinds, np.r_[nearest(on), nearest(wanted[never])])),
    }


def _dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def page(rows: list[dict]) -> str:
    columns = "calibration, fresh | bar | fresh beyond (quantile) | splits within | true sets beyond | of them exact"
    lines = [HEAD, f"| data | {columns} |"]
    lines.append("|---|---|---|---|---|---|---|")
    names = [name for name in NAMES if any(row["data"] == name for row in rows)]
    for name in names:
        some = [row for row in rows if row["data"] == name and row["split"] >= 0]
        middle = {key: float(np.median([row[key] for row in some])) for key in some[0] if key not in ("data", "split")}
        within = sum(row["beyond"] <= row["quantile"] for row in some)
        lines.append(
            f"| {name} | {middle['n']:.0f}, {middle['m']:.0f} | {middle['bar']:.2f} | {middle['beyond']:.0f} "
            f"({middle['quantile']:.0f}) | {within} of {len(some)} | {100 * middle['true_beyond']:.1f} % "
            f"| {middle['exact_beyond']:.0f} |"
        )
    lines += [
        MIDDLE,
        "| data | sets never predicted | stretch | independent label frequencies | nearest predicted set |",
    ]
    lines.append("|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: NAMES.index(row["data"])):
        if row["split"] < 0 and row["never"]:
            lines.append(
                f"| {row['data']} | {row['never']:,} | {row['stretch']:.2f} | {row['independent']:.2f} "
                f"| {row['nearest']:.2f} |"
            )
    return "\n".join([*lines, *verdict(rows), END])


def verdict(rows: list[dict]) -> list[str]:
    """Say where the stretch tells little more than a baseline."""
    told = [row for row in rows if row["split"] < 0 and row["never"]]
    close = {
        name: [row["data"] for row in told if row["stretch"] - row[key] < LITTLE]
        for name, key in (("the frequencies of labels", "independent"), ("the nearest predicted set", "nearest"))
    }
    parts = [f"{name} on {', '.join(sorted(data, key=NAMES.index))}" for name, data in close.items() if data]
    text = f"The stretch tells little more (less than {LITTLE}) than {' and than '.join(parts)}."
    return ["", *textwrap.wrap(text, 120)] if parts else []


def draw(names: list[str], rows: list[dict]) -> None:
    """Draw the stretch of predicted and true sets, and the predictions beyond the bar in every split."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(names), 2, figsize=(9, 2.1 * len(names)), squeeze=False, layout="constrained")
    for (left, right), name in zip(axes, names, strict=True):
        values = measured(name)
        n = len(values["exact"])
        score = np.where(np.isfinite(values["upper"]), values["upper"], MOST_SHOWN)
        for part, label, colour in ((score[:n], "predicted", "#0b7285"), (score[n:], "true", "#c2255c")):
            left.step(np.sort(part), np.arange(1, n + 1) / n, where="post", label=label, color=colour)
        splits = [row for row in rows if row["data"] == name and row["split"] >= 0]
        left.axvline(splits[0]["bar"], color="black", lw=1, ls="--")
        left.set(xlim=(0, MOST_SHOWN), ylim=(0, 1.02), ylabel=name)
        left.legend(loc="lower right", frameon=False)
        beyond = [row["beyond"] for row in splits]
        right.hist(beyond, bins=np.arange(max(*beyond, splits[0]["quantile"]) + 3) - 0.5, color="#0b7285")
        right.axvline(splits[0]["quantile"] + 0.5, color="black", lw=1, ls="--")
    axes[0, 0].set_title("cumulative share of label sets by stretch")
    axes[0, 1].set_title("fresh predictions beyond the bar, 100 splits")
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
