"""Attention for natural language inference: none, logistic, softmax and sparsemax, on SICK and SNLI."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import labelproof as lp
from experiments.rows import Row, compute_missing, read_runs
from labelproof.data import Dataset
from labelproof.models import Model
from labelproof.pictures import draw_attention
from labelproof.training import Fitted, RunRecord, TrainConfig, sweep

SETS, SEEDS = ("sick", "snli"), (0, 1, 2)
METRICS = ("precision@1",)
ATTENTIONS = {"none": "none", "logistic": "sigmoid", "softmax": "softmax", "sparsemax": "sparsemax"}
# accuracy on the test part of SNLI in per cent, as remembered: we do not hold the paper's tables
REMEMBERED = {"none": 80.99, "logistic": 80.84, "softmax": 82.08, "sparsemax": 82.20}
DRAWN = (  # our own sentences, since others' are not ours to print
    ("a boy in a red shirt is riding his bike down the street", "a child is on a bike"),
    ("two dogs are running through the snow near a frozen lake", "the animals are asleep"),
    ("a woman is slicing a tomato on a wooden table", "nobody is cutting a vegetable"),
    ("an old man plays the guitar for a small crowd", "a man is making music"),
)


def run(path: Path, names: tuple[str, ...]) -> None:
    """Train what is missing; "generated" is a matter of seconds."""
    seeds = SEEDS[:1] if "generated" in names else SEEDS
    for name in names:
        pairs = dataset(name)
        measure = partial(attended, test=pairs.part("test"))
        for kinds in (("softmax", "sparsemax"), ATTENTIONS):  # what the claim is about comes first
            variants = [{"encoder.attention": ATTENTIONS[kind]} for kind in kinds]
            options = {"seeds": seeds, "out": path, "metrics": METRICS, "measure": measure}
            sweep(configuration(name), pairs, variants=variants, **options)


def dataset(name: str) -> Dataset:
    """Return the pairs; where the training part is absent, as of SNLI, the development part is trained on instead."""
    if name == "generated":
        return _generated()
    data = lp.load_dataset(name)
    if "train" not in data.parts:
        data = data.with_split(np.where(np.asarray(data.split) == "test", "test", "train"))
    return data


def configuration(name: str) -> TrainConfig:
    """Return what all runs share: the paper's network and sizes, with word vectors that are learned."""
    small = name == "generated"
    return TrainConfig.from_dict(
        {
            "data": {"path": name},
            "encoder": {"kind": "pair", "dim": 100, "hidden": 8 if small else 100, "dropout": 0.1, "attention": "none"},
            "head": {"kind": "linear"},
            "loss": {"kind": "pick-all-labels"},
            "decision": {"kind": "top-k", "k": 1},
            "trainer": {
                "epochs": 1 if small else 30,
                "batch_size": 32,
                "lr": 0.001,
                "weight_decay": 0.0001,
                "monitor": "precision@1",
                "metrics": ["precision@1"],
                "patience": 5,
                "accelerator": "cpu",
            },
        }
    )


def attended(fitted: Fitted, *, test: Dataset) -> dict[str, Any]:
    """Return the share of the first texts' words with a weight above 0, and the weights of our own sentences."""
    encoder = Model.of(fitted).encoder
    if fitted.config.encoder.options["attention"] == "none":
        return {}
    pairs = [f"{first}\n\n{second}" for first, second in zip(test.texts, test.text_pairs, strict=True)]
    weights = [
        weight
        for start in range(0, len(pairs), 256)
        for text in encoder.attention(pairs[start : start + 256])
        for _, weight in text
    ]
    drawn = encoder.attention([f"{first}\n\n{second}" for first, second in DRAWN])
    return {
        "attended": float(np.mean(np.array(weights) > 0)),
        "drawn": [[[word, round(weight, 4)] for word, weight in text] for text in drawn],
    }


def run_majority(path: Path, names: tuple[str, ...]) -> None:
    """Compute what is missing of the accuracy that the most frequent class alone has on the test part."""

    def compute(*, data: str) -> Row:
        labels = dataset(data).part("test").labels
        return {"accuracy": float(labels.sum(axis=0).max() / labels.shape[0])}

    compute_missing(path, [{"data": name} for name in names], compute)


def results(path: Path) -> dict[str, dict[str, list[RunRecord]]]:
    """Return the runs by data set and attention."""
    found: dict[str, dict[str, list[RunRecord]]] = {}
    for record in read_runs(path):
        kind = next(name for name, option in ATTENTIONS.items() if option == record.changes["encoder.attention"])
        found.setdefault(record.config["data"]["path"], {}).setdefault(kind, []).append(record)
    return {name: {kind: runs[kind] for kind in ATTENTIONS if kind in runs} for name, runs in found.items()}


def draw(runs: dict[str, list[RunRecord]], path: Path) -> None:
    """Draw the attention of the first seed of each kind on our own sentences."""
    texts, titles = [], []
    for place, (_, second) in enumerate(DRAWN):
        for kind in ("softmax", "sparsemax"):
            if kind in runs:
                texts.append(runs[kind][0].measured["drawn"][place])
                titles.append(f"{kind}; the second text: {second}")
    draw_attention(texts, path, titles=titles)


def _generated() -> Dataset:
    rng = np.random.default_rng(0)
    words = np.array(["ant", "bee", "cat", "dog"])
    firsts, seconds = (tuple(" ".join(rng.choice(words, 3)) for _ in range(90)) for _ in range(2))
    labels = np.eye(3, dtype=bool)[
        [sum(word in b for word in a.split()) % 3 for a, b in zip(firsts, seconds, strict=True)]
    ]
    split = np.repeat(["train", "valid", "test"], [50, 20, 20])
    return Dataset(labels, ("entailment", "neutral", "contradiction"), texts=firsts, text_pairs=seconds, split=split)
