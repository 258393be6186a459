"""What happens after each epoch: its values are noted, the best weights are kept, and the run can be resumed from here.

The state of all of them goes into one checkpoint, so that a run that is killed at any moment goes on from the end of
the epoch that it was written after, as if nothing had happened. Files are written after an epoch only if this takes a
small share of the run's time, and always after the last one: short epochs would otherwise wait for the disk.
"""

import csv
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from labelproof.errors import ModelFormatError
from labelproof.foundation.writing import replacing_path, write_text

__all__ = ["BestWeights", "History", "LastCheckpoint", "Pace", "Row", "is_better", "read_checkpoint"]

Row = dict[str, float]
REST = 20.0  # times as long as the last writing took must pass before the next


class Pace:
    """When a file is written again: at once, and then so seldom that all writing takes a small share of the time.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.is_due()
    True
    >>> with pace.writing():
    ...     time.sleep(0.01)
    >>> pace.is_due()
    False
    """

    def __init__(self) -> None:
        self._cost, self._end = 0.0, -math.inf

    def is_due(self) -> bool:
        """Return whether enough time has passed."""
        return time.perf_counter() - self._end >= REST * self._cost

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Measure how long it takes."""
        begin = time.perf_counter()
        yield
        self._end = time.perf_counter()
        self._cost = self._end - begin


class History(Callback):
    """The values of every epoch, also as a CSV file.

    Parameters
    ----------
    path
        Of the file, which is written anew as epochs pass, and after the last; None writes none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.rows: list[Row] = []
        self.finished = False
        self._started = 0.0
        self._pace = Pace()

    def on_train_batch_start(self, _trainer: Trainer, _module: LightningModule, _batch: Any, index: int) -> None:
        """Start the clock."""
        if index == 0:
            self._started = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Add a row."""
        row: Row = {"epoch": trainer.current_epoch + 1, "train loss": pl_module.train_loss()}
        row |= {name: float(value) for name, value in trainer.callback_metrics.items()}
        row["seconds"] = round(time.perf_counter() - self._started, 3)
        self.rows.append(row)
        self.finished = _is_last_epoch(trainer)
        if self.path is not None and trainer.is_global_zero and (self.finished or self._pace.is_due()):
            with self._pace.writing():
                self._write(self.path)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        return {"rows": self.rows, "finished": self.finished}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.rows, self.finished = list(state_dict["rows"]), state_dict["finished"]

    def _write(self, path: Path) -> None:
        lines = StringIO(newline="")
        writer = csv.DictWriter(lines, list(self.rows[0]))
        writer.writeheader()
        writer.writerows(self.rows)
        write_text(path, lines.getvalue())


class BestWeights(Callback):
    """The weights of the epoch with the best value of a metric, kept in memory and in the checkpoint.

    Parameters
    ----------
    monitor
        Name of the value.
    greater_is_better
        Whether the largest is best.
    """

    def __init__(self, monitor: str, *, greater_is_better: bool) -> None:
        self.monitor, self.greater_is_better = monitor, greater_is_better
        self.value = math.nan
        self.weights: dict[str, Tensor] = {}

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keep the weights if they are the best so far."""
        value = float(trainer.callback_metrics[self.monitor])
        if not trainer.sanity_checking and is_better(value, self.value, greater_is_better=self.greater_is_better):
            self.value = value
            self.weights = {name: tensor.detach().cpu().clone() for name, tensor in pl_module.state_dict().items()}

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        return {"value": self.value, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.value, self.weights = state_dict["value"], state_dict["weights"]


class LastCheckpoint(Callback):
    """A checkpoint of a complete epoch, which takes the place of the one before in one step.

    Parameters
    ----------
    path
        Of the file.
    data
        What the training data are known by.
    """

    def __init__(self, path: Path, data: str) -> None:
        self.path, self.data = path, data
        self._pace = Pace()

    def on_train_epoch_end(self, trainer: Trainer, _module: LightningModule) -> None:
        """Write it if it is time; this callback must be the last, so that it sees what the others did."""
        if not trainer.strategy.broadcast(self._pace.is_due() or _is_last_epoch(trainer)):
            return
        if not trainer.is_global_zero:
            trainer.save_checkpoint(self.path)  # all devices take part, of which one writes
            return
        with self._pace.writing(), replacing_path(self.path) as draft:
            trainer.save_checkpoint(draft)

    def state_dict(self) -> dict[str, Any]:
        """Return what says whether a run goes on with the data that it was begun with."""
        return {"data": self.data}


def is_better(value: float, than: float, *, greater_is_better: bool) -> bool:
    """Return whether a value is better than another; any number is better than NaN.

    >>> is_better(1.0, float("nan"), greater_is_better=False), is_better(2.0, 1.0, greater_is_better=False)
    (True, False)
    """
    if math.isnan(value) or math.isnan(than):
        return math.isnan(than) and not math.isnan(value)
    return value > than if greater_is_better else value < than


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint; nothing in it is executed."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged file raises errors of many kinds
        raise ModelFormatError(f"{path}: expected the checkpoint of a run, got a damaged file") from error
    if not isinstance(content, dict) or not {"state_dict", "callbacks"} <= content.keys():
        raise ModelFormatError(f"{path}: expected the checkpoint of a run, got another file")
    return content


def _is_last_epoch(trainer: Trainer) -> bool:
    return trainer.should_stop or trainer.current_epoch + 1 == trainer.max_epochs
