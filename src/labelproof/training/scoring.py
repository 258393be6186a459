"""Logits of a trained encoder and head, batch by batch, and what the decision rule and the metrics make of them."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from torch import Tensor

from labelproof.activations.entmax import entmax
from labelproof.decisions import Rule
from labelproof.encoders import Encoder, Prepared
from labelproof.encoders.views.view_encoder import ViewsEncoder
from labelproof.metrics import Accumulator, evaluate
from labelproof.training.heads import Head, LinearHead

__all__ = ["MOST_SCORES", "batch_logits", "forward", "metrics_of", "row_blocks", "spread_rows", "to_probabilities"]

MOST_SCORES = 10**8  # logits that are kept at once
STREAMED = ("micro-f1", "macro-f1", "samples-f1", "hamming-loss", "exact-match", "precision@1", "precision@5", "ndcg@5")


def forward(encoder: Encoder, head: Head, batch: tuple[Tensor, ...]) -> Tensor:
    """Return the logits (n, n_labels) of a collated batch, on the device and in the precision of the head."""
    like = head.weight
    moved = (part.to(like.device, like.dtype if part.is_floating_point() else None) for part in batch)
    return head(encoder(*moved))


def batch_logits(
    encoder: Encoder,
    head: Head,
    prepared: Prepared,
    *,
    rows: npt.NDArray[np.int64] | None = None,
    batch_size: int = 256,
) -> Iterator[npt.NDArray[Any]]:
    """Yield the logits of prepared examples, or of these rows of them, float arrays (at most batch_size, n_labels).

    Encoder and head are left as they were, in training or not.
    """
    chosen = np.arange(len(prepared)) if rows is None else rows
    for block in row_blocks(len(chosen), batch_size):
        was_training = encoder.training, head.training
        encoder.eval(), head.eval()
        try:
            with torch.inference_mode():
                logits = _logits(encoder, head, prepared, chosen[block])
        finally:
            encoder.train(was_training[0]), head.train(was_training[1])
        yield logits


def _logits(encoder: Encoder, head: Head, prepared: Any, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    if isinstance(encoder, ViewsEncoder) and isinstance(head, LinearHead) and head.weight.dtype == torch.float32:
        return encoder.products(prepared, rows, head.weight) + head.output.bias.detach().cpu().numpy()
    return forward(encoder, head, encoder.collate(prepared, rows)).cpu().numpy()


def row_blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of n rows, of this size but for the last.

    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    yield from (slice(start, min(start + size, n)) for start in range(0, n, size))


def spread_rows(n: int, n_labels: int, most: int) -> npt.NDArray[np.int64]:
    """Return rows, evenly spread over all n, whose scores are no more than so many: files are often in some order.

    >>> spread_rows(10, 100, 400), spread_rows(3, 100, 10)
    (array([0, 2, 5, 7]), array([0]))
    """
    kept = max(1, min(n, most // n_labels))
    return np.arange(kept, dtype=np.int64) * n // kept


def to_probabilities(logits: npt.NDArray[Any], kind: str, **options: Any) -> npt.NDArray[Any]:
    """Return what a loss takes logits to mean: their sparsemax, entmax or softmax, or else the sigmoid.

    Parameters
    ----------
    logits
        (n_examples, n_labels).
    kind, options
        Of the loss. For "sparsemax", "entmax" and "pick-all-labels" each row is a distribution over labels.

    Examples
    --------
    >>> to_probabilities(np.array([[0.0, 2.0]]), "bce").round(3), to_probabilities(np.array([[0.0, 2.0]]), "sparsemax")
    (array([[0.5  , 0.881]]), array([[0., 1.]]))
    """
    alphas = {"sparsemax": 2.0, "entmax": options.get("alpha", 1.5), "pick-all-labels": 1.0}
    if kind not in alphas:
        return expit(logits)
    return entmax(torch.from_numpy(logits), alphas[kind]).numpy()


def metrics_of(labels: Any, blocks: Iterator[npt.NDArray[Any]], rule: Rule) -> dict[str, float | None]:
    """Evaluate predictions: every metric, or, of more than 10⁸ logits, those that can be added up from blocks.

    Parameters
    ----------
    labels
        CSR array (n_examples, n_labels) of the truth.
    blocks
        Logits of the examples, in their order.
    rule
        Fitted decision rule.

    Returns
    -------
    dict
        By the names of `labelproof.metrics`; None where a metric is not defined.
    """
    n, n_labels = labels.shape
    if not n:
        raise ValueError("examples must be at least one to be evaluated, got none")
    if n * n_labels <= MOST_SCORES:
        logits = np.concatenate(list(blocks))
        values = evaluate(labels, logits, rule.decide(logits, sparse=True), scores="logits", ks=(1, 3, 5))
    else:
        names = [name for name in STREAMED if "@" not in name or int(name.split("@")[1]) <= n_labels]
        stream, start = Accumulator(names), 0
        for block in blocks:
            truth = labels[start : start + len(block)]
            stream.update(truth, y_pred=rule.decide(block, sparse=True), y_score=block)
            start += len(block)
        values = stream.compute()
    return {name: float(value) if math.isfinite(value) else None for name, value in values.items()}
