"""A run that is interrupted, at any moment, ends as one that is not."""

# ruff: noqa: F401 - fixtures are imported, and tests take them by their names

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from training_data import one_thread

from labelproof.data import Dataset
from labelproof.training import TrainConfig, fit
from labelproof.training.callbacks import LastCheckpoint, is_better, read_checkpoint
from labelproof.training.loop import CHECKPOINT

CONFIG = {
    "encoder": {"kind": "features", "hidden": 12, "dropout": 0.2},
    "head": {"slack": 4},
    "loss": {"kind": "sigmoid-f1", "learn": ["beta"], "empty": "memory"},
    "trainer": {"epochs": 6, "batch_size": 16, "schedule": "cosine", "accelerator": "cpu", "accumulate": 2},
}


def data():
    X = np.random.default_rng(0).normal(size=(100, 24)).astype(np.float32)
    return Dataset(X[:, :8] > 0.8, tuple("abcdefgh"), features=X)


def result(fitted):
    parts = torch.nn.ModuleDict({"encoder": fitted.encoder, "head": fitted.head})
    return {**parts.state_dict(), "thresholds": torch.from_numpy(fitted.rule.thresholds_)}


def assert_same(one, other):
    first, second = result(one), result(other)
    assert all(torch.equal(first[name], second[name]) for name in first)
    columns = ("epoch", "train loss", "loss", "micro-f1")
    assert [[row[c] for c in columns] for row in one.history] == [[row[c] for c in columns] for row in other.history]


class Interruption(Exception):  # noqa: N818 - no error
    """What ends a run in these tests."""


def interrupt(monkeypatch, step):
    """Let training fail at this batch."""
    from labelproof.losses import SigmoidF1Loss

    calls, forward = [], SigmoidF1Loss.forward

    def failing(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == step:
            raise Interruption
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(SigmoidF1Loss, "forward", failing)


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import torch
torch.set_num_threads(1)
from test_resuming import CONFIG, data
from labelproof.losses import SigmoidF1Loss
from labelproof.training import TrainConfig, fit
calls, forward = [], SigmoidF1Loss.forward
def killing(self, *args, **kwargs):
    calls.append(1)
    if len(calls) == 24:  # in the fourth epoch, of 6 batches and 1 of validation each
        os.kill(os.getpid(), signal.SIGKILL)
    return forward(self, *args, **kwargs)
SigmoidF1Loss.forward = killing
fit(TrainConfig.from_dict(CONFIG), data(), out={out!r}, progress=False)
"""


def test_a_killed_process_is_resumed_to_the_same_weights(tmp_path):
    code = KILLED.format(tests=str(Path(__file__).parent), out=str(tmp_path))
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    config = TrainConfig.from_dict(CONFIG)
    assert len(read_checkpoint(tmp_path / CHECKPOINT)["callbacks"]["History"]["rows"]) == 3
    resumed = fit(config, data(), out=tmp_path, resume=True, progress=False)
    assert_same(resumed, fit(config, data(), progress=False))


@pytest.mark.parametrize("step", [3, 7, 8, 20, 41])
def test_an_interruption_at_any_step_changes_nothing(step, tmp_path, monkeypatch):
    config = TrainConfig.from_dict(CONFIG)
    with monkeypatch.context() as patch:
        interrupt(patch, step)
        with pytest.raises(Interruption):
            fit(config, data(), out=tmp_path, progress=False)
    resumed = fit(config, data(), out=tmp_path, resume=True, progress=False)
    assert_same(resumed, fit(config, data(), progress=False))


def test_a_run_that_stopped_early_stays_stopped(tmp_path):
    values = {**CONFIG, "trainer": {**CONFIG["trainer"], "epochs": 30, "patience": 1, "lr": 0.1}}
    config = TrainConfig.from_dict(values)
    first = fit(config, data(), out=tmp_path, progress=False)
    assert len(first.history) < 30
    assert_same(fit(config, data(), out=tmp_path, resume=True, progress=False), first)


def test_a_finished_run_can_be_given_more_epochs(tmp_path):
    values = {**CONFIG, "trainer": {**CONFIG["trainer"], "schedule": "constant", "patience": None}}
    longer = TrainConfig.from_dict({**values, "trainer": {**values["trainer"], "epochs": 8}})
    fit(TrainConfig.from_dict(values), data(), out=tmp_path, progress=False)
    assert_same(fit(longer, data(), out=tmp_path, resume=True, progress=False), fit(longer, data(), progress=False))


def test_resuming_without_a_checkpoint_starts(tmp_path):
    config = TrainConfig.from_dict(CONFIG)
    assert_same(fit(config, data(), out=tmp_path, resume=True, progress=False), fit(config, data(), progress=False))


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(tmp_path):
    class Trainer:
        is_global_zero = True

        def save_checkpoint(self, path):
            path.write_bytes(b"half")
            raise OSError("no space left on device")

    (tmp_path / CHECKPOINT).write_bytes(b"whole")
    with pytest.raises(OSError, match="no space left"):
        LastCheckpoint(tmp_path / CHECKPOINT).on_train_epoch_end(Trainer(), None)
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    assert (tmp_path / CHECKPOINT).read_bytes() == b"whole"


def test_a_value_that_is_no_number_is_never_better():
    assert not is_better(float("nan"), 1.0, greater_is_better=True)
    assert not is_better(float("nan"), float("nan"), greater_is_better=True)
    assert is_better(2.0, 1.0, greater_is_better=True)
