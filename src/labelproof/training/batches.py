"""Batches of prepared examples and their labels; the order of an epoch depends on the seed and its number alone.

So a run that is resumed at an epoch sees the same batches as one that was never interrupted.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from labelproof.encoders import Encoder, Prepared
from labelproof.losses.targets import SparseTargets

__all__ = ["Batch", "Batches", "Examples", "ShuffledBatches"]

Rows = npt.NDArray[np.int64]


class Batch(NamedTuple):
    """Inputs of an encoder's forward and the places of the active labels, as tensors alone: Lightning moves them."""

    inputs: tuple[Tensor, ...]
    indptr: Tensor
    rows: Tensor
    columns: Tensor

    def targets(self, n_labels: int) -> SparseTargets:
        """Return the labels in the form in which all losses take them."""
        return SparseTargets(self.indptr, self.rows, self.columns, len(self.indptr) - 1, n_labels)

    def labels(self, n_labels: int) -> Any:
        """Return the labels as a CSR array of bool (n, n_labels)."""
        indptr, columns = self.indptr.cpu().numpy(), self.columns.cpu().numpy()
        return scipy.sparse.csr_array((np.ones(len(columns), np.bool_), columns, indptr), (len(indptr) - 1, n_labels))


@dataclass(frozen=True, eq=False)
class Examples(Dataset[int]):
    """Prepared inputs with their labels, from which batches are gathered.

    Parameters
    ----------
    encoder
        Which has prepared the inputs, and which collates them.
    prepared
        What it has prepared.
    labels
        CSR array of bool (n_examples, n_labels).
    """

    encoder: Encoder
    prepared: Prepared
    labels: Any

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def __getitem__(self, row: int) -> int:
        return row

    def fingerprint(self) -> str:
        """Return what tells these labels from others: the hash of their places."""
        digest = hashlib.sha256(repr(self.labels.shape).encode())
        for part in (self.labels.indptr, self.labels.indices):
            digest.update(part.astype(np.int64).tobytes())
        return digest.hexdigest()

    def batch(self, rows: list[int] | Rows) -> Batch:
        """Return the batch of these rows."""
        chosen = np.asarray(rows, np.int64)
        part = self.labels[chosen]
        indptr = torch.from_numpy(part.indptr.astype(np.int64))
        lengths = indptr.diff()
        return Batch(
            self.encoder.collate(self.prepared, chosen),
            indptr,
            torch.repeat_interleave(torch.arange(len(chosen)), lengths),
            torch.from_numpy(part.indices.astype(np.int64)),
        )


class ShuffledBatches(Sampler[list[int]]):
    """Rows of each batch, in an order that depends on seed and epoch; each device gets its share of a batch.

    Parameters
    ----------
    n_examples, batch_size
        The last batch may be smaller.
    seed
        Of the order.
    rank, n_devices
        This device's number, and how many there are. All have equally many examples of a batch: where a batch cannot
        be divided, its first examples come twice.

    Examples
    --------
    >>> batches = ShuffledBatches(5, 2, seed=0)
    >>> [len(batch) for batch in batches], sorted(sum(batches, []))
    ([2, 2, 1], [0, 1, 2, 3, 4])
    """

    def __init__(self, n_examples: int, batch_size: int, *, seed: int, rank: int = 0, n_devices: int = 1) -> None:
        self.n_examples, self.batch_size, self.seed = n_examples, batch_size, seed
        self.rank, self.n_devices = rank, n_devices
        self.epoch = 0
        self.sampler = self  # where Lightning looks for set_epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the epoch, from 0; Lightning does so before each."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-self.n_examples // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.n_examples)
        for start in range(0, self.n_examples, self.batch_size):
            rows = order[start : start + self.batch_size]
            rows = np.resize(rows, -(-len(rows) // self.n_devices) * self.n_devices)
            yield rows[self.rank :: self.n_devices].tolist()


class Batches(LightningDataModule):
    """The batches of a run, made on each device for itself.

    Every device validates on all examples, so that all have the same values without asking each other.

    Parameters
    ----------
    training, validation
        Examples; None for no validation.
    batch_size
        Examples of a step, on all devices together.
    seed
        Of the order.
    """

    def __init__(self, training: Examples, validation: Examples | None, batch_size: int, *, seed: int) -> None:
        super().__init__()
        self.training, self.validation = training, validation
        self.batch_size, self.seed = batch_size, seed

    def train_dataloader(self) -> DataLoader[int]:
        """Return the shuffled batches of this device."""
        rank, n_devices = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        batches = ShuffledBatches(len(self.training), self.batch_size, seed=self.seed, rank=rank, n_devices=n_devices)
        return DataLoader(self.training, batch_sampler=batches, collate_fn=self.training.batch)

    def val_dataloader(self) -> Any:
        """Return the validation examples in their order."""
        if self.validation is None:
            return []
        return DataLoader(self.validation, batch_size=max(self.batch_size, 256), collate_fn=self.validation.batch)
