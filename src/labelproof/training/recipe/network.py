"""A network with one hidden layer on a view: 512 ReLUs, dropped out, and one output for each label.

Its hidden layer is a block of nonnegative features, on which the output is linear, so it joins a linear model as
further columns. The loop is a plain one: these networks train in seconds.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelproof.encoders.layers import Bag, lecun_scale

__all__ = ["Network", "train_network"]

HIDDEN, DROPOUT, INPUT_DROPOUT = 512, 0.5, 0.15
MOST_EPOCHS, PATIENCE = 80, 6
LEARNING_RATE = 1e-3
ENOUGH_FOR_THREADS = 50_000_000  # multiplications in a step


class Network(nn.Module):
    """Rows of a view → hidden ReLUs → logits.

    Parameters
    ----------
    n_inputs, n_labels
        Widths.
    rates
        Share of the training examples that each label has: where its bias begins.
    """

    def __init__(self, n_inputs: int, n_labels: int, rates: npt.NDArray[np.float64]) -> None:
        super().__init__()
        self.hidden = Bag(n_inputs, HIDDEN, scale=0.0)
        self.output = nn.Linear(HIDDEN, n_labels)
        start = np.log(np.clip(rates, 1e-4, 1 - 1e-4)) - np.log1p(-np.clip(rates, 1e-4, 1 - 1e-4))
        with torch.no_grad():
            for numbers in self.hidden.parameters():
                numbers.uniform_(-lecun_scale(n_inputs), lecun_scale(n_inputs))
            self.output.weight.mul_(0.1)
            self.output.bias.copy_(torch.from_numpy(start))

    def features(self, rows: Any) -> Tensor:
        """Return the hidden features (n, 512) of rows of the view, dense or CSR; some inputs drop out in training."""
        if not scipy.sparse.issparse(rows):
            dense = torch.from_numpy(np.asarray(rows, np.float32))
            return self.hidden(nn.functional.dropout(dense, INPUT_DROPOUT, self.training)).relu()
        values = torch.from_numpy(rows.data.astype(np.float32))
        values = nn.functional.dropout(values, INPUT_DROPOUT, self.training)
        ids, ends = torch.from_numpy(rows.indices.astype(np.int64)), torch.from_numpy(rows.indptr[:-1].astype(np.int64))
        return self.hidden(ids, ends, values).relu()

    def forward(self, rows: Any) -> Tensor:
        """Return the logits (n, n_labels)."""
        return self.output(nn.functional.dropout(self.features(rows), DROPOUT, self.training))

    def logits(self, rows: Any) -> npt.NDArray[np.float32]:
        """Return the logits of many rows."""
        self.eval()
        with torch.inference_mode():
            blocks = [self(rows[start : start + 1024]).numpy() for start in range(0, rows.shape[0], 1024)]
        return np.concatenate(blocks)


@dataclass(frozen=True, eq=False)
class Trained:
    """A network, and the epochs after which it was best."""

    network: Network
    epochs: int


def train_network(
    features: Any,
    labels: Any,
    *,
    held_out: tuple[Any, Any] | None = None,
    epochs: int = MOST_EPOCHS,
    seconds: float = np.inf,
    seed: int = 0,
) -> Trained:
    """Train a network, for so many epochs or, with held-out rows and labels, until their loss no longer falls.

    No epoch begins after so many seconds, but the first.
    """
    end = time.perf_counter() + seconds
    n, n_labels = labels.shape
    rates = np.asarray(labels.sum(axis=0)).ravel() / max(n, 1)
    size = 32 if n < 2000 else 64 if n < 10_000 else 128
    with torch.random.fork_rng(devices=[]), _threads(size * HIDDEN * (features.shape[1] + n_labels)):
        torch.manual_seed(seed)
        network = Network(features.shape[1], n_labels, rates)
        optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=0.0, fused=True)
        rng = np.random.default_rng(seed)
        best, best_epoch, kept = np.inf, epochs, None
        for epoch in range(1, epochs + 1):
            _epoch(network, optimizer, features, labels, rng.permutation(n), size)
            if held_out is None:
                continue
            loss = _loss(network, *held_out)
            if loss < best * (1 - 1e-4):
                best, best_epoch = loss, epoch
                kept = {name: value.clone() for name, value in network.state_dict().items()}
            if epoch - best_epoch >= PATIENCE or time.perf_counter() > end:
                break
        if kept is not None:
            network.load_state_dict(kept)
    network.eval()
    return Trained(network, best_epoch)


@contextmanager
def _threads(work: int) -> Iterator[None]:
    """Take one thread where a step has too little work for two: they would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if work < ENOUGH_FOR_THREADS else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _epoch(network: Network, optimizer: Any, features: Any, labels: Any, order: Any, size: int) -> None:
    network.train()
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        targets = torch.from_numpy(labels[rows].toarray().astype(np.float32))
        loss = binary_cross_entropy_with_logits(network(features[rows]), targets, reduction="sum") / len(rows)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _loss(network: Network, features: Any, labels: Any) -> float:
    logits = network.logits(features)
    rows, columns = labels.nonzero()
    return float(np.logaddexp(0.0, logits).sum(dtype=np.float64) - logits[rows, columns].sum(dtype=np.float64))
