"""One-vs-rest support vector machines on TF-IDF for the benchmarks, trained once and kept in `benchmarks/weights`.

    LABELPROOF_DATA=... python benchmarks/text_svms.py debtags mesh_pubmed [--cost 0.3]

30,000 terms, sublinear counts, rows of norm 1: what a good text classifier of scikit-learn's is made of.
"""

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

import labelproof as lp
from labelproof.training.config_files import read_config
from labelproof.training.data_parts import divide

__all__ = ["COSTS", "load"]

FOLDER = Path(__file__).parent / "weights"
CONFIGS = Path(__file__).parent / "configs"
COSTS = {"debtags": 1.0, "mesh_pubmed": 0.3}
N_TERMS = 30_000


def load(name: str, cost: float | None = None) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Return weights, biases and the distinct label sets of the test part, trained if they are not there yet."""
    cost = COSTS.get(name, 1.0) if cost is None else cost
    path = FOLDER / f"svm_{name}_{cost:g}.npz"
    if not path.exists():
        _train(name, cost, path)
    with np.load(path) as kept:
        return kept["weight"], kept["bias"], json.loads(str(kept["sets"]))


def _train(name: str, cost: float, path: Path) -> None:
    config = read_config(CONFIGS / f"{name}.yaml")
    parts = divide(lp.load_dataset(config.data.path, **config.data.reading), config.data, seed=0)
    terms = TfidfVectorizer(max_features=N_TERMS, sublinear_tf=True)
    X, labels = terms.fit_transform(parts.training.texts), parts.training.labels.tocsc()
    weight, bias = np.zeros((labels.shape[1], X.shape[1])), np.zeros(labels.shape[1])
    begin = time.monotonic()
    for i in range(len(weight)):
        y = np.asarray(labels[:, [i]].todense()).ravel().astype(int)
        machine = LinearSVC(C=cost, max_iter=300, tol=1e-3, random_state=0).fit(X, y)
        weight[i], bias[i] = machine.coef_[0], machine.intercept_[0]
        if i % 100 == 99:
            print(f"{name}: {i + 1} of {len(weight)} labels, {time.monotonic() - begin:.0f} s", flush=True)
    test = parts.test.labels.tocsr()
    sets = sorted({tuple(sorted(test.indices[a:b].tolist())) for a, b in pairwise(test.indptr)})
    FOLDER.mkdir(exist_ok=True)
    np.savez(path, weight=weight, bias=bias, sets=np.array(json.dumps(sets)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(COSTS))
    parser.add_argument("--cost", type=float)
    asked = parser.parse_args()
    for one in asked.names:
        shape = load(one, asked.cost)[0].shape
        print(f"{one}: {shape[0]} labels, {shape[1]} terms")
