"""Several devices share a batch: the result is that of one device, on one machine or on several."""

import csv
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from labelproof.cli import app
from labelproof.models import load_model

CONFIG = """\
data: {path: data.npz, validation: 0.2}
head: {kind: bottleneck, d: 4}
loss: {kind: LOSS}
decision: {kind: global}
trainer: {epochs: 3, batch_size: 16, accelerator: cpu, strategy: ddp}
"""
COMMAND = [sys.executable, "-m", "labelproof", "train", "config.yaml"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    X = np.random.default_rng(0).normal(size=(80, 12)).astype(np.float32)
    np.savez("data.npz", X=X, Y=X[:, :5] > 0.5)
    return X


def on_two_devices():
    words = [*COMMAND, "trainer.devices=2", "-o", "two"]
    return [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)]  # noqa: S603


def on_two_machines():
    """Give the command once for each machine, as docs/training.md says; both are this one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = [*COMMAND, "trainer.num_nodes=2", "-o", "two"]
    told = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [
        subprocess.Popen(  # noqa: S603
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**told, "NODE_RANK": rank}
        )
        for rank in ("0", "1")
    ]


def history(folder):
    with open(Path(folder) / "history.csv", newline="") as stream:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]


@pytest.mark.slow  # losses and heads have quicker ones
@pytest.mark.parametrize(  # a mean over examples, and one of the counts of a batch
    ("loss", "start"), [("bce", on_two_devices), ("sigmoid-f1", on_two_machines)]
)
def test_two_processes_train_the_model_of_one(here, loss, start):
    Path("config.yaml").write_text(CONFIG.replace("LOSS", loss))
    processes = start()
    said = [process.communicate(timeout=400) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), said
    assert sum(out.count("Written to") for out, _ in said) == 1  # one of them reports
    assert not any("Warning" in err for _, err in said)
    one = ["train", "config.yaml", "trainer.strategy=auto", "-o", "one"]
    assert CliRunner().invoke(app, one).exit_code == 0
    assert np.allclose(load_model("one").logits(here), load_model("two").logits(here), atol=1e-5)
    for row, other in zip(history("one"), history("two"), strict=True):
        for name in ("train loss", "loss", "micro-f1"):
            assert row[name] == pytest.approx(other[name], abs=1e-5), name


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["head.kind=auto"], "head.kind auto"),
        (["head.kind=svm"], "head.kind svm"),
        (["head.kind=linear", "trainer.optimizer=lbfgs"], "trainer.optimizer lbfgs"),
        (["head.kind=linear", "data.folds=2"], "data.folds"),
    ],
)
def test_what_is_not_trained_by_batches_is_refused_on_several_devices(here, words, what):
    Path("config.yaml").write_text("data: {path: data.npz}\n")
    result = CliRunner().invoke(app, ["train", "config.yaml", "trainer.num_nodes=2", *words, "-o", "run"])
    assert result.exit_code == 2
    assert f"trainer.devices and trainer.num_nodes must be 1 with {what}, got 2 devices" in result.stderr
    assert not Path("run").exists()
