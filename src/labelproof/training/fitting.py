"""From a configuration and a data set to a trained encoder, head and decision rule."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from rich.console import Console

from labelproof import encoders
from labelproof.data import Dataset
from labelproof.decisions import Rule
from labelproof.encoders import Encoder
from labelproof.foundation.figures import can_draw
from labelproof.foundation.writing import write_text
from labelproof.training.batches import Examples
from labelproof.training.callbacks import Row
from labelproof.training.choices import build_loss, build_rule, learns_from_data
from labelproof.training.config import EncoderConfig, TrainConfig
from labelproof.training.config_files import read_config
from labelproof.training.cross_fitting import fit_by_folds
from labelproof.training.curves import plot_history
from labelproof.training.data_parts import Parts, divide, inputs_of, without_validation
from labelproof.training.fitted import Fitted
from labelproof.training.heads import LinearHead, build_head, resolve_head
from labelproof.training.lbfgs import solve_lbfgs
from labelproof.training.loop import CHECKPOINT, train
from labelproof.training.module import TrainingModule
from labelproof.training.predictability import TrainingSets, entering_domain, lower_thresholds, training_sets
from labelproof.training.recipe.fitting import fit_recipe
from labelproof.training.scoring import MOST_SCORES, batch_logits, metrics_of, spread_rows
from labelproof.training.svm import solve

__all__ = ["CONFIG", "CURVES", "Fitted", "build_module", "fit"]

CONFIG = "config.yaml"
CURVES = "learning_curve.png"
_ABSENT = object()  # an option that is not given, which None would be
MAY_CHANGE = (
    *(f"trainer.{name}" for name in ("epochs", "patience", "tensorboard")),
    *(f"trainer.{name}" for name in ("devices", "num_nodes", "strategy", "accelerator")),
    "head.budget",
)


def fit(
    config: TrainConfig,
    dataset: Dataset,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fitted:
    """Train a model.

    Parameters
    ----------
    config
        What to train and how.
    dataset
        Examples with labels; see `labelproof.training.data_parts.divide` for its parts.
    out
        Folder for the checkpoint, the history, its picture and the configuration; None writes nothing.
    resume
        Go on from the checkpoint in ``out``, if there is one: the result is that of a run without interruption.
    progress
        Draw a progress bar on standard error.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    >>> data = Dataset(X[:, :4] > 0.5, ("a", "b", "c", "d"), features=X)
    >>> config = TrainConfig.from_dict({"head": {"kind": "bottleneck", "d": 4}, "trainer": {"epochs": 2}})
    >>> fitted = fit(config, data, progress=False)
    >>> len(fitted.history), fitted.head.weight.shape
    (2, torch.Size([4, 4]))
    """
    folder = None if out is None else Path(out)
    _require_one_device_without_batches(config)
    if config.head.kind == "auto":
        return _fit_by_recipe(config, dataset, folder, resume=resume, progress=progress)
    config = _with_encoder_for(config, dataset)
    if config.data.folds is not None:
        found = fit_by_folds(config, dataset, lambda one, part: fit(one, part, progress=progress))
        if folder is not None:
            _write_config(folder, config)
        return found
    if folder is not None and (folder / CHECKPOINT).exists():
        _require_same_run(folder, config, resume=resume)
    parts = divide(dataset, config.data, seed=config.trainer.seed)
    needs_held_out = learns_from_data(config.decision.kind, config.decision.options)
    if needs_held_out and (parts.validation is None or not len(parts.validation)):
        raise ValueError(
            f"decision {config.decision.kind!r} is fitted on held-out data: data.validation must be positive, "
            "or the decision be fixed, top-k or expected-f"
        )
    if folder is not None:
        _write_config(folder, config)
    with torch.random.fork_rng():
        torch.manual_seed(config.trainer.seed)
        module, config = build_module(config, parts.training, progress=progress)
        examples = _examples(module.encoder, parts, config.encoder.kind)
        config, history = _train(config, module, examples, folder=folder, resume=resume, progress=progress)
    module.eval()
    rule = _new_rule(config, parts.training)
    if needs_held_out:
        _fit_rule(rule, module, examples["validation"])
    known = training_sets(parts.training.labels)
    rules, notes = _predictable_rules(config, module.encoder, module.head, known, {"": rule})
    if folder is not None and config.head.kind != "svm" and can_draw():
        plot_history(history, folder / CURVES, monitor=config.trainer.monitor)
    return Fitted(
        module.encoder,
        module.head,
        parts.training.label_names,
        rules[""],
        config,
        history,
        _evaluate(module, examples, rules[""]),
        notes=notes,
        training_sets=known,
    )


def _with_encoder_for(config: TrainConfig, dataset: Dataset) -> TrainConfig:
    """Return the configuration with an encoder of texts, where the data have nothing else and none is named."""
    if "kind" in config.encoder.model_fields_set or dataset.features is not None or dataset.texts is None:
        return config
    return config.model_copy(update={"encoder": EncoderConfig(kind="tfidf", **config.encoder.options)})


def _require_one_device_without_batches(config: TrainConfig) -> None:
    """Refuse several devices for what is not trained by batches in one run, and so cannot be shared among them."""
    if config.trainer.engine != "local" and config.head.kind != "svm":
        raise ValueError(f"trainer.engine 'ray' goes with head.kind svm only, got {config.head.kind}")
    n_devices = config.trainer.devices * config.trainer.num_nodes
    without = {
        f"head.kind {config.head.kind}": config.head.kind in ("auto", "svm"),
        "trainer.optimizer lbfgs": config.trainer.optimizer == "lbfgs",
        "data.folds": config.data.folds is not None,
    }
    for what, is_so in without.items():
        if is_so and n_devices > 1:
            raise ValueError(f"trainer.devices and trainer.num_nodes must be 1 with {what}, got {n_devices} devices")


def _predictable_rules(
    config: TrainConfig, encoder: Encoder, head: Any, known: TrainingSets, rules: dict[str, Rule]
) -> tuple[dict[str, Rule], list[str]]:
    """Return the rules with thresholds under which the share that is asked for can be predicted, and what was done."""
    share, notes = config.decision.require_predictable, []
    if share is None:
        return rules, []
    weight, bias = (None if part is None else part.detach().cpu().double().numpy() for part in (head.weight, head.bias))
    moved = {}
    for name, rule in rules.items():
        domain = entering_domain(encoder, head)
        moved[name], found = lower_thresholds(weight, bias, rule, domain, known.sets, share)
        what = f"Thresholds{f' for {name}' if name else ''}"
        if found.share < share:
            notes.append(
                f"{what} were found under which {found.in_percent} of {known} can be predicted, not {100 * share:g} %."
            )
        elif moved[name] is not rule:
            notes.append(f"{what} were moved, so that {found.in_percent} of {known} can be predicted.")
    return moved, notes


def _fit_by_recipe(
    config: TrainConfig, dataset: Dataset, folder: Path | None, *, resume: bool, progress: bool
) -> Fitted:
    """Let the recipe choose; the parts of training and validation are one, from which its folds are made."""
    if folder is not None and (folder / CONFIG).exists():
        _require_same_run(folder, config, resume=resume)
    seed = config.trainer.seed
    parts = divide(without_validation(dataset), config.data.model_copy(update={"validation": 0.0}), seed=seed)
    if folder is not None:
        _write_config(folder, config)
    say = Console(stderr=True, highlight=False, markup=False, emoji=False, quiet=not progress).print
    metric = config.head.metric or "micro-f1"
    found = fit_recipe(
        parts.training,
        metric=metric,
        budget=config.head.budget,
        seed=seed,
        times=None if config.data.time is None else parts.training.times,
        folder=None if folder is None else folder / "recipe",
        say=say,
    )
    known = training_sets(parts.training.labels)
    rules, notes = _predictable_rules(config, found.encoder, found.head, known, found.rules)
    metrics: dict[str, dict[str, Any]] = {
        "sizes": {"training": len(parts.training)},
        "validation": {name: value if math.isfinite(value) else None for name, value in found.metrics.items()},
    }
    if parts.test is not None and len(parts.test):
        prepared = found.encoder.prepare(inputs_of(parts.test, found.encoder.input_kind))
        logits = batch_logits(found.encoder, found.head, prepared)
        metrics["sizes"]["test"] = len(parts.test)
        metrics["test"] = metrics_of(parts.test.labels, logits, rules[metric])
    return Fitted(
        found.encoder,
        found.head,
        parts.training.label_names,
        rules[metric],
        config,
        [],
        metrics,
        rules,
        found.table,
        [*found.notes, *notes],
        known,
    )


def build_module(
    config: TrainConfig, training: Dataset, *, progress: bool = False
) -> tuple[TrainingModule, TrainConfig]:
    """Return what a configuration means for training data, with weights from torch's generator.

    Returns
    -------
    module, config
        The untrained module, and the configuration with what was taken from the data filled in.
    """
    kind = config.encoder.kind
    encoder = encoders.build(kind, inputs_of(training, kind), **config.encoder.options)
    encoder.show_progress = progress
    config = config.model_copy(update={"head": resolve_head(config.head, training.labels, encoder.width)})
    head = build_head(config.head, encoder.width, training.n_labels, training.labels)
    loss = build_loss(config.loss.kind, config.loss.options, n_labels=training.n_labels)
    rule = _new_rule(config, training)
    return TrainingModule(encoder, head, loss, rule, config.trainer, training.n_labels), config


def _train(
    config: TrainConfig,
    module: TrainingModule,
    examples: dict[str, Examples],
    *,
    folder: Path | None,
    resume: bool,
    progress: bool,
) -> tuple[TrainConfig, list[Row]]:
    """Train the module by the solver or the batches that the configuration asks for; return it with what was chosen."""
    training, validation = examples["training"], examples.get("validation")
    if config.head.kind == "svm":
        return _solve(config, module, examples, progress=progress)
    if config.trainer.optimizer == "lbfgs":
        return config, solve_lbfgs(module.encoder, module.head, module.loss, training, config.trainer)
    how: dict[str, Any] = {"folder": folder, "resume": resume, "progress": progress}
    return config, train(module, training, validation, config.trainer, **how)


def _solve(
    config: TrainConfig, module: TrainingModule, examples: dict[str, Examples], *, progress: bool
) -> tuple[TrainConfig, list[Row]]:
    """Solve the head; return the configuration with its C, and the history."""
    head = module.head
    if not isinstance(head, LinearHead):
        raise TypeError(f"head must be linear, got {type(head).__name__}")
    validation = examples.get("validation")
    how: dict[str, Any] = {"engine": config.trainer.engine, "progress": progress}
    cost, row = solve(module.encoder, head, examples["training"], validation, config.head.C, **how)
    return config.model_copy(update={"head": config.head.model_copy(update={"C": cost})}), [row]


def _new_rule(config: TrainConfig, training: Dataset) -> Rule:
    cardinality = float(training.labels.nnz / len(training))
    return build_rule(config.decision.kind, config.decision.options, cardinality=cardinality)


def _examples(encoder: Encoder, parts: Parts, kind: str) -> dict[str, Examples]:
    found = {"training": parts.training, "validation": parts.validation, "test": parts.test}
    return {
        name: Examples(encoder, encoder.prepare(inputs_of(part, kind)), part.labels)
        for name, part in found.items()
        if part is not None and len(part)
    }


def _evaluate(module: TrainingModule, examples: dict[str, Examples], rule: Rule) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {"sizes": {name: len(part) for name, part in examples.items()}}
    for name in ("validation", "test"):
        if name in examples:
            part = examples[name]
            found[name] = metrics_of(part.labels, batch_logits(module.encoder, module.head, part.prepared), rule)
    return found


def _fit_rule(rule: Rule, module: TrainingModule, examples: Examples) -> None:
    """Fit the decision rule to held-out examples, as many as give 10⁸ logits at most."""
    rows = spread_rows(len(examples), module.n_labels, MOST_SCORES)
    blocks = batch_logits(module.encoder, module.head, examples.prepared, rows=rows)
    rule.fit(examples.labels[rows], np.concatenate(list(blocks)))


def _require_same_run(folder: Path, config: TrainConfig, *, resume: bool) -> None:
    """Refuse a folder that holds another run, or one that is not to be resumed."""
    if not resume:
        raise ValueError(f"{folder} holds a run already: resume it, or give another folder (resume=)")
    ours, theirs = config.to_dict(), read_config(folder / CONFIG).to_dict()
    for section in ours:
        for name in sorted({*ours[section], *theirs[section]}):
            free = f"{section}.{name}" in MAY_CHANGE
            if not free and ours[section].get(name, _ABSENT) != theirs[section].get(name, _ABSENT):
                raise ValueError(
                    f"{folder} holds a run with another {section}.{name}: it can only be resumed unchanged"
                )


def _write_config(folder: Path, config: TrainConfig) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(config.to_dict(), sort_keys=False, allow_unicode=True)
    write_text(folder / CONFIG, text)
