"""labelproof compile leaves nothing to be compiled by a first call, and names what it left out."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from labelproof.cli import app, first_calls
from labelproof.foundation import compilation

pytestmark = pytest.mark.xdist_group("compile")  # what they share is made once, not in each worker

TYPICAL = """
import sys
import numpy as np
import torch
from numba.core import event
import labelproof as lp
from labelproof import decisions, losses, metrics, simplex

compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(str(event.data.get("dispatcher")))

    def on_end(self, event):
        pass

rng = np.random.default_rng(1)
weight = rng.standard_normal((40, 5))
labels = rng.standard_normal((30, 5)) @ weight.T > 0.5
with event.install_listener("numba:compile", Listener()):
    lp.verify(weight, labels)
    lp.verify(weight.astype(np.float32), labels, bias=np.ones(40), domain="nonnegative", ties="inactive")
    lp.verify(weight, labels[:2] * np.eye(40, dtype=bool)[:2], bias=np.ones(40), rule="sparsemax")
    for kind in (np.float32, np.float64):
        scores = rng.random((30, 40)).astype(kind)
        metrics.f1_score(labels, scores > 0.5, average="macro")
        metrics.roc_auc_score(labels, scores, average="macro")
        metrics.f1_at_k(labels, scores, k=3)
        for rule in (decisions.Threshold(), decisions.TopK(3), decisions.LabelCount()):
            rule.fit(labels, scores).decide(scores)
        simplex.sparsemax(scores)
        lp.sparsemax(torch.from_numpy(scores).requires_grad_()).max().backward()
    for loss in (losses.SigmoidF1Loss(), losses.BinaryCrossEntropyLoss(), losses.EntmaxLoss()):
        loss(torch.randn(30, 40, requires_grad=True), torch.from_numpy(labels).float()).backward()
print(len(compiled), *compiled)
"""


def python(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)  # noqa: S603


@pytest.fixture(scope="module")
def compiled_ahead():
    done = python("-m", "labelproof", "compile", "--json")
    return done.returncode, json.loads(done.stdout)


def test_every_kernel_of_the_package_is_compiled(compiled_ahead):
    code, found = compiled_ahead
    assert (code, found["not_compiled"], found["skipped"]) == (0, [], {})
    assert set(found["seconds"]) == set(first_calls.CALLS)


def test_the_search_is_compiled_once(compiled_ahead):
    versions = compiled_ahead[1]["versions"]
    search = {name: number for name, number in versions.items() if name.startswith("labelproof.search.")}
    assert set(search.values()) == {1}


def test_nothing_is_left_for_a_first_call(compiled_ahead):
    done = python("-c", TYPICAL)
    assert done.stdout == "0\n", done.stderr


@pytest.fixture
def one_kernel(monkeypatch):
    def fill():
        pass

    fill.__module__ = "labelproof.losses.kernels"
    kernel = SimpleNamespace(py_func=fill, signatures=[])
    monkeypatch.setattr(compilation, "KERNELS", [kernel])
    monkeypatch.setattr(first_calls, "import_kernels", dict)
    return kernel


def test_a_forgotten_kernel_is_a_failure(one_kernel, monkeypatch):
    monkeypatch.setattr(first_calls, "CALLS", {"losses": lambda: None})
    done = CliRunner().invoke(app, ["compile", "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["not_compiled"] == ["labelproof.losses.kernels.fill"]


def test_a_room_without_its_package_is_skipped_and_named(one_kernel, monkeypatch):
    def without_torch():
        raise ImportError("No module named 'torch'")

    monkeypatch.setattr(first_calls, "CALLS", {"losses": without_torch, "metrics": lambda: None})
    assert "skipped losses: No module named 'torch'" in CliRunner().invoke(app, ["compile"]).stdout
    done = CliRunner().invoke(app, ["compile", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["skipped"] == {"losses": "No module named 'torch'"}


def test_all_modules_with_kernels_are_found():
    assert {"labelproof.search.block_kernels", "labelproof.metrics.label_matrix_kernels"} <= set(
        first_calls.kernel_modules()
    )
