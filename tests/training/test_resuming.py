"""A run that is interrupted, at any moment, ends as one that is not."""

# ruff: noqa: F401 - fixtures are imported, and tests take them by their names

import errno
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from training_data import one_thread

from labelproof.data import Dataset
from labelproof.errors import DataFormatError, ModelFormatError
from labelproof.training import TrainConfig, fit
from labelproof.training.callbacks import LastCheckpoint, is_better, read_checkpoint
from labelproof.training.fitting import CONFIG as CONFIG_FILE
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
    assert len(read_checkpoint(tmp_path / CHECKPOINT)["callbacks"]["History"]["rows"]) in (1, 2, 3)
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
        strategy = SimpleNamespace(broadcast=lambda due: due)

        def save_checkpoint(self, path):
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "no space left on device")

    (tmp_path / CHECKPOINT).write_bytes(b"whole")
    with pytest.raises(OSError, match=r"last\.ckpt cannot be written: no space left"):
        LastCheckpoint(tmp_path / CHECKPOINT, "data").on_train_epoch_end(Trainer(), None)
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    assert (tmp_path / CHECKPOINT).read_bytes() == b"whole"


def test_short_epochs_do_not_wait_for_the_disk_and_the_last_one_is_written(tmp_path, monkeypatch):
    written = []

    class Trainer:
        is_global_zero, should_stop, max_epochs = True, False, 50
        strategy = SimpleNamespace(broadcast=lambda due: due)

        def save_checkpoint(self, path):
            written.append(self.current_epoch)
            path.write_bytes(b"whole")
            clock[0] += 1.0  # a writing takes a second, and an epoch as well

    clock, trainer, checkpoint = [0.0], Trainer(), LastCheckpoint(tmp_path / CHECKPOINT, "data")
    monkeypatch.setattr("labelproof.training.callbacks.time.perf_counter", lambda: clock[0])
    for epoch in range(50):
        clock[0] += 1.0
        trainer.current_epoch = epoch
        checkpoint.on_train_epoch_end(trainer, None)
    assert written == [0, 20, 40, 49]


def test_a_value_that_is_no_number_is_never_better():
    assert not is_better(float("nan"), 1.0, greater_is_better=True)
    assert not is_better(float("nan"), float("nan"), greater_is_better=True)
    assert is_better(2.0, 1.0, greater_is_better=True)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of one epoch."""
    folder = tmp_path_factory.mktemp("finished")
    fit(config_of(epochs=1), data(), out=folder, progress=False)
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A copy of it, to be spoilt."""
    return shutil.copytree(finished, tmp_path / "run")


def config_of(**trainer):
    return TrainConfig.from_dict({**CONFIG, "trainer": {**CONFIG["trainer"], **trainer}})


@pytest.mark.parametrize("epochs", [1, 2])  # a run that had come to its end, and one that goes on
@pytest.mark.parametrize("change", ["fewer labels", "other labels", "fewer features"])
def test_a_run_is_not_resumed_on_other_data(run, change, epochs):
    other = {
        "fewer labels": data().restrict_to(tuple("abcdefg"), unknown="drop"),
        "other labels": data().with_labels(data().labels[::-1]),
        "fewer features": replace(data(), features=data().features[:, 1:]),
    }[change]
    with pytest.raises(ValueError, match="holds a run on other data: it can only be resumed unchanged"):
        fit(config_of(epochs=epochs), other, out=run, resume=True, progress=False)


@pytest.mark.parametrize("spoil", [lambda whole: whole[:-100], lambda _: b"", lambda _: b"\x80\x04K\x01."])
def test_a_damaged_checkpoint_is_refused(run, spoil):
    (run / CHECKPOINT).write_bytes(spoil((run / CHECKPOINT).read_bytes()))
    with pytest.raises(ModelFormatError, match=r"last\.ckpt: expected the checkpoint of a run, got a damaged file"):
        fit(config_of(), data(), out=run, resume=True, progress=False)


def test_a_file_that_is_no_checkpoint_is_refused(run):
    for content in ({"state_dict": {}}, [1]):
        torch.save(content, run / CHECKPOINT)
        with pytest.raises(ModelFormatError, match=r"last\.ckpt: expected the checkpoint of a run, got another file"):
            fit(config_of(), data(), out=run, resume=True, progress=False)


@pytest.mark.parametrize("content", ["[1]", "data: 3", "[:"])
def test_a_damaged_configuration_of_a_run_is_refused(run, content):
    (run / CONFIG_FILE).write_text(content)
    with pytest.raises(DataFormatError, match=r"config\.yaml"):
        fit(config_of(), data(), out=run, resume=True, progress=False)


def test_a_none_is_told_from_the_default_when_a_run_is_resumed(run):
    stored = yaml.safe_load((run / CONFIG_FILE).read_text())
    stored["encoder"]["hidden"] = None
    (run / CONFIG_FILE).write_text(yaml.safe_dump(stored))
    values = {**CONFIG, "encoder": {"kind": "features", "dropout": 0.2}}
    with pytest.raises(ValueError, match=r"holds a run with another encoder\.hidden"):
        fit(TrainConfig.from_dict(values), data(), out=run, resume=True, progress=False)


def test_an_interruption_by_the_user_reaches_the_caller(tmp_path, monkeypatch):
    from labelproof.losses import SigmoidF1Loss

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(SigmoidF1Loss, "forward", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit(config_of(), data(), out=tmp_path, progress=False)
    assert signal.getsignal(signal.SIGINT) is before
