"""Several devices share a batch: the result is that of one device."""

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
trainer: {epochs: 3, batch_size: 16, accelerator: cpu, strategy: ddp, devices: 2}
"""


@pytest.mark.parametrize("loss", ["bce", "sigmoid-f1"])  # a mean over examples, and one of the counts of a batch
def test_two_processes_train_the_model_of_one(tmp_path, monkeypatch, loss):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    X = np.random.default_rng(0).normal(size=(80, 12)).astype(np.float32)
    np.savez("data.npz", X=X, Y=X[:, :5] > 0.5)
    Path("config.yaml").write_text(CONFIG.replace("LOSS", loss))
    command = [sys.executable, "-m", "labelproof", "train", "config.yaml"]
    two = subprocess.run([*command, "-o", "two"], capture_output=True, text=True, check=True, timeout=400)  # noqa: S603
    assert two.stdout.count("Written to") == 1  # one of them reports
    assert "Warning" not in two.stderr
    one = ["train", "config.yaml", "trainer.devices=1", "trainer.strategy=auto", "-o", "one"]
    assert CliRunner().invoke(app, one).exit_code == 0
    assert np.allclose(load_model("one").logits(X), load_model("two").logits(X), atol=1e-5)
