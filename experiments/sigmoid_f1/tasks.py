"""The data: texts as features that no loss changes, and images of several digits."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.datasets import load_digits
from torch import nn

import labelproof as lp
from experiments.sentence_features import sentence_features
from experiments.word_features import word_features
from labelproof.data import Dataset, iterative_stratification, topic_data


@dataclass(frozen=True)
class Task:
    """A data set, the fewest examples that a label must have, the epochs, and the threshold that the paper fixes.

    ``most`` examples of each part are taken, for time; None is all. ``encoder`` are options besides standardised
    features, ``texts`` says what becomes of texts, and ``seeds`` how many there are.
    """

    name: str
    least: int
    epochs: int
    fixed: float = 0.05
    most: int | None = None
    encoder: dict[str, Any] = field(default_factory=dict)
    texts: Literal["sentences", "words"] = "sentences"
    seeds: int = 5

    def dataset(self) -> Dataset:
        """Return the examples in training, validation and test part, their texts as dense features."""
        if self.name == "digits":
            return composed_digits(self.most or 2000)
        if self.name == "digits_cnn":
            return through_convolution(composed_digits(self.most or 2000))
        if self.name == "generated":
            data = _in_parts(topic_data(200, 8, 60, cardinality=2.0, seed=1))
            features = np.asarray(data.features.toarray(), np.float32)
        else:
            data = _in_parts(_at_most(lp.load_dataset(self.name), self.most))
            features = self._features_of(data)
        data = data.drop_rare_labels(self.least)
        return Dataset(data.labels, data.label_names, features=features, split=data.split)

    def _features_of(self, data: Dataset) -> npt.NDArray[np.float32]:
        texts = list(data.texts or ())
        if self.texts == "sentences":
            return sentence_features(texts)
        return word_features(texts, np.asarray(data.split) == "train")


TASKS = {
    "hallmarks_of_cancer": Task("hallmarks_of_cancer", least=10, epochs=100),
    "chemical_exposure": Task("chemical_exposure", least=10, epochs=100),
    "reuters21578": Task("reuters21578", least=10, epochs=60, most=4000, texts="words"),
    "arxiv": Task("arxiv", least=10, epochs=60, most=4000, texts="words"),
    "digits": Task("digits", least=10, epochs=60, most=2000, encoder={"hidden": 128}),
    "digits_cnn": Task("digits_cnn", least=10, epochs=60, most=2000),
}
SMOKE = Task("generated", least=1, epochs=1)


def through_convolution(data: Dataset) -> Dataset:
    """Return images as features of a small frozen convolution, which was trained to tell single digits."""
    source = load_digits()
    known = np.array_split(_digits_in_order(), 3)[0]
    maps = _trained_convolution(source.images[known], source.target[known])
    images = torch.from_numpy(data.features).reshape(-1, 1, 16, 16) / 16
    with torch.no_grad():
        features = maps(images).amax(dim=(2, 3)).numpy()
    return Dataset(data.labels, data.label_names, features=features, split=data.split)


def _trained_convolution(images: npt.NDArray[np.float64], digits: npt.NDArray[np.int64]) -> nn.Module:
    """Train two layers of convolution on single digits, moved about in a larger image, and return them."""
    inputs, targets = torch.from_numpy(images).float()[:, None] / 16, torch.from_numpy(digits)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        maps = nn.Sequential(
            *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(32, 64, 4, padding=1), nn.ReLU()),
        )
        head = nn.Linear(64, 10)
        optimizer = torch.optim.Adam([*maps.parameters(), *head.parameters()], lr=0.003)
        for _ in range(40):
            for rows in torch.randperm(len(inputs)).split(64):
                padding = torch.randint(0, 9, (2,)).tolist()
                placed = nn.functional.pad(inputs[rows], (padding[0], 8 - padding[0], padding[1], 8 - padding[1]))
                optimizer.zero_grad()
                nn.functional.cross_entropy(head(maps(placed).amax(dim=(2, 3))), targets[rows]).backward()
                optimizer.step()
    return maps


def _digits_in_order() -> npt.NDArray[np.int64]:
    """Return the single digits in the order whose thirds make the training, validation and test part."""
    return np.random.default_rng(0).permutation(len(load_digits().target))


def composed_digits(n_images: int) -> Dataset:
    """Return images of 16 × 16 pixels with a handwritten digit in each quarter, or none; labels are the digits seen.

    So many for training, a quarter of it for validation and half of it for test, made of other handwritten digits.
    """
    source, rng = load_digits(), np.random.default_rng(0)
    order = rng.permutation(len(source.target))
    counts = {"train": n_images, "valid": n_images // 4, "test": n_images // 2}
    images, labels = [], []
    for count, known in zip(counts.values(), np.array_split(order, 3), strict=True):
        shown = rng.random((count, 2, 2)) < 0.5
        chosen = rng.choice(known, (count, 2, 2))
        cells = source.images[chosen] * shown[..., None, None]  # (count, 2, 2, 8, 8)
        images.append(cells.transpose(0, 1, 3, 2, 4).reshape(count, 256))
        seen = np.zeros((count, 10), np.bool_)
        for row, one, there in zip(seen, source.target[chosen], shown, strict=True):
            row[one[there]] = True
        labels.append(seen)
    split = np.repeat(list(counts), list(counts.values()))
    names = tuple(map(str, range(10)))
    return Dataset(np.concatenate(labels), names, features=np.concatenate(images).astype(np.float32), split=split)


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
