"""Are promises of recall and precision kept? 200 resplits of the held-out examples of five sets.

    LABELPROOF_DATA=../shared/data python benchmarks/risk_control.py

Writes benchmarks/results/risk_control.md. A ridge regression is trained on the training part (half of the examples
where there is no split); its outputs on the others are the scores. Two experiments, 200 times each:

- halves: the rule is fitted to a random half, and its risk measured on the other. That risk is itself a mean of few
  examples, so that a rule whose risk is just what was promised would be above it half of the time.
- draws: the rule is fitted to as many draws with replacement from all held-out examples, and its risk measured on all
  of them, which is then exactly the risk that the promise is about.
"""

import time
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

import labelproof as lp
from labelproof.decisions import RiskControlled

RESULTS = Path(__file__).parent / "results"
SETS = ("emotions", "scene", "corel5k", "bibtex", "reuters21578")
RULES = [
    RiskControlled("recall", 0.9, None),
    RiskControlled("recall", 0.9, 0.95),
    RiskControlled("precision", 0.7, 0.95),
]
REPEATS = 200
LARGE = (10_000, 8921)


def scores(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores of the held-out examples."""
    data = lp.load_dataset(name)
    if "test" in data.parts:
        train, test = data.part("train"), data.part("test")
    else:
        order = np.random.default_rng(0).permutation(data.labels.shape[0])
        train, test = (data.select(np.sort(part)) for part in np.array_split(order, 2))
    if train.texts is not None:
        words = TfidfVectorizer(sublinear_tf=True, min_df=3)
        X, test_X = words.fit_transform(train.texts), words.transform(test.texts)
    else:
        X, test_X = train.features, test.features
    model = Ridge(1.0, solver="sparse_cg" if scipy.sparse.issparse(X) else "auto", tol=1e-3).fit(X, dense(train.labels))
    return dense(test.labels), model.predict(test_X)


def dense(labels: object) -> np.ndarray:
    return np.asarray(labels.toarray() if scipy.sparse.issparse(labels) else labels).astype(bool)


def risks(metric: str, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    """Return the risk of each example: of those with a label for recall, and 0 without a prediction for precision."""
    if metric == "recall":
        some = y_true.any(1)
        return ((y_true & ~y_pred).sum(1) / np.maximum(y_true.sum(1), 1))[some]
    return (y_pred & ~y_true).sum(1) / np.maximum(y_pred.sum(1), 1)


def resplit(rule: RiskControlled, y_true: np.ndarray, y_score: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return for both experiments how often the risk was at most what was promised, and its mean; and predictions."""
    rng, n = np.random.default_rng(0), len(y_true)
    halves, draws, sizes = [], [], []
    for _ in range(REPEATS):
        order = rng.permutation(n)
        fitted, other = order[: n // 2], order[n // 2 :]
        y_pred = rule.fit(y_true[fitted], y_score[fitted]).decide(y_score[other])
        halves.append(risks(rule.metric, y_true[other], y_pred).mean())
        sizes.append(y_pred.sum(1).mean())
        drawn = rng.integers(0, n, n // 2)
        y_pred = rule.fit(y_true[drawn], y_score[drawn]).decide(y_score)
        draws.append(risks(rule.metric, y_true, y_pred).mean())
    allowed = 1 - rule.level + 1e-12
    kept = {name: np.mean(np.array(found) <= allowed) for name, found in (("halves", halves), ("draws", draws))}
    return {
        "halves": (kept["halves"], np.mean(halves)),
        "draws": (kept["draws"], np.mean(draws)),
        "predicted": (np.mean(sizes), 0.0),
    }


def speed() -> list[str]:
    """Return a table of the seconds that it takes to fit to many scores, dense and sparse."""
    rng, (n, n_labels) = np.random.default_rng(0), LARGE
    labels = rng.integers(0, n_labels, (n, 16))
    Y = np.zeros((n, n_labels), bool)
    np.put_along_axis(Y, labels, True, 1)
    Z = 1.5 * rng.standard_normal((n, n_labels), dtype=np.float32) - 5 + 6 * Y
    best = np.argpartition(-Z, 100, axis=1)[:, :100]
    rows = np.repeat(np.arange(n), 100)
    chances = 1 / (1 + np.exp(-Z[rows, best.ravel()]))
    sparse, Y = scipy.sparse.csr_array((chances, (rows, best.ravel())), shape=LARGE), scipy.sparse.csr_array(Y)
    lines = ["| rule | dense scores, CPU s | sparse scores (100 per example), CPU s |", "|---|---|---|"]
    for rule in RULES:
        cells = [f"{min(seconds(rule, Y, form) for _ in range(3)):.2f}" for form in (Z, sparse)]
        lines.append(f"| {name_of(rule)} | {' | '.join(cells)} |")
    return lines


def seconds(rule: RiskControlled, Y: object, form: object) -> float:
    start = time.process_time()
    rule.fit(Y, form)
    return time.process_time() - start


def name_of(rule: RiskControlled) -> str:
    how = "in expectation" if rule.confidence is None else f"confidence {rule.confidence:g}"
    return f"{rule.metric} ≥ {rule.level:g}, {how}"


def main() -> None:
    lines = [
        "# Are promises of recall and precision kept?\n",
        'Some decision rules come with a promise, such as "recall of at least 0.9". Is it kept on new data? Each '
        f"rule is fitted {REPEATS} times, to the scores of a ridge regression on held-out examples (`python "
        "benchmarks/risk_control.py`). *Kept* is the share of these repetitions in which the promise held; *mean* "
        "is the mean recall or precision.\n",
        "A promise with a confidence is about the source of the examples. *Draws* tests just that: examples are "
        "drawn with replacement from the held-out ones, and recall or precision is measured on all of these. "
        "*Halves* fits to one half and measures on the other, where the mean of few examples varies more. A "
        "promise in expectation is about the mean alone.\n",
        "| data | examples for fitting | rule | kept, draws | mean, draws | kept, halves | mean, halves "
        "| labels predicted |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in SETS:
        y_true, y_score = scores(name)
        for rule in RULES:
            found = resplit(rule, y_true, y_score)
            means = [f"{found[kind][0]:.3f} | {1 - found[kind][1]:.4f}" for kind in ("draws", "halves")]
            lines.append(
                f"| {name} | {len(y_true) // 2} | {name_of(rule)} | {' | '.join(means)} | {found['predicted'][0]:.1f} |"
            )
            print(lines[-1], flush=True)
    lines += [f"\n## Fitting time for {LARGE[0]:,} examples and {LARGE[1]:,} labels\n", *speed()]
    (RESULTS / "risk_control.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
