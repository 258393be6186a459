"""The data of figure 5, as each encoder needs them, and the heads that are compared on them."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer

import labelproof as lp
from experiments.sentence_features import sentence_features
from labelproof.data import Dataset, iterative_stratification, topic_data

WIDTHS = (25, 50, 100, 200, 400)
SEEDS = (0, 1, 2)
HEADS = (
    "bottleneck",
    "dft",
    "bottleneck, k/n start",
    "bottleneck, as many features",
    "dft, as many parameters",
    "guaranteed",
)
MOST_SETS = 1000  # distinct test sets that are verified
TERMS = 5000  # the most frequent words of texts
CNN = {"dim": 64, "maps": 200, "kernel": 4, "dropout": 0.2, "max_tokens": 64, "max_words": TERMS}


@dataclass(frozen=True)
class Task:
    """A data set, the most active labels of an example, the k of F1@k, and the widths to compare.

    ``least`` examples must have a label, ``hidden`` features enter the head, and of the examples ``most`` are taken, at
    random, for time; None is all. ``source`` names the data set where the task has another name, ``texts`` says what
    becomes of texts, ``encoder`` are options, ``every`` keeps labels that the training or test part lacks, and at most
    ``sets`` distinct test sets are verified.
    """

    name: str
    k: int
    at: int
    least: int = 1
    widths: tuple[int, ...] = WIDTHS
    seeds: tuple[int, ...] = SEEDS
    compared: tuple[str, ...] = HEADS
    epochs: int = 60
    hidden: int = 512
    most: int | None = None
    source: str | None = None
    texts: Literal["words", "sentences", "cnn"] = "words"
    encoder: dict[str, Any] = field(default_factory=dict)
    every: bool = False
    sets: int = MOST_SETS

    @property
    def title(self) -> str:
        """Its name for readers."""
        return TITLES.get(self.name, self.name)

    def dataset(self) -> Dataset:
        """Return the examples; labels that few have are left out, and every label is in the training and test part."""
        if self.name == "generated":
            data = topic_data(240, 24, 60, cardinality=2.0, seed=1)
            return in_both_parts(data.with_split(np.repeat(["train", "valid", "test"], [160, 30, 50])))
        data = loaded(self.source or self.name)
        if self.most is not None:
            data = data.select(np.sort(np.random.default_rng(0).permutation(len(data))[: self.most]))
        return with_parts(data, least=self.least, texts=self.texts, every=self.every)

    def heads(self, width: int, n_labels: int) -> dict[str, dict[str, Any]]:
        """Return the heads that are compared at a width d, as changes of a configuration."""
        k, start = self.k, float(self.k)
        projection = self.hidden * (2 * k + 1)  # section 5.1: what the DFT's projection costs
        fewer = width - math.ceil(projection / n_labels)
        found = {
            "bottleneck": {"head.kind": "bottleneck", "head.d": width},
            "dft": {"head.kind": "dft", "head.k": k, "head.slack": width},
            "bottleneck, k/n start": {"head.kind": "bottleneck", "head.d": width, "head.start": start},
            "bottleneck, as many features": {
                "head.kind": "bottleneck",
                "head.d": width + 2 * k + 1,
                "head.start": start,
            },
            "guaranteed": {"head.kind": "guaranteed", "head.slack": width},
        }
        if fewer > 0:
            found["dft, as many parameters"] = {"head.kind": "dft", "head.k": k, "head.slack": fewer}
        return {name: head for name, head in found.items() if name in self.compared}


WITH_START = HEADS[:3]  # what the paper compares, and the baseline that matters most
TASKS = {
    "mesh_pubmed": Task("mesh_pubmed", 25, 10, least=10),
    "delicious": Task("delicious", 25, 10),
    "debtags": Task("debtags", 39, 5, least=20, most=8000),
    "yeast_go": Task(
        *("yeast_go", 141, 35),
        compared=WITH_START,
        every=True,
        encoder={"standardise": True},
        sets=200,
    ),
    "mesh_pubmed_sentences": Task(
        *("mesh_pubmed_sentences", 25, 10),
        least=10,
        compared=WITH_START,
        source="mesh_pubmed",
        texts="sentences",
    ),
    "mesh_pubmed_cnn": Task(
        *("mesh_pubmed_cnn", 25, 10),
        least=10,
        widths=WIDTHS[:3],
        compared=WITH_START,
        hidden=CNN["maps"],
        most=4000,
        source="mesh_pubmed",
        texts="cnn",
        encoder={"kind": "cnn", **CNN},
    ),
    "mesh_pubmed_all": Task("mesh_pubmed_all", 29, 10, compared=WITH_START, source="mesh_pubmed", every=True),
}
TITLES = {  # what is read instead of a name
    "mesh_pubmed_sentences": "mesh_pubmed (sentence encoder)",
    "mesh_pubmed_cnn": "mesh_pubmed (CNN)",
    "mesh_pubmed_all": "mesh_pubmed (all labels)",
}
SMOKE = Task("generated", 3, 2, widths=(4,), seeds=(0,), epochs=1, hidden=128)


def loaded(name: str) -> Dataset:
    """Return a data set by its name; yeast genes come with Gene Ontology or FunCat labels."""
    kinds = {"yeast_funcat": "FUN", "yeast_go": "GO"}
    if name not in kinds:
        return lp.load_dataset(name)
    folder = Path(os.environ["LABELPROOF_DATA"]) / "hmc_yeast"
    files = {part: folder / f"cellcycle_{kinds[name]}.{part}.arff.gz" for part in ("train", "valid", "test")}
    return _filled(lp.load_dataset(files))


def _filled(data: Dataset) -> Dataset:
    """Put the mean of the training part in the place of missing values."""
    means = np.nanmean(data.part("train").features, axis=0)
    filled = np.where(np.isnan(data.features), means, data.features).astype(np.float32)
    return Dataset(data.labels, data.label_names, features=filled, split=data.split)


def with_parts(data: Dataset, *, least: int, texts: str = "words", every: bool = False) -> Dataset:
    """Return a data set in parts, a tenth held out for each where there are none, texts as an encoder needs them."""
    if data.split is None:
        data = data.drop_rare_labels(least)
        shares = {"train": 0.8, "valid": 0.1, "test": 0.1}
        data = data.with_split(iterative_stratification(data.labels, shares, groups=data.groups, seed=0))
    if not every:
        data = in_both_parts(data)
    if data.texts is None or texts == "cnn":
        return data
    features = word_weights(data) if texts == "words" else sentence_features(list(data.texts))
    return Dataset(data.labels, data.label_names, features=features, split=data.split)


def word_weights(data: Dataset) -> Any:
    """Return the texts as TF-IDF of the words that most training texts have, computed once for all runs."""
    texts = np.asarray(data.texts, dtype=object)
    words = TfidfVectorizer(max_features=TERMS, min_df=3, sublinear_tf=True, dtype=np.float32)
    words.fit(texts[np.asarray(data.split) == "train"])
    return scipy.sparse.csr_array(words.transform(texts))


def in_both_parts(data: Dataset) -> Dataset:
    """Leave out the labels that the training or the test part does not have."""
    counts = [data.part(name).label_counts() for name in ("train", "test")]
    kept = [name for name, *some in zip(data.label_names, *counts, strict=True) if min(some) > 0]
    return data.restrict_to(kept, unknown="drop")
