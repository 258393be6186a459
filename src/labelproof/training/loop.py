"""One training run in Lightning: early stopping, best weights, checkpoints, resuming."""

import logging
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import EarlyStopping, RichProgressBar

from labelproof.foundation.optional_packages import need
from labelproof.metrics import by_name
from labelproof.training.batches import Batches, Examples
from labelproof.training.callbacks import BestWeights, History, LastCheckpoint, Row, read_checkpoint
from labelproof.training.config import TrainerConfig
from labelproof.training.module import TrainingModule

__all__ = ["CHECKPOINT", "DivergedError", "train"]

CHECKPOINT = "last.ckpt"
_HISTORY = "history.csv"


class DivergedError(ValueError):
    """Training ended with weights that are no finite numbers."""


def train(
    module: TrainingModule,
    training: Examples,
    validation: Examples | None,
    config: TrainerConfig,
    *,
    folder: Path | None = None,
    resume: bool = False,
    progress: bool = False,
) -> list[Row]:
    """Train a module, which then has the weights of its best epoch.

    Parameters
    ----------
    module
        Encoder, head and loss.
    training, validation
        Examples. Without any for validation nothing stops early, and the last epoch is the best.
    config
        Epochs, batches, patience and so on.
    folder
        For the checkpoint and the history; None writes nothing.
    resume
        Go on from the checkpoint in the folder, if there is one.
    progress
        Draw a progress bar on standard error.

    Returns
    -------
    list of dict
        The values of each epoch.
    """
    greater = config.monitor != "loss" and by_name(config.monitor).greater_is_better
    history = History(None if folder is None else folder / _HISTORY)
    best = BestWeights(config.monitor, greater_is_better=greater) if validation is not None else None
    callbacks: list[Callback] = [RichProgressBar(console_kwargs={"stderr": True})] if progress else []
    if best is not None:
        callbacks.append(best)
        if config.patience is not None:
            early = EarlyStopping(
                config.monitor,
                patience=config.patience,
                mode="max" if greater else "min",
                check_finite=config.monitor == "loss",  # a metric may be undefined in one epoch and not in the next
                check_on_train_epoch_end=False,  # but after validation, so that the checkpoint knows of it
            )
            callbacks.append(early)
    callbacks.append(history)
    checkpoint = None if folder is None else folder / CHECKPOINT
    data = training.fingerprint()
    if checkpoint is not None:
        callbacks.append(LastCheckpoint(checkpoint, data))
    start = checkpoint if resume and checkpoint is not None and checkpoint.exists() else None
    if start is None or not _is_finished(start, module, history, best, config.epochs, data):
        _run(module, training, validation, config, callbacks, folder=folder, start=start, progress=progress)
    if best is not None and best.weights:
        module.load_state_dict(best.weights)
    _require_numbers(module, best)
    return history.rows


def _run(
    module: TrainingModule,
    training: Examples,
    validation: Examples | None,
    config: TrainerConfig,
    callbacks: list[Callback],
    *,
    folder: Path | None,
    start: Path | None,
    progress: bool,
) -> None:
    with _quiet(), _in_our_words():
        trainer = Trainer(
            accelerator=config.accelerator,
            devices=config.devices,
            num_nodes=config.num_nodes,
            strategy=config.strategy,
            precision={"32": "32-true", "64": "64-true"}.get(config.precision, config.precision),  # type: ignore[arg-type]
            max_epochs=config.epochs,
            accumulate_grad_batches=config.accumulate,
            gradient_clip_val=config.clip,
            callbacks=callbacks,
            logger=_logger(config, folder),
            enable_checkpointing=False,
            enable_progress_bar=progress,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            limit_val_batches=0 if validation is None else None,
            use_distributed_sampler=False,
            default_root_dir=None if folder is None else str(folder),
        )
        batches = Batches(training, validation, config.batch_size, seed=config.seed)
        module.train()  # Lightning leaves parts as they come, and pretrained models come in evaluation mode
        try:
            trainer.fit(module, datamodule=batches, ckpt_path=start, weights_only=True if start else None)
        finally:
            module.trainer = None  # so that the module can be copied and pickled
        if not trainer.is_global_zero:
            sys.exit(0)  # other devices run the same script: what follows is for one of them alone


def _is_finished(
    checkpoint: Path, module: TrainingModule, history: History, best: BestWeights | None, epochs: int, data: str
) -> bool:
    """Take over a run that had come to its end, by patience or by its number of epochs; refuse one on other data."""
    content = read_checkpoint(checkpoint)
    states = content["callbacks"]
    try:
        module.load_state_dict(content["state_dict"])
        same = states[LastCheckpoint.__name__]["data"] == data
    except (RuntimeError, KeyError):  # weights of other sizes
        same = False
    if not same:
        raise ValueError(f"{checkpoint.parent} holds a run on other data: it can only be resumed unchanged")
    past: dict[str, Any] = states[history.state_key]
    if not past["finished"] or (past["rows"][-1]["epoch"] < epochs and not _stopped_early(states)):
        return False
    history.load_state_dict(past)
    if best is not None:
        best.load_state_dict(states[best.state_key])
    return True


def _stopped_early(states: dict[str, Any]) -> bool:
    return any(state.get("stopped_epoch", 0) > 0 for state in states.values())


def _require_numbers(module: TrainingModule, best: BestWeights | None) -> None:
    """Refuse a model that has learned nothing that can be used."""
    if not all(bool(parameter.isfinite().all()) for parameter in module.parameters()):
        raise DivergedError("training diverged: weights are no finite numbers any more; a smaller trainer.lr may help")
    if best is not None and not best.weights:
        raise ValueError(f"trainer.monitor must be a number in some epoch, got NaN for {best.monitor} in all of them")


def _logger(config: TrainerConfig, folder: Path | None) -> Any:
    if not config.tensorboard or folder is None:
        return False
    if find_spec("tensorboardX") is None:
        need("tensorboard", "trainer.tensorboard")
    from lightning.pytorch.loggers import TensorBoardLogger

    return TensorBoardLogger(str(folder), name="tensorboard", version="")


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Turn a device that is not there into a ValueError, and what Lightning makes of Ctrl-C back into what it was."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except MisconfigurationException as error:
        raise ValueError(f"trainer: {error}") from error
    except SystemExit as error:
        if error.code != 1:  # another device has done its part
            raise
        signal.signal(signal.SIGINT, handler)  # Lightning has set it to be ignored
        raise KeyboardInterrupt from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Lightning's advice to itself: on devices, workers and logging intervals, which are chosen here."""
    names = ("lightning.pytorch", "lightning.fabric")
    levels = {name: logging.getLogger(name).level for name in names}
    threads = torch.get_num_threads()
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.WARNING)
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message=".*isinstance.treespec, LeafSpec.*"
            )  # Lightning 2.6 on torch 2.13
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            warnings.filterwarnings("ignore", message=".*in eval mode at the start of training.*")  # frozen parts
            warnings.filterwarnings("ignore", message=".*sync_dist=True.*")  # all devices have the same values
            warnings.filterwarnings("ignore", message=".*is smaller than the logging interval.*")
            warnings.filterwarnings("ignore", message=".*is not set, and a value will be inferred.*")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        torch.set_num_threads(threads)
