"""Train several heads on the same parts of one data set, and verify the label sets of its test part for each."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from labelproof.auditing import audit
from labelproof.comparison.contenders import Contender, most_active
from labelproof.comparison.outcome import Outcome
from labelproof.data import Dataset
from labelproof.importers import layer_of
from labelproof.metrics import Accumulator
from labelproof.models import Model
from labelproof.search.verifier import verify
from labelproof.training import Fitted, TrainConfig, fit
from labelproof.training.config import HeadConfig
from labelproof.training.data_parts import divide, inputs_of

__all__ = ["compare"]

RANDOM_SETS = 200
EXPLAINED = 3  # label sets that the report explains for each head, about half a second each


def compare(
    config: TrainConfig, dataset: Dataset, contenders: Sequence[Contender], *, progress: bool = False
) -> Iterator[Outcome]:
    """Train one model for each head, and yield what came out as soon as it is known.

    Parameters
    ----------
    config
        How all are trained, such as `recipe` gives; its head is not used. The hidden layer of the encoder gets no
        fewer features than the widest head, since it would be the bottleneck otherwise. Torch computes in one thread:
        the products are small, and on a busy machine more threads wait for each other, up to ten times as long.
    dataset
        Examples with labels; the same parts serve all heads.
    contenders
        The heads, such as `four_heads` gives.
    progress
        Draw progress bars on standard error.

    Yields
    ------
    Outcome
        In the order of the contenders.

    Examples
    --------
    >>> from labelproof.comparison import four_heads, recipe
    >>> from labelproof.data import topic_data
    >>> data = topic_data(200, 12, 60, cardinality=2.0)
    >>> config = recipe(data, epochs=1)
    >>> [outcome.n_features for outcome in compare(config, data, four_heads(data.labels, 2)[:2])]
    [2, 13]
    """
    parts = divide(dataset, config.data, seed=config.trainer.seed)
    if parts.test is None or not len(parts.test):
        raise ValueError(
            "a comparison of heads needs test data: data.test must be positive, or the data have that part"
        )
    config = _wide_enough(config, contenders)
    questions = _Questions.about(parts.training, parts.test, config.trainer.seed)
    for contender in contenders:
        start = time.perf_counter()
        with _one_thread():
            fitted = fit(config.model_copy(update={"head": contender.head}), dataset, progress=progress)
        yield questions.answer(contender, fitted, time.perf_counter() - start, progress=progress)


@dataclass(frozen=True, eq=False)
class _Questions:
    """What is asked of every model: scores at k labels, the label sets of the test part, and random ones."""

    test: Dataset
    k: int
    at_random: list[list[int]]

    @classmethod
    def about(cls, training: Dataset, test: Dataset, seed: int) -> "_Questions":
        """Draw random sets as large as the largest that a DFT head is made for; k is the mean number of labels."""
        n_labels = training.n_labels
        size, rng = most_active(training.labels), np.random.default_rng(seed)
        sets = [np.sort(rng.permutation(n_labels)[:size]).tolist() for _ in range(RANDOM_SETS)]
        return cls(test, min(max(1, round(training.labels.nnz / len(training))), n_labels), sets)

    def answer(self, contender: Contender, fitted: Fitted, train_seconds: float, *, progress: bool) -> Outcome:
        model = Model.of(fitted)
        layer = replace(layer_of(model), model=contender.name)
        options: dict[str, Any] = {"bias": layer.bias, "domain": layer.domain, "ties": "inactive", "certify": False}
        start = time.perf_counter()
        told: dict[str, Any] = {"n_explained": EXPLAINED, "data_name": "the test data", "progress": progress}
        audited = audit(layer, self.test, run=False, **told)  # heads are compared by what they can predict at all
        verify_seconds = time.perf_counter() - start
        sets = audited.verifications["data"].label_sets
        return Outcome(
            contender=contender,
            model=model,
            scores=_scores(model, self.test, self.k),
            k=self.k,
            audit=audited,
            at_half=verify(layer.weight, sets, **options),
            at_random=verify(layer.weight, self.at_random, rule=layer.rule, **options),
            epochs=len(fitted.history),
            train_seconds=train_seconds,
            verify_seconds=verify_seconds,
        )


def _scores(model: Model, test: Dataset, k: int) -> dict[str, float]:
    """Evaluate the model on the test part, block by block."""
    stream, start = Accumulator(["micro-f1", "macro-f1", f"f1@{k}"]), 0
    for logits in model.iter_logits(inputs_of(test, model.encoder.input_kind)):
        truth = test.labels[start : start + len(logits)]
        stream.update(truth, y_pred=model.rule.decide(logits, sparse=True), y_score=logits)
        start += len(logits)
    return stream.compute()


def _wide_enough(config: TrainConfig, contenders: Sequence[Contender]) -> TrainConfig:
    """Give the hidden layer of the encoder at least the features of the widest head."""
    hidden = config.encoder.options.get("hidden")
    widest = max(_features(contender.head) for contender in contenders)
    if hidden is None or hidden >= widest:
        return config
    return TrainConfig.from_dict({**config.to_dict(), "encoder": {**config.to_dict()["encoder"], "hidden": widest}})


def _features(head: HeadConfig) -> int:
    """Return the features of a bottleneck, a DFT head or a code head."""
    if head.code is not None:
        return head.code[0] * head.code[2] + 1 + (head.slack or 0)
    return head.d or 2 * (head.k or 0) + 1 + (head.slack or 0)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
