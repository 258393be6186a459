"""Formats without a layer to read get a sentence; nested checkpoints, adapters and image models are read."""

import json

import numpy as np
import pytest
import skops.io
import torch
import transformers
from PIL import Image
from safetensors.torch import save_file
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from typer.testing import CliRunner

from labelproof.cli import app
from labelproof.errors import ModelFormatError
from labelproof.importers import layer_of, read_layer


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.gguf", b"GGUF\x03\0\0\0", "this is a GGUF file, a language model packed for llama.cpp: audit the Hugging"),
        ("m.bin", b"GGUF\x03\0\0\0", "this is a GGUF file"),
        ("m.h5", b"\x89HDF\r\n\x1a\n", "this is an HDF5 file, as Keras once wrote models: load it with Keras and save"),
        (
            "m.bin",
            (793712314).to_bytes(4, "little") + b"\x0c\0\0\0",
            "this is a fastText model: write get_output_matrix",
        ),
        ("m.ftz", b"\0", "this is a fastText model"),
        ("m.ubj", b"{L", "this is an XGBoost model, whose labels are decided by trees and share no feature vector"),
        ("m.json", b'{"learner": {"attributes": {}}', "this is an XGBoost model"),
        ("m.txt", b"tree\nversion=v4\nnum_class=3\n", "this is a LightGBM model, whose labels are decided by trees"),
        ("m.cbm", b"CBM1", "this is a CatBoost model"),
    ],
)
def test_a_model_without_a_layer_is_told_what_it_is(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelFormatError, match=f"^{name}: {message}"):
        read_layer(tmp_path / name)


@pytest.mark.parametrize("content", [b"{}", b"[1", b'{"a": 1}'])
def test_other_json_is_no_xgboost(tmp_path, content):
    (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(ModelFormatError, match=r"got \.json"):
        read_layer(tmp_path / "m.json")


def test_folders_of_other_programs_are_told_too(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(ModelFormatError, match="this is a TensorFlow SavedModel, a program that is not run here"):
        read_layer(tmp_path)
    (tmp_path / "saved_model.pb").rename(tmp_path / "model-q4.gguf")
    with pytest.raises(ModelFormatError, match="this is a GGUF file"):
        read_layer(tmp_path)


def test_trees_share_no_features():
    forest = RandomForestClassifier(n_estimators=2).fit(np.eye(4), np.eye(4, 2))
    with pytest.raises(ValueError, match="the labels of a RandomForestClassifier are decided by trees and share no"):
        layer_of(forest)


@pytest.mark.parametrize("model", [RandomForestClassifier(2), HistGradientBoostingClassifier(max_iter=2)])
def test_saved_trees_are_told_what_they_are(tmp_path, model):
    rng = np.random.default_rng(0)
    skops.io.dump(model.fit(rng.normal(size=(40, 3)), rng.integers(0, 2, 40)), tmp_path / "m.skops")
    with pytest.raises(ModelFormatError, match="this is a scikit-learn model of decision trees, whose labels"):
        read_layer(tmp_path / "m.skops")


def test_nested_checkpoints_open(tmp_path):
    state = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 5)).state_dict()
    moments = {0: {"exp_avg": torch.ones(9, 9)}}
    content = {"model": {"module": state}, "optimizer": {"state": moments}, "epoch": 3}
    torch.save(content, tmp_path / "deep.pt")
    np.testing.assert_array_equal(read_layer(tmp_path / "deep.pt").weight, state["1.weight"].numpy())
    torch.save({"a": {"b": {"c": {"d": state}}}}, tmp_path / "deeper.pt")
    assert read_layer(tmp_path / "deeper.pt").n_labels == 5
    torch.save({"optimizer": {"state": {"x": {"exp_avg": torch.ones(9, 9)}}}}, tmp_path / "none.pt")
    with pytest.raises(ModelFormatError, match="expected a state dict, got entries optimizer"):
        read_layer(tmp_path / "none.pt")


def test_an_adapter_has_the_names_of_its_base_model(tmp_path):
    base, adapter = tmp_path / "base", tmp_path / "adapter"
    base.mkdir(), adapter.mkdir()
    names = {"0": "cat", "1": "dog", "2": "emu"}
    (base / "config.json").write_text(json.dumps({"id2label": names, "problem_type": "multi_label_classification"}))
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    save_file({"base_model.model.classifier.weight": torch.ones(3, 4)}, adapter / "adapter_model.safetensors")
    assert read_layer(adapter).label_names == ("cat", "dog", "emu")
    save_file({"base_model.model.classifier.weight": torch.ones(5, 4)}, adapter / "adapter_model.safetensors")
    assert read_layer(adapter).label_names is None  # the base model's head was another
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "someone/else"}))
    assert read_layer(adapter).label_names is None


def test_a_folder_whose_name_tells_nothing_is_called_by_the_one_above_too(tmp_path):
    for name, called in (("model", "tagger/model"), ("tags-v3", "tags-v3")):
        folder = tmp_path / "tagger" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        torch.save({"classifier.weight": torch.eye(3)}, folder / "pytorch_model.bin")
        assert read_layer(folder).model == called


def test_the_layer_with_as_many_labels_as_the_data_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_file({"classifier.weight": torch.eye(3, 4), "head.weight": torch.eye(5, 4)}, "two.safetensors")
    with pytest.raises(ModelFormatError, match="expected one output layer"):
        read_layer("two.safetensors")
    assert read_layer("two.safetensors", n_labels=5).source.startswith("head.weight")
    save_file({"a.weight": torch.eye(3, 4), "b.weight": torch.eye(5, 4)}, "unnamed.safetensors")
    assert read_layer("unnamed.safetensors", n_labels=3).source.startswith("a.weight")
    with pytest.raises(ModelFormatError, match="found no layer of an output layer's usual name"):
        read_layer("unnamed.safetensors", n_labels=7)
    (tmp_path / "Y.csv").write_text("a,b,c\n1,0,0\n0,1,1\n")
    ran = CliRunner().invoke(app, ["audit", "two.safetensors", "--labels", "Y.csv", "--json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["layer"]["source"].startswith("classifier.weight")


def test_an_image_folder_computes_its_own_features(tmp_path):
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=16, patch_size=8,
        id2label={0: "sky", 1: "sea"}, label2id={"sky": 0, "sea": 1}, problem_type="multi_label_classification",
    )  # fmt: skip
    model = transformers.ViTForImageClassification(config).eval()
    model.save_pretrained(tmp_path / "model")
    transformers.ViTImageProcessor(size={"height": 16, "width": 16}).save_pretrained(tmp_path / "model")
    paths = []
    for i in range(3):
        paths.append(tmp_path / f"{i}.png")
        Image.fromarray(np.full((20, 20, 3), 80 * i, np.uint8)).save(paths[-1])
    layer = read_layer(tmp_path / "model")
    assert layer.reads == "image"
    ours = layer.features(paths) @ layer.weight.T + layer.bias
    np.testing.assert_allclose(ours, layer.logits(paths), atol=1e-5)
    assert len(layer.features([])) == 0
