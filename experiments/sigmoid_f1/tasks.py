"""The data: texts as features that no loss changes, those of a frozen sentence encoder."""

from dataclasses import dataclass

import numpy as np

import labelproof as lp
from experiments.sentence_features import sentence_features
from labelproof.data import Dataset, iterative_stratification, topic_data


@dataclass(frozen=True)
class Task:
    """A data set, the fewest examples that a label must have, the epochs, and the threshold that the paper fixes.

    ``most`` examples of each part are taken, for time; None is all.
    """

    name: str
    least: int
    epochs: int
    fixed: float = 0.05
    most: int | None = None

    def dataset(self) -> Dataset:
        """Return the examples in training, validation and test part, their texts as dense features."""
        if self.name == "generated":
            data = topic_data(200, 8, 60, cardinality=2.0, seed=1)
            features = np.asarray(data.features.toarray(), np.float32)
        else:
            data = _at_most(lp.load_dataset(self.name), self.most)
            features = sentence_features(list(data.texts or ()))
        data = _in_parts(data).drop_rare_labels(self.least)
        return Dataset(data.labels, data.label_names, features=features, split=data.split)


TASKS = {
    "hallmarks_of_cancer": Task("hallmarks_of_cancer", least=10, epochs=100),
    "chemical_exposure": Task("chemical_exposure", least=10, epochs=100),
    "reuters21578": Task("reuters21578", least=10, epochs=60),
    "arxiv": Task("arxiv", least=10, epochs=40, most=6000),
}
SMOKE = Task("generated", least=1, epochs=1)


def _at_most(data: Dataset, most: int | None) -> Dataset:
    """Return at most so many random examples of each part."""
    if most is None:
        return data
    order = np.random.default_rng(0).permutation(len(data))
    split = np.asarray(data.split)
    chosen = [order[split[order] == part][:most] for part in data.parts]
    return data.select(np.sort(np.concatenate(chosen)))


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
