"""Torch checkpoints: state dicts in all their wrappings, and what is no state dict."""

import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch
from torch import nn

from labelproof.errors import ModelFormatError
from labelproof.importers import read_layer


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)
        self.classifier = nn.Linear(4, 5)

    def forward(self, x):
        return self.classifier(self.body(x).relu())


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


def weight_of(net):
    return net.classifier.weight.detach().double().numpy()


@pytest.mark.parametrize("ending", [".pt", ".pth", ".bin", ".ckpt"])
def test_a_state_dict_is_read(tmp_path, net, ending):
    torch.save(net.state_dict(), tmp_path / f"m{ending}")
    layer = read_layer(tmp_path / f"m{ending}")
    np.testing.assert_array_equal(layer.weight, weight_of(net))
    np.testing.assert_array_equal(layer.bias, net.classifier.bias.detach().double().numpy())
    assert (layer.source, layer.kind) == (f"classifier.weight of m{ending}", "torch checkpoint")


def test_checkpoints_of_torch_before_zip_files_are_read(tmp_path, net):
    torch.save(net.state_dict(), tmp_path / "m.bin", _use_new_zipfile_serialization=False)
    np.testing.assert_array_equal(read_layer(tmp_path / "m.bin").weight, weight_of(net))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: {"state_dict": {f"model.{k}": v for k, v in state.items()}, "epoch": 3, "hyper_parameters": {}},
        lambda state: {"model_state_dict": state, "optimizer_state_dict": {"state": {0: {"m": torch.ones(2, 2)}}}},
        lambda state: {"model": state, "args": None},
        lambda state: {f"module.{k}": v for k, v in state.items()},
        lambda state: {f"_orig_mod.{k}": v for k, v in state.items()},
    ],
    ids=["Lightning", "loop", "model", "DataParallel", "compiled"],
)
def test_the_usual_wrappings_are_unpacked(tmp_path, net, wrap):
    torch.save(wrap(net.state_dict()), tmp_path / "m.ckpt")
    np.testing.assert_array_equal(read_layer(tmp_path / "m.ckpt").weight, weight_of(net))


def test_two_state_dicts_are_two_candidates(tmp_path, net):
    averaged = {key: value + 1 for key, value in net.state_dict().items()}
    torch.save({"model": net.state_dict(), "model_ema": averaged}, tmp_path / "m.pt")
    layer = read_layer(tmp_path / "m.pt", weight_key="model_ema.classifier")
    np.testing.assert_array_equal(layer.weight, averaged["classifier.weight"].double().numpy())
    with pytest.raises(ModelFormatError, match=r"^m.pt: expected one model, got model and model_ema .*weight_key="):
        read_layer(tmp_path / "m.pt")


def test_parts_of_one_model_are_put_together(tmp_path, net):
    parts = {"body": net.body.state_dict(), "classifier": net.classifier.state_dict()}
    torch.save(parts, tmp_path / "m.pt")
    layer = read_layer(tmp_path / "m.pt")
    np.testing.assert_array_equal(layer.weight, weight_of(net))
    assert layer.source == "classifier.weight of m.pt"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_a_tensor_alone_is_the_weight_exactly(tmp_path, dtype):
    weight = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    torch.save(weight, tmp_path / "m.pt")
    layer = read_layer(tmp_path / "m.pt")
    np.testing.assert_array_equal(layer.weight, weight.double().numpy())
    assert layer.dtype == str(dtype).removeprefix("torch.")


# What is not read


def test_pickled_modules_are_refused_with_the_safe_alternative(tmp_path, net):
    torch.save(net, tmp_path / "m.pt")
    with pytest.raises(ModelFormatError, match=r"^m.pt: expected tensors only, got pickled .*Net\), .*state_dict\(\)"):
        read_layer(tmp_path / "m.pt")


class Trap:
    def __reduce__(self):
        return (print, ("the trap was sprung",))


@pytest.mark.parametrize("legacy", [False, True])
def test_no_code_of_a_checkpoint_is_run(tmp_path, capsys, legacy):
    torch.save({"state_dict": Trap()}, tmp_path / "m.ckpt", _use_new_zipfile_serialization=not legacy)
    with pytest.raises(ModelFormatError, match=r"pickled Python objects .*, which are not read"):
        read_layer(tmp_path / "m.ckpt")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("ending", [".pkl", ".pickle", ".joblib"])
def test_a_pickle_is_refused_unread_with_the_safe_alternatives(tmp_path, capsys, ending):
    (tmp_path / f"m{ending}").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFormatError, match=r"got a pickle, .* skops.io.dump, .* safetensors, .* numpy.savez"):
        read_layer(tmp_path / f"m{ending}")
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*TorchScript:UserWarning")
def test_a_torchscript_program_is_refused(tmp_path):
    torch.jit.save(torch.jit.trace(nn.Linear(3, 2), torch.ones(1, 3)), tmp_path / "m.pt")
    with pytest.raises(ModelFormatError, match=r"^m.pt: expected a state dict, got a TorchScript program"):
        read_layer(tmp_path / "m.pt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([torch.ones(2, 2)], "expected a state dict, got list"),
        ({"epoch": 3, "best": 0.5}, "expected a state dict, got entries epoch, best"),
        ({}, "expected a state dict, got entries none"),
        ({"a": torch.ones(3)}, "expected a state dict, got entries a"),
        ({"classifier.weight": torch.ones(3, 2, dtype=torch.int64)}, "expected floating-point numbers, got int64"),
        ({"classifier.weight": torch.ones(3, 2).to_sparse()}, "expected floating-point numbers"),
        ({"classifier.weight": torch.tensor([[1.0, float("nan")]])}, "must be finite, got nan at label 0, feature 1"),
        (torch.ones(1, 1).expand(2**20, 2**20), "must take up at most"),
    ],
)
def test_what_is_no_state_dict_is_refused(tmp_path, content, message):
    torch.save(content, tmp_path / "m.pt")
    with pytest.raises(ModelFormatError, match=f"^m.pt: .*{message}"):
        read_layer(tmp_path / "m.pt")


def test_a_damaged_checkpoint_is_refused(tmp_path, net):
    torch.save(net.state_dict(), tmp_path / "m.pt")
    (tmp_path / "m.pt").write_bytes((tmp_path / "m.pt").read_bytes()[:300])
    with pytest.raises(ModelFormatError, match=r"^m.pt: expected "):
        read_layer(tmp_path / "m.pt")


def test_a_packed_checkpoint_is_refused_before_it_is_unpacked(tmp_path, net):
    torch.save(net.state_dict(), tmp_path / "m.pt")
    with zipfile.ZipFile(tmp_path / "m.pt") as plain, zipfile.ZipFile(tmp_path / "bomb.pt", "w") as packed:
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
        packed.writestr("archive/data/9", bytes(2**26), zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    with pytest.raises(ModelFormatError, match=r"as torch writes it, uncompressed, got 'archive/data/9' packed"):
        read_layer(tmp_path / "bomb.pt")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**24


def test_a_description_of_absurd_size_is_refused(tmp_path, monkeypatch, net):
    monkeypatch.setattr("labelproof.importers.checkpoints.MAX_PICKLE", 100)
    torch.save(net.state_dict(), tmp_path / "m.pt")
    with pytest.raises(ModelFormatError, match="expected at most 100 bytes that describe tensors"):
        read_layer(tmp_path / "m.pt")
