"""Safetensors files, true and false."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from made_files import entry, safetensors_bytes
from safetensors.torch import save_file

from labelproof.errors import ModelFormatError
from labelproof.importers import read_layer
from labelproof.importers.safetensors_files import MAX_HEADER, read_safetensors


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_every_number_is_exact(tmp_path, dtype):
    specials = torch.tensor([0.1, -2.5, 3e-8, 65000.0, 2.0**-24, -0.0]).reshape(2, 3)
    weight = torch.cat([specials, torch.randn(40, 3, generator=torch.Generator().manual_seed(0))]).to(dtype)
    save_file({"classifier.weight": weight, "classifier.bias": weight[:, 0].clone()}, tmp_path / "m.safetensors")
    layer = read_layer(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(layer.weight, weight.double().numpy())
    np.testing.assert_array_equal(layer.bias, weight[:, 0].double().numpy())
    assert layer.dtype == str(dtype).removeprefix("torch.")
    assert (layer.source, layer.kind) == ("classifier.weight of m.safetensors", "safetensors file")


def test_every_bfloat16_number_is_exact(tmp_path):
    bits = torch.arange(2**16, dtype=torch.int32).to(torch.uint16).view(torch.bfloat16)
    weight = bits[bits.isfinite()].reshape(-1, 2)
    save_file({"weight": weight}, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(read_layer(tmp_path / "m.safetensors").weight, weight.double().numpy())


def test_a_bias_may_be_another_tensor_of_the_file(tmp_path):
    tensors = {"out.weight": torch.ones(3, 2), "offsets": torch.arange(3.0)}
    save_file(tensors, tmp_path / "m.safetensors")
    assert read_layer(tmp_path / "m.safetensors").bias is None
    for name in ("offsets", Path("offsets")):
        np.testing.assert_array_equal(read_layer(tmp_path / "m.safetensors", bias=name).bias, [0, 1, 2])
    np.save(tmp_path / "b.npy", np.arange(3) * 2.0)
    layer = read_layer(tmp_path / "m.safetensors", bias=tmp_path / "b.npy")
    np.testing.assert_array_equal(layer.bias, [0, 2, 4])
    assert layer.source == "out.weight of m.safetensors, with a bias of its own"


def test_only_the_tensors_that_are_needed_are_read(tmp_path):
    save_file({"body": torch.zeros(2**24), "fc.weight": torch.ones(3, 2)}, tmp_path / "m.safetensors")
    tracemalloc.start()
    read_layer(tmp_path / "m.safetensors")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float8_e4m3fn])
def test_quantised_weights_are_refused(tmp_path, dtype):
    save_file({"classifier.weight": torch.ones(3, 2).to(dtype)}, tmp_path / "m.safetensors")
    with pytest.raises(ModelFormatError, match=r"^m.safetensors: expected numbers in float64, .*quantised"):
        read_layer(tmp_path / "m.safetensors")


SIX = entry("F32", [2, 3], 0, 24)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged file"),
        (b"1234567", "damaged file"),
        (safetensors_bytes({}, length=2**63), "damaged file"),
        (safetensors_bytes(b"[1]"), "expected a header of names and places, got list"),
        (safetensors_bytes(b"{'a'"), "expected a header in JSON"),
        (safetensors_bytes(b"\xff\xff"), "expected a header in JSON, got bytes that are no text"),
        (safetensors_bytes(b"[" * 100_000), "nested too deeply"),
        (safetensors_bytes(b'{"w": %s, "w": %s}' % ((json.dumps(SIX).encode(),) * 2), bytes(24)), "got 'w' twice"),
        (
            safetensors_bytes({"w": SIX}, bytes(23)),
            "expected the tensor 'w' within the 23 bytes of data, got bytes 0 to",
        ),
        (safetensors_bytes({"w": entry("F32", [2, 3], 24, 0)}, bytes(24)), "within the 24 bytes of data, got bytes 24"),
        (safetensors_bytes({"w": entry("F32", [2, 4], 0, 24)}, bytes(24)), r"the bytes of shape \[2, 4\] in F32"),
        (safetensors_bytes({"w": entry("F32", [2**40, 2**40], 0, 24)}, bytes(24)), "the bytes of shape"),
        (safetensors_bytes({"w": entry("F32", [-2, -3], 0, 24)}, bytes(24)), "expected a dtype, a shape and places"),
        (safetensors_bytes({"w": entry("F32", [2, 3.0], 0, 24)}, bytes(24)), "expected a dtype, a shape and places"),
        (safetensors_bytes({"w": entry("F32", [True, 3], 0, 12)}, bytes(24)), "expected a dtype, a shape and places"),
        (safetensors_bytes({"w": entry(7, [2, 3], 0, 24)}, bytes(24)), "expected a dtype, a shape and places"),
        (safetensors_bytes({"w": entry("F32", "23", 0, 24)}, bytes(24)), "expected a dtype, a shape and places"),
        (safetensors_bytes({"w": {"dtype": "F32"}}, bytes(24)), "expected dtype, shape and two data_offsets"),
        (safetensors_bytes({"w": 3}, bytes(24)), "expected dtype, shape and two data_offsets"),
        (safetensors_bytes({"a": SIX, "b": entry("F32", [1], 20, 24)}, bytes(24)), "got 'a' and 'b' in the same bytes"),
    ],
)
def test_a_false_header_is_refused(tmp_path, content, message):
    (tmp_path / "m.safetensors").write_bytes(content)
    with pytest.raises(ModelFormatError, match=f"^m.safetensors: .*{message}"):
        read_layer(tmp_path / "m.safetensors")


def test_a_header_of_absurd_size_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "m.safetensors"
    with open(path, "wb") as stream:  # a sparse file, which takes no room
        stream.write((2**34).to_bytes(8, "little"))
        stream.truncate(2**34 + 8)
    tracemalloc.start()
    with pytest.raises(ModelFormatError, match=f"expected a header of at most {MAX_HEADER} bytes, got {2**34}"):
        read_layer(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


def test_a_tensor_too_large_for_memory_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "m.safetensors"
    content = safetensors_bytes({"fc.weight": entry("F32", [2**16, 2**17], 0, 2**35)})
    with open(path, "wb") as stream:
        stream.write(content)
        stream.truncate(len(content) + 2**35)
    with pytest.raises(ModelFormatError, match=r"must take up at most \d+ bytes as float64, got shape"):
        read_layer(path)


def test_an_empty_tensor_and_metadata_are_read(tmp_path):
    (tmp_path / "m.safetensors").write_bytes(
        safetensors_bytes({"__metadata__": {"format": "pt"}, "e": entry("F32", [0, 3], 0, 0), "s": SIX}, bytes(24))
    )
    tensors = read_safetensors(tmp_path / "m.safetensors")
    assert tensors["e"].read().shape == (0, 3)
    assert tensors["s"].read().shape == (2, 3)
