"""One-vs-rest support vector machines on TF-IDF for the benchmarks, trained once and kept in `benchmarks/weights`.

    LABELPROOF_DATA=... python benchmarks/text_svms.py debtags mesh_pubmed [--costs 0.1 0.3 1]

30,000 terms, sublinear counts, rows of norm 1: what a good text classifier of scikit-learn's is made of.
"""

import argparse
import json
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

import labelproof as lp
from labelproof.training.config_files import read_config
from labelproof.training.data_parts import divide

__all__ = ["COSTS", "TextSvm", "load", "load_svm"]

FOLDER = Path(__file__).parent / "weights"
CONFIGS = Path(__file__).parent / "configs"
COSTS = {"debtags": 1.0, "mesh_pubmed": 0.3}
N_TERMS = 30_000


@dataclass(frozen=True)
class TextSvm:
    """A trained classifier, and what it says of the test part."""

    weight: np.ndarray  # (n_labels, n_terms)
    bias: np.ndarray  # (n_labels,)
    label_names: list[str]
    sets: list[list[int]]  # the distinct label sets of the test part
    scores: np.ndarray  # float32 (n_test, n_labels)
    labels: scipy.sparse.csr_array  # (n_test, n_labels)


def load(name: str, cost: float | None = None) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Return weights, biases and the distinct label sets of the test part, trained if they are not there yet."""
    found = load_svm(name, cost)
    return found.weight, found.bias, found.sets


def load_svm(name: str, cost: float | None = None) -> TextSvm:
    """Return a classifier, trained if it is not there yet."""
    cost = COSTS.get(name, 1.0) if cost is None else cost
    path = FOLDER / f"svm_{name}_{cost:g}.npz"
    if not path.exists():
        _train(name, cost, path)
    with np.load(path) as kept:
        facts = json.loads(str(kept["facts"]))
        indptr, indices = kept["indptr"], kept["indices"]
        labels = scipy.sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=kept["scores"].shape)
        return TextSvm(kept["weight"], kept["bias"], facts["label_names"], facts["sets"], kept["scores"], labels)


def _train(name: str, cost: float, path: Path) -> None:
    config = read_config(CONFIGS / f"{name}.yaml")
    parts = divide(lp.load_dataset(config.data.path, **config.data.reading), config.data, seed=0)
    terms = TfidfVectorizer(max_features=N_TERMS, sublinear_tf=True)
    X, labels = terms.fit_transform(parts.training.texts), parts.training.labels.tocsc()
    weight, bias = np.zeros((labels.shape[1], X.shape[1])), np.zeros(labels.shape[1])
    begin = time.process_time()
    for i in range(len(weight)):
        y = np.asarray(labels[:, [i]].todense()).ravel().astype(int)
        if not y.any():
            bias[i] = -1.0
            continue
        machine = LinearSVC(C=cost, max_iter=300, tol=1e-3, random_state=0).fit(X, y)
        weight[i], bias[i] = machine.coef_[0], machine.intercept_[0]
        if i % 100 == 99:
            print(f"{name}: {i + 1} of {len(weight)} labels, {time.process_time() - begin:.0f} s", flush=True)
    test = parts.test.labels.tocsr()
    sets = sorted({tuple(sorted(test.indices[a:b].tolist())) for a, b in pairwise(test.indptr)})
    scores = (terms.transform(parts.test.texts) @ weight.T + bias).astype(np.float32)
    facts = json.dumps({"label_names": list(parts.training.label_names), "sets": sets})
    FOLDER.mkdir(exist_ok=True)
    half = path.with_suffix(".part.npz")
    np.savez(
        half,
        weight=weight,
        bias=bias,
        scores=scores,
        indptr=test.indptr,
        indices=test.indices,
        facts=np.array(facts),
    )
    half.rename(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(COSTS))
    parser.add_argument("--costs", type=float, nargs="*")
    asked = parser.parse_args()
    for one in asked.names:
        for cost in asked.costs or [None]:
            shape = load(one, cost)[0].shape
            print(f"{one}, C = {cost or COSTS.get(one, 1.0):g}: {shape[0]} labels, {shape[1]} terms", flush=True)
