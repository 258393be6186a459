"""The data: texts as features that no loss changes, latent semantic analysis standing in for a frozen encoder."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import labelproof as lp
from labelproof.data import Dataset, iterative_stratification, topic_data

FEATURES = 256


@dataclass(frozen=True)
class Task:
    """A data set, the fewest examples that a label must have, the epochs, and the threshold that the paper fixes."""

    name: str
    least: int
    epochs: int
    fixed: float = 0.05
    n_features: int = FEATURES

    def dataset(self) -> Dataset:
        """Return the examples in training, validation and test part, their texts as dense features."""
        if self.name == "generated":
            data = topic_data(200, 8, 60, cardinality=2.0, seed=1)
            matrix = data.features
        else:
            data = lp.load_dataset(self.name)
            matrix = None
        data = _in_parts(data).drop_rare_labels(self.least)
        if matrix is None:
            words = TfidfVectorizer(sublinear_tf=True, min_df=3, max_features=30000, stop_words="english")
            matrix = words.fit(_texts(data.part("train"))).transform(_texts(data))
        rows = np.asarray(data.split) == "train"
        frozen = TruncatedSVD(self.n_features, random_state=0).fit(scipy.sparse.csr_matrix(matrix)[rows])
        features = frozen.transform(scipy.sparse.csr_matrix(matrix)).astype(np.float32)
        return Dataset(data.labels, data.label_names, features=features, split=data.split)


TASKS = {
    "hallmarks_of_cancer": Task("hallmarks_of_cancer", least=10, epochs=100),
    "chemical_exposure": Task("chemical_exposure", least=10, epochs=100),
    "reuters21578": Task("reuters21578", least=10, epochs=60),
    "arxiv": Task("arxiv", least=10, epochs=40),
}
SMOKE = Task("generated", least=1, epochs=1, n_features=8)


def _texts(data: Dataset) -> list[str]:
    return list(data.texts or ())


def _in_parts(data: Dataset) -> Dataset:
    """Hold out a fifth for test and a tenth of the rest for validation, where the data do not say."""
    split = np.asarray(data.split) if data.split is not None else np.repeat("train", len(data)).astype("<U5")
    if "test" not in data.parts:
        shares = {"train": 0.8, "test": 0.2}
        split = np.asarray(iterative_stratification(data.labels, shares, groups=data.groups, seed=0)).astype("<U5")
    if "valid" not in data.parts:
        rows = np.flatnonzero(split == "train")
        groups = None if data.groups is None else [data.groups[row] for row in rows]
        held = iterative_stratification(data.labels[rows], {"train": 0.9, "valid": 0.1}, groups=groups, seed=1)
        split = split.copy()
        split[rows] = held
    return data.with_split(split)
