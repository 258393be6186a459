"""Label sets and trained output layers for the benchmarks, made from seeds and kept in `benchmarks/weights`.

A random Gaussian layer is no stand-in for a trained one: training moves rare labels together and frequent
ones apart, which decides how many label sets are argmaxable and which rows conflict. So every layer here is
trained, for minutes at most, on synthetic topic data, and comes with label sets that it has not seen.

`python benchmarks/weights.py` builds what is missing; with names, `python benchmarks/weights.py 8921x50 dft`,
it builds those anew.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    import torch

__all__ = ["NAMES", "build", "dft_columns", "load", "load_many_sets", "topic_label_sets", "trained_layer"]

FOLDER = Path(__file__).parent / "weights"
SEED = 0  # one world of topics for each number of labels, shared by all its layers
N_TRAIN, N_TEST, N_MANY = 20_000, 2_000, 100_000
N_FEATURES = 1_000  # of a document, before the encoder
BATCH = 256
BLOCK = 1_000  # label sets drawn at a time, each block from its own seed
MOST_TOPICS = 4  # of one label set
LARGEST_TOPIC = 80
MANY_SETS = "label_sets_8921"


# --- label sets ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _World:
    """What label sets are drawn from: topics of labels, and labels that go with anything."""

    topic_cdf: np.ndarray  # (n_topics,)
    labels: np.ndarray  # (n_topics, LARGEST_TOPIC) label indices, the most likely first
    label_cdf: np.ndarray  # (n_topics, LARGEST_TOPIC), 1 from the topic's last label on
    background_cdf: np.ndarray  # (n_labels,) over `by_popularity`
    by_popularity: np.ndarray  # (n_labels,) label indices, the most popular first


def topic_label_sets(
    n_labels: int, n_sets: int, *, seed: int, mean_active: float = 15, most_active: int = 80
) -> sp.csr_array:
    """Draw label sets whose labels co-occur by topic; the first sets do not depend on `n_sets`.

    Topics and labels are Zipf distributed. A set mixes one to four topics, one label in ten is from anywhere;
    its size is gamma-Poisson, clipped to 1..`most_active` (less where its topics have too few labels).

    Returns
    -------
    csr_array of bool, shape (n_sets, n_labels), indices sorted
    """
    world = _world(n_labels, np.random.default_rng(seed))
    blocks = [  # numbered from 1, since numpy takes the seed [seed, 0] for the same as seed
        _draw_sets(world, np.random.default_rng([seed, 1 + block]), mean_active, most_active)
        for block in range(-(-n_sets // BLOCK))
    ]
    return sp.vstack(blocks, format="csr")[:n_sets]


def _world(n_labels: int, rng: np.random.Generator) -> _World:
    n_topics = max(20, n_labels // 40)
    by_popularity = rng.permutation(n_labels)  # popularity must not follow the index
    popularity = _zipf(n_labels, 0.9)
    labels = np.zeros((n_topics, LARGEST_TOPIC), dtype=np.int64)
    label_cdf = np.ones((n_topics, LARGEST_TOPIC))
    for topic in range(n_topics):
        size = rng.integers(20, LARGEST_TOPIC, endpoint=True)
        labels[topic, :size] = by_popularity[rng.choice(n_labels, size, replace=False, p=popularity)]
        label_cdf[topic, :size] = _cdf(_zipf(size, 0.8))
    return _World(_cdf(_zipf(n_topics, 0.7)), labels, label_cdf, _cdf(popularity), by_popularity)


def _draw_sets(
    world: _World, rng: np.random.Generator, mean_active: float, most_active: int
) -> sp.csr_array:  # (BLOCK, L)
    n_labels = len(world.by_popularity)
    wanted = rng.poisson(rng.gamma(3.0, mean_active / 3.0, BLOCK)).clip(1, most_active)
    topics = np.searchsorted(world.topic_cdf, rng.random((BLOCK, MOST_TOPICS)))
    share = rng.exponential(size=(BLOCK, MOST_TOPICS))  # normalised: uniform over the mixtures
    share *= np.arange(MOST_TOPICS) < rng.integers(1, MOST_TOPICS, BLOCK, endpoint=True)[:, None]
    topic_cdf = share.cumsum(1) / share.sum(1, keepdims=True)

    keys = np.empty(0, dtype=np.int64)  # set * n_labels + label
    for _ in range(20):  # a draw may repeat a label: draw again for what is missing
        missing = wanted - np.bincount(keys // n_labels, minlength=BLOCK)
        of = np.repeat(np.arange(BLOCK), missing)
        which = _invert(topic_cdf[of], rng.random(len(of)))
        topic = topics[of, which]
        label = world.labels[topic, _invert(world.label_cdf[topic], rng.random(len(of)))]
        anywhere = np.searchsorted(world.background_cdf, rng.random(len(of)))
        label = np.where(rng.random(len(of)) < 0.1, world.by_popularity[anywhere], label)
        keys = np.union1d(keys, of * n_labels + label)

    indptr = np.searchsorted(keys, np.arange(BLOCK + 1) * n_labels)
    return _csr(indptr, keys % n_labels, n_labels)


def _zipf(n: int, exponent: float) -> np.ndarray:
    weights = np.arange(1, n + 1) ** -exponent
    return weights / weights.sum()


def _cdf(probabilities: np.ndarray) -> np.ndarray:
    cdf = probabilities.cumsum()
    return cdf / cdf[-1]  # ends in exactly 1


def _invert(cdf: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Row by row, the first position at which the distribution exceeds a uniform number."""
    return (cdf <= uniform[:, None]).sum(1).clip(max=cdf.shape[1] - 1)


def _csr(indptr: np.ndarray, indices: np.ndarray, n_labels: int) -> sp.csr_array:
    data = np.ones(len(indices), dtype=bool)
    return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_labels))


# --- layers -------------------------------------------------------------------------------------------------


def dft_columns(n_labels: int, k: int) -> np.ndarray:
    """Make the paper's truncated DFT matrix, float64, (n_labels, 2k+1): constant, cos t, sin t, cos 2t, …"""
    turns = np.outer(np.arange(n_labels), np.arange(1, k + 1)) % n_labels  # exact: angles below 2π
    angle = 2 * np.pi / n_labels * turns
    waves = np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(n_labels, 2 * k)
    return np.hstack([np.full((n_labels, 1), np.sqrt(1 / n_labels)), np.sqrt(2 / n_labels) * waves])


def trained_layer(
    n_labels: int, d: int, *, epochs: int, lr: float = 2e-3, hidden: int | None = 512, dft: int = 0
) -> tuple[np.ndarray, float]:
    """Train an encoder and a linear layer without bias by BCE and Adam on one thread.

    Parameters
    ----------
    hidden : int or None
        Width of the encoder's hidden layer. None is for wide layers: one tanh layer is the encoder, since a
        hidden layer narrower than `d` would leave the features in a subspace.
    dft : int
        If k > 0, the first 2k+1 columns are those of the DFT and stay fixed, and every label starts at
        probability k/n.

    Returns
    -------
    weight : float32, shape (n_labels, d)
    f1 : float, mean over the held-out documents of the F1 of their label sets
    """
    import torch  # here, so that a benchmark of cached layers runs without it

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the order of summation, and so the weights, depend on it
    try:
        torch.manual_seed(SEED)
        encoder = _encoder(d, hidden)
        learned = torch.nn.Linear(d - (2 * dft + 1 if dft else 0), n_labels, bias=False).weight
        fixed = torch.empty(n_labels, 0)
        if dft:
            fixed = torch.from_numpy(dft_columns(n_labels, dft)).float()
            odds = dft / (n_labels - dft)
            encoder[-1].bias.data.zero_()
            encoder[-1].bias.data[0] = np.sqrt(n_labels) * np.log(odds)
        labels = topic_label_sets(n_labels, N_TRAIN + N_TEST, seed=SEED)
        features = torch.from_numpy(_document_features(labels))
        _fit(encoder, fixed, learned, features[:N_TRAIN], labels[:N_TRAIN], epochs, lr)
        weight = torch.cat([fixed, learned.detach()], dim=1)
        f1 = _mean_f1(encoder, weight, features[N_TRAIN:], labels[N_TRAIN:])
    finally:
        torch.set_num_threads(threads)
    return weight.numpy(), f1


def _encoder(d: int, hidden: int | None) -> "torch.nn.Sequential":
    from torch import nn

    if hidden is None:
        return nn.Sequential(nn.Linear(N_FEATURES, d), nn.Tanh())
    return nn.Sequential(nn.Linear(N_FEATURES, hidden), nn.ReLU(), nn.Linear(hidden, d))


def _document_features(labels: sp.csr_array) -> np.ndarray:
    """Sum sparse random embeddings of the active labels and add noise; float32, (n_sets, N_FEATURES)."""
    rng = np.random.default_rng([SEED, labels.shape[1], 1])
    shape = (labels.shape[1], N_FEATURES)
    embeddings = rng.standard_normal(shape, dtype=np.float32) * (rng.random(shape, dtype=np.float32) < 0.02)
    noise = rng.standard_normal((labels.shape[0], N_FEATURES), dtype=np.float32)
    return labels.astype(np.float32) @ embeddings + np.float32(0.3) * noise


def _fit(
    encoder: "torch.nn.Sequential",
    fixed: "torch.Tensor",
    learned: "torch.nn.Parameter",
    features: "torch.Tensor",
    labels: sp.csr_array,
    epochs: int,
    lr: float,
) -> None:
    """Minimise the BCE, summed over labels and averaged over the batch; the rate falls to a twentieth."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    optimiser = torch.optim.Adam([*encoder.parameters(), learned], lr=lr, fused=True)
    n_batches = len(features) // BATCH
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, epochs * n_batches)
    target = torch.zeros(BATCH, labels.shape[1])
    for _ in range(epochs):
        for rows in torch.randperm(len(features))[: n_batches * BATCH].split(BATCH):
            active = torch.from_numpy(np.stack(labels[rows.numpy()].nonzero()).astype(np.int64))
            target.zero_()[active[0], active[1]] = 1.0
            x = encoder(features[rows])
            split = fixed.shape[1]
            logits = x[:, :split] @ fixed.T + x[:, split:] @ learned.T  # (n, L)
            loss = binary_cross_entropy_with_logits(logits, target, reduction="sum") / BATCH
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()


def _mean_f1(
    encoder: "torch.nn.Sequential", weight: "torch.Tensor", features: "torch.Tensor", labels: sp.csr_array
) -> float:
    import torch

    with torch.no_grad():
        predicted = sp.csr_array((encoder(features) @ weight.T > 0).numpy())
    both = predicted.multiply(labels).sum(1)
    return float(np.mean(2 * both / (predicted.sum(1) + labels.sum(1))))


def _pure_dft(dtype: type) -> tuple[np.ndarray, float]:
    return dft_columns(8921, 80).astype(dtype), float("nan")


# --- the files ----------------------------------------------------------------------------------------------

LAYERS: dict[str, Callable[[], tuple[np.ndarray, float]]] = {
    "8921x50": partial(trained_layer, 8921, 50, epochs=20),
    "2000x50": partial(trained_layer, 2000, 50, epochs=20),
    "8921x100": partial(trained_layer, 8921, 100, epochs=20),
    "dft_slack": partial(trained_layer, 8921, 261, epochs=20, dft=80),
    "20000x50": partial(trained_layer, 20000, 50, epochs=20, lr=1e-2),
    "8921x768": partial(trained_layer, 8921, 768, epochs=6, hidden=None),
    "8921x25": partial(trained_layer, 8921, 25, epochs=20),
    "1900x50": partial(trained_layer, 1900, 50, epochs=20),  # within Gurobi's free licence of 2000 rows
    "1000x50": partial(trained_layer, 1000, 50, epochs=20),
    "8921x200": partial(trained_layer, 8921, 200, epochs=20),
    "8921x400": partial(trained_layer, 8921, 400, epochs=20),
    "8921x2432": partial(trained_layer, 8921, 2432, epochs=3, hidden=None),
    "dft": partial(_pure_dft, np.float64),
    "dft_float32": partial(_pure_dft, np.float32),
}
NAMES = (*LAYERS, MANY_SETS)


def load(name: str) -> tuple[np.ndarray, sp.csr_array]:
    """Load a layer and label sets held out from its training, and build them first if they are missing.

    Returns
    -------
    weight : float32 (float64 for "dft"), shape (n_labels, d)
    labels : csr_array of bool, shape (2000, n_labels)
    """
    if name not in LAYERS:
        raise ValueError(f"name must be one of {', '.join(LAYERS)}, got {name!r}")
    file = _read(name)
    return file["weight"], _csr(file["indptr"], file["indices"], len(file["weight"]))


def load_many_sets() -> sp.csr_array:
    """Load 100,000 more held-out label sets for the layers with 8921 labels; shape (100000, 8921)."""
    file = _read(MANY_SETS)
    return _csr(file["indptr"], file["indices"], 8921)


def build(name: str) -> str:
    """Make one file in `benchmarks/weights`, and say in a line what it holds."""
    started = time.perf_counter()
    if name == MANY_SETS:
        sets = topic_label_sets(8921, N_TRAIN + N_TEST + N_MANY, seed=SEED)[N_TRAIN + N_TEST :]
        _write(name, indptr=sets.indptr, indices=sets.indices)
        made = f"{sets.shape[0]} label sets"
    else:
        weight, f1 = LAYERS[name]()
        sets = topic_label_sets(len(weight), N_TRAIN + N_TEST, seed=SEED)[N_TRAIN:]
        _write(name, weight=weight, indptr=sets.indptr, indices=sets.indices, f1=np.float64(f1))
        made = f"{len(weight)} x {weight.shape[1]} {weight.dtype}, F1 {f1:.3f}, {sets.shape[0]} label sets"
    active = np.diff(sets.indptr)
    seconds = time.perf_counter() - started
    return f"{name}: {made} of {active.mean():.1f} labels (at most {active.max()}), {seconds:.0f} s"


def _read(name: str) -> dict[str, np.ndarray]:
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        print(build(name), flush=True)
    with np.load(path) as file:
        return dict(file)


def _write(name: str, **arrays: np.ndarray) -> None:
    FOLDER.mkdir(exist_ok=True)
    unfinished = FOLDER / f"{name}.{os.getpid()}.npz"
    np.savez(unfinished, **arrays)
    unfinished.replace(FOLDER / f"{name}.npz")  # so that a file under its name is whole


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the label sets and layers that the benchmarks use.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(NAMES)}; default: the missing")
    names = parser.parse_args().names
    if unknown := sorted(set(names) - set(NAMES)):
        parser.error(f"name must be one of {', '.join(NAMES)}, got {', '.join(unknown)}")
    for name in names or [name for name in NAMES if not (FOLDER / f"{name}.npz").exists()]:
        print(build(name), flush=True)


if __name__ == "__main__":
    main()
