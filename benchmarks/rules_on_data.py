"""Decision rules on real data, with the scores of a linear model: what tuning promises, and what it keeps.

    LABELPROOF_DATA=../shared/data python benchmarks/rules_on_data.py [NAME ...]

Writes benchmarks/results/rules_on_data.md, .json and .png; sets that are not named keep their last results. One
logistic regression for each label is trained on the training part; its logits on the test part (half of the examples
where there is no split) are the scores. Rules are compared on these by 5-fold cross-validation: each is fitted to four
folds and evaluated on them (in-sample) and on the fifth (held out). A rule that is tuned for a metric is tuned for the
one that its column reports.
"""

import gzip
import html
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from labelproof.decisions import BatchMacroTopK, Comparison, MacroTopK, default_rules, evaluate_rules
from labelproof.metrics.arguments import read_labels

RESULTS = Path(__file__).parent / "results"
DATA = Path(os.environ.get("LABELPROOF_DATA", "../shared/data"))
METRICS = ("micro-f1", "macro-f1")
Problem = tuple[scipy.sparse.csr_array, np.ndarray, scipy.sparse.csr_array, np.ndarray]  # X, Y, test X, test Y


# Data: minimal readers for these five sets


def mulan(name: str) -> Problem:
    folder = DATA / name
    labels = re.findall(r'<label name="([^"]+)"', html.unescape((folder / f"{name}.xml").read_text()))
    if (folder / f"{name}-train.arff.gz").exists():
        return *arff(folder / f"{name}-train.arff.gz", labels), *arff(folder / f"{name}-test.arff.gz", labels)
    X, Y = arff(folder / f"{name}.arff.gz", labels)
    return halves(X, Y)


def arff(path: Path, labels: list[str]) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    names, rows = [], []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.lower().startswith("@attribute"):
                names.append(
                    re.match(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", line, re.I)[1].strip("'\"").replace("\\", "")
                )
            elif line.strip() and line[0] not in "@%":
                rows.append(row(line.strip(), len(names)))
    table = scipy.sparse.csr_array(scipy.sparse.vstack(rows))
    where = [names.index(label.replace("\\", "")) for label in labels]
    rest = np.setdiff1d(np.arange(len(names)), where)
    X = scipy.sparse.csr_array(table[:, rest])
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # liblinear takes no others
    return X, table[:, where].toarray() > 0


def row(line: str, width: int) -> scipy.sparse.csr_array:
    if not line.startswith("{"):
        return scipy.sparse.csr_array(np.array([line.split(",")], float))
    pairs = [pair.split() for pair in line.strip("{}").split(",") if pair.strip()]
    places = [int(place) for place, _ in pairs]
    values = [float(value) for _, value in pairs]
    return scipy.sparse.csr_array((values, (np.zeros(len(places), int), places)), shape=(1, width))


def reuters() -> Problem:
    """ModApte split, the topics that occur in both parts."""
    parts: dict[str, list[tuple[str, set[str]]]] = {"TRAIN": [], "TEST": []}
    for path in sorted((DATA / "reuters21578").glob("reut2-*.sgm.gz")):
        text = gzip.decompress(path.read_bytes()).decode("latin-1")
        for head, body in re.findall(r"<REUTERS ([^>]*)>(.*?)</REUTERS>", text, re.S):
            split = re.search(r'LEWISSPLIT="([^"]+)"', head)[1]
            topics = set(re.findall(r"<D>(.*?)</D>", re.search(r"<TOPICS>(.*?)</TOPICS>", body, re.S)[1]))
            if 'TOPICS="YES"' in head and split in parts and topics:
                words = " ".join(re.findall(r"<(?:TITLE|BODY)>(.*?)</(?:TITLE|BODY)>", body, re.S))
                parts[split].append((html.unescape(words), topics))
    both = set.union(*(t for _, t in parts["TRAIN"])) & set.union(*(t for _, t in parts["TEST"]))
    topics = sorted(both)
    train, test = ([(w, t & both) for w, t in parts[split] if t & both] for split in ("TRAIN", "TEST"))
    return texts(train, test, topics)


def hallmarks() -> Problem:
    """Documents with the labels of their sentences, ancestors included."""
    documents = []
    with gzip.open(DATA / "hallmarks_of_cancer" / "hallmarks_of_cancer.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            paths = [path.split(" > ") for sentence in record["labels"] for path in sentence]
            labels = {" > ".join(path[: i + 1]) for path in paths for i in range(len(path))}
            documents.append((" ".join(record["sentences"]), labels))
    order = np.random.default_rng(0).permutation(len(documents))
    half = len(order) // 2
    train, test = ([documents[i] for i in part] for part in (order[:half], order[half:]))
    return texts(train, test, sorted(set.union(*(labels for _, labels in documents))))


def texts(train: list[tuple[str, set[str]]], test: list[tuple[str, set[str]]], labels: list[str]) -> Problem:
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X, test_X = words.fit_transform([w for w, _ in train]), words.transform([w for w, _ in test])
    Y, test_Y = (np.array([[label in found for label in labels] for _, found in part]) for part in (train, test))
    return X, Y, test_X, test_Y


def halves(X: scipy.sparse.csr_array, Y: np.ndarray) -> Problem:
    order = np.random.default_rng(0).permutation(len(Y))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    return X[first], Y[first], X[second], Y[second]


SETS = {
    "scene": lambda: mulan("scene"),
    "cal500": lambda: mulan("cal500"),
    "reuters21578": reuters,
    "hallmarks_of_cancer": hallmarks,
    "delicious": lambda: mulan("delicious"),
}


# Model and comparison


def logits(problem: Problem) -> np.ndarray:
    X, Y, test_X, _ = problem
    scaler = StandardScaler(with_mean=False).fit(X) if X.max() > 1 or X.min() < 0 else None
    X, test_X = (X, test_X) if scaler is None else (scaler.transform(X), scaler.transform(test_X))
    texts = X.shape[1] > 2000  # many features, few of them in an example: the dual problem is the quicker one
    model = LogisticRegression(
        C=10.0 if texts else 1.0, dual=texts, solver="liblinear", tol=1e-2, max_iter=1000, random_state=0
    )
    scores = np.empty((test_X.shape[0], Y.shape[1]))
    for j in range(Y.shape[1]):
        if Y[:, j].all() or not Y[:, j].any():  # no model: the log-odds of one more example
            scores[:, j] = np.log(len(Y) + 1) * (1 if Y[:, j].all() else -1)
        else:
            scores[:, j] = model.fit(X, Y[:, j]).decision_function(test_X)
    return scores


def compare(y_true: np.ndarray, y_score: np.ndarray, metric: str) -> Comparison:
    rules = default_rules(read_labels(y_true, "y_true"), metric=metric, scores="logits")
    k = rules["top k"].k
    rules["macro-F1 top k, batch"] = BatchMacroTopK(k, "macro-f1", scores="logits", max_sweeps=10)
    rules["macro-F1 top k, fitted"] = MacroTopK(k, "macro-f1", scores="logits", n_steps=15)
    inner = 3 if y_true.shape[1] < 500 else 0  # choosing takes three times as long as all the rest
    return evaluate_rules(y_true, y_score, rules, metric=metric, inner_cv=inner)


# Report


def section(name: str, found: dict[str, Any]) -> Iterator[str]:
    yield f"\n## {name}\n"
    size = f"{found['examples']:,} examples held out from the model, {found['labels']} labels"
    yield f"{size}, {found['labels_per_example']:.2f} labels per example on average.\n"
    yield "| rule | micro-F1 in-sample | held out | ± | gain | macro-F1 in-sample | held out | ± | gain |"
    yield "|---|---|---|---|---|---|---|---|---|"
    rows = {metric: {row["name"]: row for row in found[metric]["rows"]} for metric in METRICS}
    for rule in rows["micro-f1"]:
        cells = []
        for metric in METRICS:
            row, fixed = rows[metric][rule], rows[metric]["fixed at ½"]
            best = row["held_out"] == max(other["held_out"] for other in rows[metric].values())
            held = f"**{row['held_out']:.4f}**" if best else f"{row['held_out']:.4f}"
            gain = f"{row['held_out'] - fixed['held_out']:+.4f}"
            cells += [f"{row['in_sample']:.4f}", held, f"{row['spread']:.4f}", gain]
        yield f"| {rule} | {' | '.join(cells)} |"


def report(record: dict[str, Any]) -> str:
    lines = [
        "# Decision rules on real data\n",
        "How much does threshold tuning gain, and how much of the gain remains on new data? The scores are logits of",
        "one logistic regression per label, on examples that it was not trained on; decision rules are fitted to them",
        "and evaluated by 5-fold cross-validation (`python benchmarks/rules_on_data.py`).\n",
        "*In-sample* is the score on the examples that a rule was fitted to, *held out* that on the others, ± the",
        "standard deviation over folds; the gap between the two is overfitting. *Gain* is the held-out score minus",
        "that of the fixed threshold at probability ½. Rules are tuned for the metric of their column; *chosen in",
        "inner folds* takes, in each fold, the rule that does best inside the other four (left out where there are 500",
        "labels or more).",
    ]
    for name in SETS:
        if name in record:
            lines += section(name, record[name])
    return "\n".join(lines) + "\n"


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    kept = RESULTS / "rules_on_data.json"
    record = json.loads(kept.read_text()) if kept.exists() else {}
    for name in sys.argv[1:] or SETS:
        start = time.perf_counter()
        problem = SETS[name]()
        y_true, y_score = problem[3], logits(problem)
        print(f"{name}: model {time.perf_counter() - start:.0f} s", flush=True)
        comparisons = {metric: compare(y_true, y_score, metric) for metric in METRICS}
        shape = {"examples": y_true.shape[0], "labels": y_true.shape[1]}
        shape["labels_per_example"] = float(y_true.sum(axis=1).mean())
        record[name] = shape | {metric: comparison.to_dict() for metric, comparison in comparisons.items()}
        kept.write_text(json.dumps(record, indent=1) + "\n")
        (RESULTS / "rules_on_data.md").write_text(report(record))
        print("\n".join(section(name, record[name])), f"\n{time.perf_counter() - start:.0f} s", flush=True)
        if name == "delicious":
            comparisons["macro-f1"].plot(RESULTS / "rules_on_data.png")


if __name__ == "__main__":
    main()
