"""The model folder: what goes in comes out, anywhere; and nothing half-written stays behind."""

# ruff: noqa: F401, F811 - fixtures are imported, and tests take them by their names

import json
import re
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from small_models import make_model, one_thread

from labelproof import verify
from labelproof.data import Dataset
from labelproof.decisions import PerLabelThreshold
from labelproof.errors import ModelFormatError
from labelproof.foundation.writing import write_folder
from labelproof.importers import read_layer
from labelproof.models import Model, load_model
from labelproof.models.card import model_card
from labelproof.models.directory import VERSION
from labelproof.training import TrainConfig, fit

FILES = ["README.md", "config.json", "encoder", "labels.json", "metrics.json", "model.safetensors", "rule.json"]


@pytest.fixture(scope="module")
def saved(make_model, tmp_path_factory):
    model, X = make_model()
    folder = tmp_path_factory.mktemp("models") / "model"
    model.save(folder)
    return model, X, folder


@pytest.fixture
def copied(saved, tmp_path):
    """A copy of the saved folder, to be spoilt."""
    return shutil.copytree(saved[2], tmp_path / "copy")


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


# What goes in comes out


@pytest.mark.parametrize(
    "parts",
    [
        {"head": {"kind": "dft", "slack": 4, "order": "spread"}},
        {"head": {"kind": "bottleneck", "d": 3, "bias": True}},
        {"head": {"kind": "linear", "relu": True}, "encoder": {"kind": "features", "hidden": 8, "standardise": True}},
        {"encoder": {"kind": "tfidf"}, "decision": {"kind": "global"}},
        {
            "encoder": {"kind": "hashing", "n_buckets": 64},
            "loss": {"kind": "sparsemax"},
            "decision": {"kind": "sparsemax-support"},
        },
    ],
)
def test_a_loaded_model_predicts_what_the_saved_one_did(parts, make_model, tmp_path):
    model, inputs = make_model(**parts)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert (loaded.logits(inputs) == model.logits(inputs)).all()
    assert (loaded.predict(inputs) == model.predict(inputs)).all()
    assert loaded.predict_names(inputs[:3], top=2) == model.predict_names(inputs[:3], top=2)
    assert (loaded.config, loaded.metrics) == (model.config, model.metrics)


def test_the_folder_holds_these_files(saved):
    assert sorted(path.name for path in saved[2].iterdir()) == FILES
    assert not any(path.read_bytes().startswith(b"\x80") for path in saved[2].rglob("*") if path.is_file())  # no pickle


def test_a_moved_folder_is_loaded_in_another_process(saved, tmp_path):
    model, X, folder = saved
    shutil.copytree(folder, tmp_path / "elsewhere")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import numpy as np, sys; from labelproof.models import load_model;"
        "np.save('Z.npy', load_model('elsewhere').logits(np.load('X.npy')))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)  # noqa: S603
    assert np.allclose(np.load(tmp_path / "Z.npy"), model.logits(X), atol=1e-6)


def test_the_folder_of_a_run_is_the_folder_of_its_model(saved, tmp_path):
    shutil.copytree(saved[2], tmp_path / "run" / "model")
    assert load_model(tmp_path / "run").label_names == saved[0].label_names


def test_the_card_tells_what_the_model_is(saved):
    card = (saved[2] / "README.md").read_text()
    assert "every set of up to 3 labels can be predicted" in card
    assert "| micro-f1 |" in card
    assert "- Examples for training: 54" in card
    assert "chosen on the validation data: figures there are optimistic" in card
    unvalidated = replace(saved[0], metrics={"test": saved[0].metrics["validation"]})
    assert "| metric | test |" in model_card(unvalidated)
    assert "validation" not in model_card(unvalidated).split("## Configuration")[0]


def test_a_given_module_is_saved_by_its_weights_alone(tmp_path):
    for i in range(12):
        Image.new("RGB", (4, 4), (20 * i, 0, 0)).save(tmp_path / f"{i}.png")
    data = Dataset(np.eye(12, 3, dtype=bool), ("a", "b", "c"), image_paths=sorted(map(str, tmp_path.glob("*.png"))))
    encoder = {"kind": "image", "module": torch.nn.Conv2d(3, 5, 2), "preprocessing": {"height": 4, "width": 4}}
    trainer = {"epochs": 1, "accelerator": "cpu"}
    config = TrainConfig.from_dict({"encoder": encoder, "head": {"kind": "linear"}, "trainer": trainer})
    Model.of(fit(config, data, out=tmp_path / "run", progress=False)).save(tmp_path / "model")
    saved = load_file(tmp_path / "model" / "model.safetensors")
    assert torch.equal(saved["encoder.model.weight"], encoder["module"].weight)
    refused(tmp_path / "model", "made from a given module, which is not saved")


def test_a_saved_model_replaces_the_one_before(saved, make_model, tmp_path):
    saved[0].save(tmp_path / "model")
    other, X = make_model(head={"kind": "linear"})
    other.save(tmp_path / "model")
    assert (load_model(tmp_path / "model").logits(X) == other.logits(X)).all()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


# Prediction


def test_batches_and_sparse_answers_do_not_matter(saved):
    model, X, _ = saved
    assert np.allclose(model.logits(X, batch_size=7), model.logits(X), atol=1e-6)
    sparse = model.predict(X, sparse=True, batch_size=7)
    assert scipy.sparse.issparse(sparse)
    assert (sparse.toarray() == model.predict(X)).all()


def test_no_inputs_have_no_answers(make_model):
    model, _ = make_model(encoder={"kind": "tfidf"})
    assert model.logits([]).shape == model.predict([]).shape == model.predict([], sparse=True).shape == (0, 8)
    assert model.predict_names([]) == []


def test_equal_logits_are_ranked_in_the_order_of_the_labels(saved):
    logits = np.random.default_rng(0).integers(-1, 2, size=(20, 8)).astype(np.float32)
    order = np.argsort(-logits, axis=1, kind="stable")
    for top in (0, 3, 8, 99):
        for i, prediction in enumerate(saved[0].describe(logits, top=top)):
            ranked = [saved[0].label_names[j] for j in order[i]]
            assert [name for name, _ in prediction.top] == ranked[:top]
            assert prediction.labels == tuple(name for name in ranked if name in prediction.labels)
    decided = saved[0].rule.decide(logits).sum(axis=1).tolist()
    assert [len(prediction.labels) for prediction in saved[0].describe(logits)] == decided


def test_names_come_by_descending_probability(saved):
    model, X, _ = saved
    active, p = model.predict(X), model.probabilities(X)
    for i, prediction in enumerate(model.predict_names(X, top=8)):
        assert {model.label_names[j] for j in np.flatnonzero(active[i])} == set(prediction.labels)
        values = [value for _, value in prediction.top]
        assert values == sorted(values, reverse=True)
        assert np.allclose(sorted(p[i]), sorted(values))


def test_a_model_is_evaluated_by_label_names(saved):
    model, X, _ = saved
    Y = model.predict(X)
    shuffled = Dataset(Y[:, ::-1], model.label_names[::-1], features=X)
    assert model.evaluate(shuffled)["micro-f1"] == 1.0


def test_a_label_that_the_model_does_not_know_is_named(saved):
    model, X, _ = saved
    data = Dataset(np.ones((60, 1), bool), ("zebra",), features=X)
    with pytest.raises(ValueError, match="'zebra'"):
        model.evaluate(data)
    assert model.evaluate(data, unknown="drop")["micro-precision"] in (0.0, None)


def test_no_examples_cannot_be_evaluated(saved):
    model, X, _ = saved
    with pytest.raises(ValueError, match="examples must be at least one to be evaluated, got none"):
        model.evaluate(Dataset(np.zeros((0, 8), bool), model.label_names, features=X[:0]))


def test_features_of_another_width_are_refused(saved):
    with pytest.raises(ValueError, match="24"):
        saved[0].logits(np.zeros((2, 5)))


def test_the_output_layer_can_be_verified(saved, make_model):
    model, _, _ = saved
    assert model.weight.shape == (8, model.head.features)
    assert (model.bias, model.domain) == (None, None)
    assert make_model(head={"kind": "linear", "relu": True})[0].domain == "nonnegative"


def test_the_output_layer_of_a_model_just_trained_can_be_verified():
    data = Dataset(np.eye(4, 3, dtype=bool), ("a", "b", "c"), features=np.eye(4, 5, dtype=np.float32))
    values = {"head": {"kind": "bottleneck", "d": 3, "bias": True}, "trainer": {"epochs": 1, "accelerator": "cpu"}}
    model = Model.of(fit(TrainConfig.from_dict(values | {"data": {"validation": 0.25}}), data, progress=False))
    assert (verify(model.weight, [[0]], bias=model.bias).status == 1).all()


def test_names_must_match_the_logits(saved):
    model = saved[0]
    with pytest.raises(ValueError, match="label_names must hold 8 names, one per logit, got 7"):
        Model(model.encoder, model.head, model.label_names[1:], model.rule)
    with pytest.raises(ValueError, match="label_names must differ, got 'bee' more than once"):
        Model(model.encoder, model.head, ("bee", *model.label_names[1:]), model.rule)


def test_a_rule_must_match_the_logits(saved):
    model = saved[0]
    with pytest.raises(ValueError, match="must have 3 labels, as the rule was fitted to, got 8"):
        Model(model.encoder, model.head, model.label_names, PerLabelThreshold().fit(np.eye(3), np.eye(3)))


# What is no model


def refused(folder, message):
    with pytest.raises(ModelFormatError, match=re.escape(message)) as caught:
        load_model(folder)
    assert "\n" not in str(caught.value)


def test_a_newer_format_is_refused(copied):
    edit(copied / "config.json", lambda c: c.update(version=VERSION + 1))
    refused(copied, f"has version {VERSION + 1} of the format; this labelproof reads up to {VERSION}: upgrade it")


@pytest.mark.parametrize("version", [0, "1", None, True])
def test_a_version_that_is_none_is_refused(copied, version):
    edit(copied / "config.json", lambda c: c.update(version=version))
    refused(copied, f"expected a version from 1 to {VERSION} of the format, got {version!r}")


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    refused(tmp_path, "expected the folder of a model, got no config.json in it")
    refused(tmp_path / "nowhere", "nowhere: expected the folder of a model, got no such folder")
    (tmp_path / "w.npy").write_bytes(b"")
    refused(tmp_path / "w.npy", "w.npy: expected the folder of a model, got a file")
    (tmp_path / "config.json").write_text('{"format": "another"}')
    refused(tmp_path, "expected the format 'labelproof model', got another file")
    (tmp_path / "config.json").write_text('{"format')
    refused(tmp_path, "config.json: expected JSON")


@pytest.mark.parametrize("name", ["labels.json", "metrics.json", "rule.json", "model.safetensors"])
def test_a_missing_file_is_named(copied, name):
    (copied / name).unlink()
    refused(copied, name)


def test_damaged_weights_are_refused(copied):
    path = copied / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    refused(copied, "model.safetensors: expected weights, got a damaged file")


def test_weights_of_another_model_are_refused(copied):
    tensors = load_file(copied / "model.safetensors")
    tensors.pop("head.projection.bias")
    save_file(tensors, copied / "model.safetensors")
    refused(copied, "the weights do not fit the model")


def test_too_few_label_names_are_refused(copied):
    names = json.loads((copied / "labels.json").read_text())
    (copied / "labels.json").write_text(json.dumps(names[:-1]))
    refused(copied, "the weights do not fit the model")
    (copied / "labels.json").write_text('{"a": 1}')
    refused(copied, "labels.json: expected a list of names")


def test_label_names_that_are_equal_are_refused(copied):
    names = json.loads((copied / "labels.json").read_text())
    (copied / "labels.json").write_text(json.dumps([*names[:-1], names[0]]))
    refused(copied, f"label_names must differ, got {names[0]!r} more than once")


def test_a_rule_of_another_model_is_refused(copied):
    PerLabelThreshold(scores="logits").fit(np.eye(3), np.eye(3)).save(copied / "rule.json")
    refused(copied, "must have 3 labels, as the rule was fitted to, got 8")


def test_metrics_that_are_no_object_are_refused(copied):
    (copied / "metrics.json").write_text("[1]")
    refused(copied, "metrics.json: expected an object, got list")


@pytest.mark.filterwarnings("ignore:the head has .* features but the encoder only:UserWarning")
def test_sizes_that_memory_cannot_hold_are_refused(copied):
    edit(copied / "config.json", lambda c: c["training"]["head"].update(slack=10**14))
    refused(copied, "head must fit into memory, got")


def test_loading_leaves_the_generator_of_the_caller_alone(saved):
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    load_model(saved[2])
    assert torch.equal(torch.rand(1), expected)


def test_a_configuration_that_makes_no_sense_is_refused(copied):
    edit(copied / "config.json", lambda c: c["training"]["head"].update(kind="dtf"))
    refused(copied, "head.kind")
    edit(copied / "config.json", lambda c: c.pop("training"))
    refused(copied, "config.json lacks the entry training")


# Writing


def test_a_failure_while_saving_leaves_nothing(saved, tmp_path, monkeypatch):
    model, _, _ = saved

    def full(*_, **__):
        raise OSError(28, "full")

    monkeypatch.setattr("labelproof.models.directory.save_file", full)
    with pytest.raises(OSError, match="model cannot be written: full"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_saving_leaves_the_model_before(saved, make_model, tmp_path, monkeypatch):
    model, X, _ = saved
    model.save(tmp_path / "model")
    before = model.logits(X)
    monkeypatch.setattr("labelproof.models.directory.model_card", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_model(head={"kind": "linear"})[0].save(tmp_path / "model")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (load_model(tmp_path / "model").logits(X) == before).all()


def test_a_full_disk_leaves_nothing(saved, tmp_path):
    model = saved[0]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))  # no file may be larger, as on a full disk
    try:
        with pytest.raises(OSError, match=f"{tmp_path}/model cannot be written: .*File too large"):
            model.save(tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_no_model_is_not_replaced(saved, tmp_path, kind):
    if kind == "file":
        (tmp_path / "model").write_text("precious")
    else:
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="is in the way: expected a free name, an empty folder or a model to replace"):
        saved[0].save(tmp_path / "model")
    assert "precious" in next(path for path in tmp_path.rglob("*") if path.is_file()).read_text()


KILLED = """
import os, signal, sys
from pathlib import Path
from labelproof.models import load_model

rename, model = Path.rename, load_model(sys.argv[1])
def killed(self, target):
    if self.name.endswith(".part"):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)
Path.rename = killed
model.save(sys.argv[1])
"""


def test_a_process_killed_between_the_two_renames_of_a_model_loses_nothing(copied, saved, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    folder = copied.rename(run / "model")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)  # noqa: S603
    assert ended.returncode == -signal.SIGKILL
    assert not folder.exists()  # this is the moment
    aside = next(path for path in run.iterdir() if path.name.endswith(".old"))
    for read in (load_model, read_layer):
        for place in (folder, run):
            read(place)
            assert folder.exists()
            folder.rename(aside)
    saved[0].save(folder)
    assert (load_model(folder).logits(saved[1]) == saved[0].logits(saved[1])).all()
    assert not aside.exists()


def test_a_link_stays_a_link_to_the_new_model(saved, make_model, tmp_path):
    saved[0].save(tmp_path / "model")
    (tmp_path / "link").symlink_to("model")
    other, X = make_model(head={"kind": "linear"})
    other.save(tmp_path / "link")
    assert (load_model(tmp_path / "model").logits(X) == other.logits(X)).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "model"]


def test_label_names_of_any_characters_are_saved(saved, tmp_path):
    model = saved[0]
    names = ("\ud800 half a pair", "ligne\nnouvelle", "naïve", "🦊", '"', "\0", "a" * 300, "")
    Model(model.encoder, model.head, names, model.rule, model.config).save(tmp_path / "model")
    assert load_model(tmp_path / "model").label_names == names


def test_an_empty_folder_is_filled(saved, tmp_path):
    (tmp_path / "model").mkdir()
    saved[0].save(tmp_path / "model")
    assert load_model(tmp_path / "model").n_labels == 8


def test_a_rename_that_fails_puts_the_old_folder_back(tmp_path, monkeypatch):
    from pathlib import Path

    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").touch()
    rename = Path.rename

    def failing(self, target):
        if self.name.endswith(".part"):
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="no"):
        write_folder(tmp_path / "folder", lambda draft: (draft / "new").touch(), may_replace=lambda _: True, what="one")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "old"]


def test_a_model_is_loaded_without_what_trains_it():
    code = "import sys; from labelproof.models import load_model; print('lightning' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert answer.stdout.strip() == "False"
