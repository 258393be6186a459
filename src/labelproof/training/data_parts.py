"""The parts of a data set that training, choice of thresholds and evaluation use, each for itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelproof.data import Dataset
from labelproof.data.model_inputs import TRAINING, VALIDATION, field_of, model_inputs
from labelproof.data.splits import iterative_stratification, split_at_random, split_by_group, split_by_time
from labelproof.training.config import DataConfig

__all__ = ["Parts", "divide", "inputs_of", "without_validation"]


@dataclass(frozen=True, eq=False)
class Parts:
    """Disjoint parts of a data set, over the labels of the first; validation and test may be None."""

    training: Dataset
    validation: Dataset | None
    test: Dataset | None


def divide(dataset: Dataset, config: DataConfig, *, seed: int) -> Parts:
    """Divide a data set as its split says; parts that it does not name are held out from the training part.

    Every part has its share of every label, by iterative stratification; groups are not torn apart. Where the
    configuration names a column of times, the latest examples are held out instead. Labels are those of the training
    part.

    Parameters
    ----------
    dataset
        With the parts "train", "valid" and "test", of which only the first is needed, or without a split. Another
        part is refused, so that no examples are lost by a misspelt name.
    config
        Shares of the test and validation parts, and how many training examples a label must have.
    seed
        Of the choice of held-out examples.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.ones((20, 2), bool), ("a", "b"), features=np.zeros((20, 1)))
    >>> parts = divide(data, DataConfig(validation=0.2), seed=0)
    >>> len(parts.training), len(parts.validation), parts.test
    (16, 4, None)
    """
    training, validation, test = (_part(dataset, names) for names in (TRAINING, VALIDATION, ("test",)))
    if dataset.split is None:
        training = dataset
    if training is None:
        raise ValueError(f"the data must have a part named train, got {', '.join(dataset.parts)}")
    used = {name for part in (training, validation, test) if part is not None for name in part.parts}
    unused = [name for name in dataset.parts if name not in used]
    if unused:
        raise ValueError(f"the parts of the data must be one each of train, valid and test, got {unused[0]!r} too")
    if test is None and config.test > 0:
        training, test = _hold_out(training, config.test, seed, by_time=config.time is not None)
    if validation is None and config.validation > 0:
        training, validation = _hold_out(training, config.validation, seed, by_time=config.time is not None)
    if config.min_count > 0:
        training = training.with_split(None).drop_rare_labels(config.min_count)
    if len(training) == 0 or training.labels.nnz == 0:
        raise ValueError(f"the training part must have examples with labels, got {len(training)} without any")
    names = training.label_names
    validation, test = (part and part.restrict_to(names, unknown="drop") for part in (validation, test))
    return Parts(training, validation, test)


def without_validation(dataset: Dataset) -> Dataset:
    """Return the data set with its validation part, if there is one, as part of the training part."""
    if dataset.split is None:
        return dataset
    name = next((name for name in TRAINING if name in dataset.parts), TRAINING[0])
    return dataset.with_split(np.where(np.isin(dataset.split, VALIDATION), name, dataset.split))


def inputs_of(dataset: Dataset, kind: str) -> Any:
    """Return what an encoder of this kind reads: features, image paths, or texts, pairs joined by a blank line."""
    inputs = model_inputs(dataset, kind)
    if inputs is None:
        have = [name for name in ("features", "texts", "image_paths") if getattr(dataset, name) is not None]
        got = " and ".join(have) or "labels only"
        raise ValueError(f"the encoder {kind!r} needs data with {field_of(kind)}, got {got}")
    return inputs


def _part(dataset: Dataset, names: tuple[str, ...]) -> Dataset | None:
    return next((dataset.part(name) for name in names if name in dataset.parts), None)


def _hold_out(training: Dataset, share: float, seed: int, *, by_time: bool) -> tuple[Dataset, Dataset | None]:
    """Hold out at least one example, unless only one is there."""
    if len(training) < 2:
        return training, None
    parts = {"kept": 1 - share, "held": share}
    if by_time and training.times is not None:
        held = split_by_time(training.times, parts) == "held"
        if not held.any():
            raise ValueError(f"data.time must have later times for a share of {share:g} of the examples, got none")
        return training.select(~held), training.select(held)
    split = iterative_stratification(training.labels, parts, groups=training.groups, seed=seed)
    if len(set(split.tolist())) < 2:  # few examples, each of which is worth more to the larger part
        if training.groups is not None:
            split = split_by_group(training.groups, parts, seed=seed)
        else:
            n = len(training)
            split = split_at_random(n, {"kept": n - 1, "held": 1}, seed=seed)
    held = split == "held"
    return (training.select(~held), training.select(held)) if held.any() else (training, None)
