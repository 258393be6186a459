"""Many runs of one configuration: every variant with every seed, taken up again where they were interrupted."""

import itertools
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from labelproof.data import Dataset
from labelproof.training.config import TrainConfig
from labelproof.training.config_errors import ConfigError
from labelproof.training.config_files import changed, read_value
from labelproof.training.fitted import Fitted
from labelproof.training.fitting import fit
from labelproof.training.loop import DivergedError
from labelproof.training.run_records import (
    RunRecord,
    append_record,
    code_version,
    data_digest,
    read_records,
    run_key,
)

__all__ = ["UNFINISHED", "grid", "planned_runs", "read_axis", "sweep"]

UNFINISHED = "unfinished"
Variant = Mapping[str, Any]


@dataclass(frozen=True)
class Planned:
    """A run to do: what it changes, its seed, and the configuration that this makes."""

    changes: dict[str, Any]
    seed: int
    config: TrainConfig


def sweep(
    config: TrainConfig,
    dataset: Dataset,
    *,
    variants: Sequence[Variant] = ({},),
    seeds: Iterable[int] = (0,),
    out: str | Path | None = None,
    metrics: Sequence[str] | None = None,
    measure: Callable[[Fitted], dict[str, Any]] | None = None,
    each: Callable[[RunRecord], None] | None = None,
) -> list[RunRecord]:
    """Train every variant of a configuration with every seed.

    Parameters
    ----------
    config
        What all runs share.
    dataset
        Examples with labels.
    variants
        What each changes, by "section.key", as `grid` gives it. One that changes a kind loses the options of the old.
    seeds
        Each variant is trained with each; they stand for ``trainer.seed``.
    out
        File of records, one JSON object per line. Runs that are there already are not repeated, also those of an
        older version that did not know some options, which then count as their defaults; and a run that was interrupted
        goes on from a recent epoch, whose checkpoint is in the folder ``unfinished`` beside the file.
        None keeps nothing.
    metrics
        Names of the metrics to keep; None keeps all.
    measure
        Called with each trained model; what it returns, ready for JSON, becomes ``RunRecord.measured``.
    each
        Called with the record of each run as it is finished, those found in the file included.

    Returns
    -------
    list of RunRecord
        One for each seed and variant, in that order.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    >>> data = Dataset(X[:, :4] > 0.5, ("a", "b", "c", "d"), features=X)
    >>> config = TrainConfig.from_dict({"head": {"kind": "linear"}, "trainer": {"epochs": 1}})
    >>> records = sweep(config, data, variants=grid({"trainer.lr": [0.01, 0.1]}), seeds=(0, 1))
    >>> [(record.changes, record.seed) for record in records][:2]
    [({'trainer.lr': 0.01}, 0), ({'trainer.lr': 0.1}, 0)]
    """
    runs = planned_runs(config, variants, seeds)
    data = data_digest(dataset)
    path = None if out is None else Path(out)
    known = {_key_today(record): record for record in read_records(path)} if path is not None else {}
    found = []
    for run in runs:
        record = RunRecord(run.changes, run.seed, run.config.to_dict(), data, code_version())
        if record.key in known:
            record = replace(known[record.key], changes=run.changes)
        else:
            record = _trained(record, run.config, dataset, path, metrics, measure)
            if path is not None:
                append_record(path, record)
        found.append(record)
        if each is not None:
            each(record)
    return found


def grid(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values of some keys.

    Parameters
    ----------
    axes
        The values of each key.

    Examples
    --------
    >>> grid({"loss.beta": [1, 2], "trainer.lr": [0.1]})
    [{'loss.beta': 1, 'trainer.lr': 0.1}, {'loss.beta': 2, 'trainer.lr': 0.1}]
    """
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def read_axis(word: str) -> tuple[str, list[Any]]:
    """Read an axis of a grid from the command line; values are YAML, separated by commas.

    >>> read_axis("loss.beta=1,2.5"), read_axis("head.kind=dft,linear")
    (('loss.beta', [1, 2.5]), ('head.kind', ['dft', 'linear']))
    """
    key, equals, text = word.partition("=")
    section, dot, name = key.partition(".")
    if not (equals and section and dot and name and text.strip()):
        raise ConfigError((key,), f"what is swept must have the form section.key=value,value, got {word!r}")
    try:
        values = read_value(f"[{text}]")
    except yaml.YAMLError:
        raise ConfigError((section, name), f"the values of {key} must be YAML, got {text!r}") from None
    if key == "trainer.seed":
        raise ConfigError((section, name), "trainer.seed is not swept: the number of seeds says how many there are")
    return key, values


def planned_runs(config: TrainConfig, variants: Sequence[Variant], seeds: Iterable[int]) -> list[Planned]:
    """Return the runs of all seeds and variants, every configuration checked before the first is trained."""
    base, found = config.to_dict(), []
    for seed in seeds:
        for variant in variants:
            changes = [(*key.partition(".")[::2], value) for key, value in variant.items()]
            values = changed(base, [*changes, ("trainer", "seed", seed)])
            found.append(Planned(dict(variant), seed, TrainConfig.from_dict(values)))
    keys = [str(run.config.to_dict()) for run in found]
    if len(set(keys)) < len(keys):
        raise ValueError("seeds and variants must differ from each other, got the same configuration twice")
    return found


def _key_today(record: RunRecord) -> str:
    """Return the key of a stored run as if it were planned now: options that came after it have their defaults."""
    try:
        return run_key(TrainConfig.from_dict(record.config).to_dict(), record.data)
    except ValueError:  # a configuration that is refused now
        return record.key


def _trained(
    record: RunRecord,
    config: TrainConfig,
    dataset: Dataset,
    path: Path | None,
    metrics: Sequence[str] | None,
    measure: Callable[[Fitted], dict[str, Any]] | None,
) -> RunRecord:
    folder = None if path is None else path.parent / UNFINISHED / record.key
    begin = time.perf_counter()
    try:
        fitted = fit(config, dataset, out=folder, resume=True, progress=False)
    except ValueError as error:
        _remove(folder)
        if not isinstance(error, DivergedError):
            raise
        return replace(record, failure=str(error), seconds=_since(begin))
    done = _with_results(record, fitted, metrics, measure, _since(begin))
    _remove(folder)
    return done


def _with_results(
    record: RunRecord,
    fitted: Fitted,
    metrics: Sequence[str] | None,
    measure: Callable[[Fitted], dict[str, Any]] | None,
    seconds: float,
) -> RunRecord:
    parts = [part for part in ("validation", "test") if part in fitted.metrics]
    parameters = (p for part in (fitted.encoder, fitted.head) for p in part.parameters() if p.requires_grad)
    return replace(
        record,
        metrics={part: _kept(fitted.metrics[part], metrics) for part in parts},
        measured={} if measure is None else measure(fitted),
        sizes=fitted.metrics["sizes"],
        epochs=len(fitted.history),
        parameters=sum(parameter.numel() for parameter in parameters),
        seconds=seconds,
    )


def _remove(folder: Path | None) -> None:
    """Remove the checkpoint of a run that has ended, and the folder around it if it was the last."""
    if folder is not None and folder.exists():
        shutil.rmtree(folder)
        if not any(folder.parent.iterdir()):
            folder.parent.rmdir()


def _since(begin: float) -> float:
    return round(time.perf_counter() - begin, 3)


def _kept(values: dict[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    return values if names is None else {name: values[name] for name in names if name in values}
