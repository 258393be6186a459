"""Trained models on real data, side by side with linear classifiers for each label on the same features.

    LABELPROOF_DATA=... python benchmarks/real_data.py [NAME ...]             train, evaluate and write the report
    LABELPROOF_DATA=... python benchmarks/real_data.py --search [NAME ...]    choose the options of a configuration

benchmarks/configs/NAME.yaml says how a model is trained; `labelproof train benchmarks/configs/NAME.yaml -o FOLDER`
trains the same one. Options were chosen by ``--search`` on the validation part alone: from the configuration on, one
group of alternatives after the other, each keeping what was best so far. What was tried is in
results/real_data_trials.jsonl. Results go to results/real_data.jsonl as they come (a run that is there is not
repeated), and to results/real_data.md.

``--libmultilabel PYTHON`` names an interpreter that has LibMultiLabel, whose linear method is then trained too.
"""

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import labelproof as lp
from labelproof import encoders
from labelproof.data import Dataset
from labelproof.decisions import PerLabelThreshold, Threshold
from labelproof.importers import layer_of
from labelproof.metrics import by_name
from labelproof.models import Model
from labelproof.training import TrainConfig, fit
from labelproof.training.config_files import read_config
from labelproof.training.data_parts import Parts, divide, inputs_of
from real_data_report import report

HERE = Path(__file__).parent
RESULTS = HERE / "results"
NAMES = ("bibtex", "delicious", "reuters21578", "arxiv", "debtags", "mesh_pubmed")
METRICS = ("micro-f1", "macro-f1", "precision@1", "precision@3", "precision@5")
COSTS = {  # values of C from which the validation part chooses
    "logistic regression": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    "linear SVM": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
}
MOST_LABELS = 50  # labels on which C is chosen where there are more
MOST_SETS = 1000  # label sets of the test part that are verified, chosen at random where there are more
SECONDS_A_SET = 2.0
WIDE = 10_000  # from so many features on, in a layer of more than 200 labels, a set takes seconds: fewer are verified
MOST_WIDE_SETS, SECONDS_A_WIDE_SET = 10, 60.0
TOO_MANY_LABELS = 1000  # in a wide layer: a set takes minutes, and none is verified
GROUPS: dict[str, list[list[str]]] = {
    "head": [["head.kind=dft", "head.slack=100"], ["head.kind=bottleneck", "head.d=100", "head.start=2"]],
    "dropout": [["encoder.dropout=0.2"], ["encoder.dropout=0.7"]],
    "lr": [["trainer.lr=0.01"], ["trainer.lr=0.001"], ["trainer.lr=0.0003"]],
    "weight decay": [["trainer.weight_decay=0.1"], ["trainer.weight_decay=1.0"]],
    "loss": [["loss.kind=asl"]],
    "hidden": [["encoder.hidden=512"], ["encoder.hidden=1024"]],
}


def config_path(name: str) -> Path:
    return HERE / "configs" / f"{name}.yaml"


def load(config: TrainConfig) -> Dataset:
    return lp.load_dataset(config.data.path, **config.data.reading)


# Search, on the validation part alone


def search(name: str, groups: list[str], seconds: float) -> None:
    dataset, start = None, time.perf_counter()
    best, chosen = -1.0, []
    for group in ["", *groups]:
        for words in GROUPS[group] if group else [[]]:
            overrides = merged(chosen, words)
            found = recorded("real_data_trials", name=name, overrides=overrides)
            if found is None:
                if time.perf_counter() - start > seconds:
                    continue
                dataset = without_test(name) if dataset is None else dataset
                found = trial(name, overrides, dataset)
            if found["micro-f1"] > best:
                best, chosen_next = found["micro-f1"], overrides
        chosen = chosen_next
    print(name, "best on validation data:", best, chosen, flush=True)


def merged(chosen: list[str], words: list[str]) -> list[str]:
    """Add overrides to those chosen before, whose keys they replace; a new kind replaces its section."""
    keys = {word.partition("=")[0] for word in words}
    sections = {key.partition(".")[0] for key in keys if key.endswith(".kind")}
    return [w for w in chosen if w.partition("=")[0] not in keys and w.partition(".")[0] not in sections] + words


def without_test(name: str) -> Dataset:
    """Return the training part; where the data have none, what `divide` would not hold out for the test."""
    config = read_config(config_path(name))
    parts = divide(load(config), config.data.model_copy(update={"validation": 0.0, "min_count": 1}), seed=0)
    return parts.training.with_split(None)


def trial(name: str, overrides: list[str], dataset: Dataset) -> dict[str, Any]:
    config = read_config(config_path(name), [*overrides, "data.test=0.0"])
    start = time.perf_counter()
    fitted = fit(config, dataset, progress=False)
    values = {metric: fitted.metrics["validation"][metric] for metric in METRICS}
    row = {"name": name, "overrides": overrides, "config": fitted.config.to_dict(), **values}
    row["epochs"] = len(fitted.history)
    row["seconds"] = round(time.perf_counter() - start, 1)
    record("real_data_trials", row)
    print({key: value for key, value in row.items() if key != "config"}, flush=True)
    return row


# Runs


def run(name: str, libmultilabel: str | None) -> None:
    config = read_config(config_path(name))
    dataset = load(config)
    parts = divide(dataset, config.data, seed=config.trainer.seed)
    facts = {
        "name": name,
        "training": len(parts.training),
        "validation": len(parts.validation),
        "test": len(parts.test),
        "labels": parts.training.n_labels,
        "cardinality": round(float(parts.training.labels.nnz / len(parts.training)), 2),
    }
    models = {"labelproof": lambda: ours(config, dataset, parts)}
    for kind in COSTS:
        models[kind] = partial(one_vs_rest, kind, config, parts)
    if libmultilabel:
        models["LibMultiLabel"] = lambda: peer(libmultilabel, features_of(config, parts), parts)
    for model, result in models.items():
        if recorded("real_data", name=name, model=model) is None:
            record("real_data", {**facts, "model": model, **result()})
    page = report(list(rows("real_data")), list(rows("real_data_trials")))
    (RESULTS / "real_data.md").write_text(page, encoding="utf-8")


def ours(config: TrainConfig, dataset: Dataset, parts: Parts) -> dict[str, Any]:
    start = time.perf_counter(), time.process_time()
    model = Model.of(fit(config, dataset, progress=False))
    seconds = time.perf_counter() - start[0], time.process_time() - start[1]
    kind = config.encoder.kind
    logits = [model.logits(inputs_of(part, kind)) for part in (parts.validation, parts.test)]
    return {
        "config": model.config.to_dict(),
        "output features": model.weight.shape[1],
        "seconds": round(seconds[0], 1),
        "CPU seconds": round(seconds[1], 1),
        **scores(parts, *logits),
        **argmaxable(model, parts),
    }


def scores(parts: Parts, validation: Any, test: Any) -> dict[str, Any]:
    """Evaluate logits of the test part under three rules, two of them tuned on the validation part."""
    found: dict[str, Any] = {}
    rules = {
        "½": Threshold(0.0, scores="logits"),
        "global": Threshold(metric="micro-f1", scores="logits"),
        "per label": PerLabelThreshold(metric="macro-f1", shrinkage=5.0, scores="logits"),
    }
    for name, rule in rules.items():
        decided = rule.fit(parts.validation.labels, validation).decide(test, sparse=True)
        found[name] = {metric: value(metric, parts.test.labels, decided) for metric in METRICS[:2]}
    tuned = rules["global"].decide(validation, sparse=True)
    found["validation micro-f1"] = value("micro-f1", parts.validation.labels, tuned)
    return found | {metric: value(metric, parts.test.labels, test) for metric in METRICS[2:]}


def value(metric: str, labels: Any, output: Any) -> float:
    return round(float(by_name(metric)(labels, output)), 5)


def argmaxable(model: Model, parts: Parts) -> dict[str, Any]:
    """Verify distinct label sets of the test part under the model's own rule, on the features that can reach the layer.

    A linear head comes after the encoder's ReLU: its features are nonnegative.
    """
    labels = parts.test.labels
    distinct = sorted({tuple(labels.indices[a:b].tolist()) for a, b in pairwise(labels.indptr)})
    layer = layer_of(model)
    is_wide = layer.n_features >= WIDE and layer.n_labels > 200
    if is_wide and layer.n_labels > TOO_MANY_LABELS:
        return {}
    some = np.random.default_rng(0).permutation(len(distinct))[: MOST_WIDE_SETS if is_wide else MOST_SETS]
    start = time.process_time()
    v = lp.verify(
        layer.weight,
        [list(distinct[i]) for i in some],
        bias=layer.bias,
        rule=layer.rule,
        domain=layer.domain,
        ties="inactive",
        n_jobs=1,
        time_limit=SECONDS_A_WIDE_SET if is_wide else SECONDS_A_SET,
    )
    return {
        "distinct sets": len(distinct),
        "sets": len(some),
        "argmaxable": int((v.status == 1).sum()),
        "undecided": int((v.status == -1).sum()),
        "domain": str(layer.domain),
        "CPU seconds of verifying": round(time.process_time() - start, 1),
    }


def features_of(config: TrainConfig, parts: Parts) -> dict[str, Any]:
    """Return what the encoder reads as sparse matrices: given features, or TF-IDF."""
    kind = config.encoder.kind
    inputs = {name: inputs_of(getattr(parts, name), kind) for name in ("training", "validation", "test")}
    encoder = encoders.build(kind, inputs["training"], **config.encoder.options)
    width = encoder.n_features if kind == "features" else encoder.n_terms
    prepared = {name: encoder.prepare(some) for name, some in inputs.items()}
    return {
        name: scipy.sparse.csr_matrix(
            (rows.values.astype(np.float64), rows.ids, rows.indptr.astype(np.int32)), shape=(len(rows), width)
        )
        for name, rows in prepared.items()
    }


def one_vs_rest(kind: str, config: TrainConfig, parts: Parts) -> dict[str, Any]:
    """Fit scikit-learn's one-vs-rest; C is the one with the best micro-F1 on the validation part."""
    features, start = features_of(config, parts), time.process_time()
    n_labels = parts.training.n_labels
    some = np.sort(np.random.default_rng(0).permutation(n_labels)[:MOST_LABELS])
    found = {}
    for cost in COSTS[kind]:
        validation, _ = linear(kind, features, parts.training.labels[:, some], cost)
        truth = parts.validation.labels[:, some]
        rule = Threshold(metric="micro-f1").fit(truth, validation)
        found[cost] = value("micro-f1", truth, rule.decide(validation, sparse=True))
    best = max(found, key=found.get)
    chosen, wall = time.process_time(), time.perf_counter()
    validation, test = linear(kind, features, parts.training.labels, best)
    return {
        "C": best,
        "labels to choose C": len(some),
        "seconds": round(time.perf_counter() - wall, 1),
        "CPU seconds": round(time.process_time() - chosen, 1),
        "CPU seconds to choose C": round(chosen - start, 1),
        **scores(parts, validation, test),
    }


def linear(kind: str, features: dict[str, Any], labels: Any, cost: float) -> list[Any]:
    """Return the decision values for each part but the training part."""
    n, width = features["training"].shape
    if kind == "linear SVM":
        dual = width > n and scipy.sparse.issparse(features["training"])  # what is faster; dense, it does not converge
        one: Any = LinearSVC(dual=dual, C=cost, random_state=0)
    else:  # the same optimum either way; without the dual, large C take a tenth of the time
        one = LogisticRegression(solver="liblinear", C=cost, random_state=0)
    model = OneVsRestClassifier(one)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels without examples; coordinate descent that is not quite at its end
        model.fit(features["training"], scipy.sparse.csr_matrix(labels).astype(np.int64))
    scores = [model.decision_function(matrix) for part, matrix in features.items() if part != "training"]
    for array in scores:  # scikit-learn gives labels without a training example the constant 0, above most others
        array[:, np.asarray(labels.sum(axis=0)).ravel() == 0] = -1e3
    return scores


def peer(interpreter: str, features: dict[str, Any], parts: Parts) -> dict[str, Any]:
    """Train LibMultiLabel's linear one-vs-rest method with its defaults, in its own environment."""
    start = time.perf_counter()
    validation, test = peer_values(interpreter, features, parts.training.labels)
    return {"seconds": round(time.perf_counter() - start, 1), **scores(parts, validation, test)}


def peer_values(interpreter: str, features: dict[str, Any], labels: Any) -> list[Any]:
    """Return LibMultiLabel's decision values for each part but the training part."""
    others = [part for part in features if part != "training"]
    with tempfile.TemporaryDirectory() as folder:
        for part, matrix in features.items():
            scipy.sparse.save_npz(f"{folder}/{part}.npz", matrix)
        scipy.sparse.save_npz(f"{folder}/labels.npz", scipy.sparse.csr_matrix(labels).astype(np.float64))
        subprocess.run([interpreter, str(HERE / "peer_libmultilabel.py"), folder, *others], check=True)  # noqa: S603
        return [np.load(f"{folder}/{part}.npy") for part in others]


# Records


def rows(kind: str) -> Iterator[dict[str, Any]]:
    path = RESULTS / f"{kind}.jsonl"
    if path.exists():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def recorded(kind: str, **facts: Any) -> dict[str, Any] | None:
    return next((row for row in rows(kind) if all(row[key] == value for key, value in facts.items())), None)


def record(kind: str, row: dict[str, Any]) -> None:
    with (RESULTS / f"{kind}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; by default all")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--groups", default=",".join(GROUPS), help="groups of alternatives to try")
    parser.add_argument("--seconds", type=float, default=1e9, help="for the search of one data set")
    parser.add_argument("--libmultilabel", metavar="PYTHON")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.names or NAMES:
        if given.search:
            search(name, given.groups.split(","), given.seconds)
        else:
            run(name, given.libmultilabel)


if __name__ == "__main__":
    main()
