"""Transformers from a local directory."""

import json
import shutil

import numpy as np
import pytest
import torch
from every_encoder import features_of, gradients, saved_and_loaded
from safetensors.torch import load_file, save_file

import labelproof.encoders
from labelproof.encoders.rows import DenseRows, RaggedRows
from labelproof.errors import ModelFormatError

TEXTS = ["the fox jumps over the dog", "", "foxs zebra", "a dog sleeps"]
TOKENS = [[2, 4, 5, 6, 7, 4, 8, 3], [2, 3], [2, 5, 13, 1, 3], [2, 9, 8, 10, 3]]


@pytest.fixture
def copy(models, tmp_path):
    """A directory of the tiny BERT that a test may damage."""
    return shutil.copytree(models("bert")[0], tmp_path / "copy")


@pytest.mark.parametrize("name", ["bert", "roberta", "t5"])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("frozen", [True, False])
@torch.no_grad()
def test_the_output_is_the_models_on_each_text_alone(models, name, pooling, frozen):
    folder, model = models(name)
    model = model.get_encoder() if name == "t5" else model
    encoder = labelproof.encoders.build("transformer", [], path=str(folder), pooling=pooling, frozen=frozen)
    states = [model(input_ids=torch.tensor([row])).last_hidden_state[0] for row in TOKENS]
    expected = torch.stack([state[0] if pooling == "cls" else state.mean(dim=0) for state in states])
    torch.testing.assert_close(features_of(encoder, TEXTS), expected, atol=1e-5, rtol=1e-4)
    assert encoder.width == 16


@pytest.mark.parametrize("name", ["roberta", "t5"])
@pytest.mark.parametrize("frozen", [True, False])
def test_other_architectures_are_saved_and_trained_too(models, name, frozen, tmp_path):
    encoder = labelproof.encoders.build("transformer", [], path=str(models(name)[0]), frozen=frozen, pooling="mean")
    loaded = saved_and_loaded(encoder, tmp_path / "encoder")
    assert torch.equal(features_of(loaded, TEXTS), features_of(encoder, TEXTS))
    wanted = {parameter for parameter, p in encoder.named_parameters() if p.requires_grad}
    assert gradients(encoder, TEXTS) == wanted
    assert bool(wanted) != frozen


def test_a_frozen_model_runs_once_and_its_output_is_kept(models):
    encoder = labelproof.encoders.build("transformer", [], path=str(models("bert")[0]), batch_size=2)
    calls = []
    encoder.model.register_forward_hook(lambda *_: calls.append(1))
    prepared = encoder.prepare(TEXTS)
    assert isinstance(prepared, DenseRows)
    assert prepared.values.dtype == np.float32
    assert len(calls) == 2
    for _ in range(3):
        encoder(*encoder.collate(prepared, np.arange(4)))
    assert len(calls) == 2


def test_a_model_that_is_trained_keeps_tokens_and_not_vectors(models):
    encoder = labelproof.encoders.build("transformer", [], path=str(models("bert")[0]), frozen=False)
    prepared = encoder.prepare(TEXTS)
    assert isinstance(prepared, RaggedRows)
    assert [row.tolist() for row in np.split(prepared.ids, prepared.indptr[1:-1])] == TOKENS


def test_a_frozen_model_stays_in_evaluation_mode_and_has_nothing_to_train(models):
    encoder = labelproof.encoders.build("transformer", [], path=str(models("bert")[0]), hidden=3).train()
    assert encoder.training
    assert not any(module.training for module in encoder.model.modules())
    assert {name for name, p in encoder.named_parameters() if p.requires_grad} == {
        "top.linear.weight",
        "top.linear.bias",
    }
    trained = labelproof.encoders.build("transformer", [], path=str(models("bert")[0]), frozen=False).train()
    assert all(module.training for module in trained.model.modules())


def test_a_learning_rate_of_its_own_reaches_the_model_alone(models):
    encoder = labelproof.encoders.build("transformer", [], path=str(models("bert")[0]), frozen=False, hidden=3)
    own = list(encoder.pretrained_parameters())
    rest = [p for p in encoder.parameters() if p.requires_grad and not any(p is q for q in own)]
    optimiser = torch.optim.SGD([{"params": own, "lr": 0.0}, {"params": rest, "lr": 0.1}])
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    gradients(encoder, TEXTS)
    optimiser.step()
    changed = {name for name, tensor in encoder.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed == {"top.linear.weight", "top.linear.bias"}


def test_the_pooler_which_gives_us_nothing_is_not_trained(models):
    encoder = labelproof.encoders.build("transformer", [], path=str(models("bert")[0]), frozen=False)
    assert not any(p.requires_grad for name, p in encoder.named_parameters() if "pooler" in name)


@pytest.mark.parametrize(("name", "limit"), [("bert", 24), ("roberta", 23), ("t5", 512)])
def test_a_long_text_is_cut_off_at_the_models_limit(models, name, limit):
    encoder = labelproof.encoders.build("transformer", [], path=str(models(name)[0]))
    assert encoder.max_tokens == limit
    assert np.diff(encoder.read(["fox " * 10_000]).indptr).tolist() == [limit]
    assert features_of(encoder, ["fox " * 10_000]).isfinite().all()
    short = labelproof.encoders.build("transformer", [], path=str(models(name)[0]), max_tokens=5)
    assert np.diff(short.read(["fox " * 10_000]).indptr).tolist() == [5]


def test_more_tokens_than_the_model_has_positions_for_are_refused(models):
    with pytest.raises(ValueError, match="max_tokens must be at most 24, the model's limit, got 25"):
        labelproof.encoders.build("transformer", [], path=str(models("bert")[0]), max_tokens=25)


def test_a_tokenizer_without_special_tokens_gives_an_empty_text_one_padding_token(copy):
    content = json.loads((copy / "tokenizer.json").read_text())
    (copy / "tokenizer.json").write_text(json.dumps(content | {"post_processor": None}))
    for pooling in ("cls", "mean"):
        encoder = labelproof.encoders.build("transformer", [], path=str(copy), pooling=pooling)
        together, alone = features_of(encoder, ["", "the fox"]), features_of(encoder, [""])
        assert together.isfinite().all()
        torch.testing.assert_close(together[:1], alone, atol=1e-5, rtol=1e-4)


def test_weights_of_half_precision_are_computed_in_single(copy):
    weights = {name: tensor.half() for name, tensor in load_file(copy / "model.safetensors").items()}
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((copy / "config.json").read_text()) | {"dtype": "float16"}
    (copy / "config.json").write_text(json.dumps(config))
    encoder = labelproof.encoders.build("transformer", [], path=str(copy))
    assert {p.dtype for p in encoder.parameters()} == {torch.float32}


def test_a_half_precision_config_is_restored_in_single(copy, tmp_path):
    config = json.loads((copy / "config.json").read_text()) | {"dtype": "float16"}
    (copy / "config.json").write_text(json.dumps(config))
    loaded = saved_and_loaded(labelproof.encoders.build("transformer", [], path=str(copy)), tmp_path / "saved")
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}


def pickled_weights(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def without_a_weight(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.0.attention.self.query.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def with_its_own_code(folder):
    config = {"model_type": "homemade", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('ran')")


def without_a_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json: no such file"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json: expected JSON"),
        (lambda folder: (folder / "config.json").write_text("[]"), "config.json: expected an object, got list"),
        (lambda folder: (folder / "config.json").write_text("{}"), "expected a model that transformers can load"),
        (
            lambda folder: (folder / "model.safetensors").write_bytes(b"x"),
            "expected a model that transformers can load",
        ),
        (pickled_weights, "expected weights in a .safetensors file, got none"),
        (without_a_weight, "expected the weight encoder.layer.0.attention.self.query.weight in the .safetensors file"),
        (with_its_own_code, "expected a model that transformers can load"),
        (without_a_tokenizer, "expected a tokenizer, such as tokenizer.json, got none"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "expected a model that transformers can load"),
    ],
)
def test_a_damaged_directory_is_refused_in_one_sentence(copy, fault, message):
    fault(copy)
    with pytest.raises(ModelFormatError, match=message) as caught:
        labelproof.encoders.build("transformer", [], path=str(copy))
    assert "\n" not in str(caught.value)


def test_a_name_on_the_hub_is_no_directory():
    with pytest.raises(ModelFormatError, match=r"bert-base-uncased/config.json: no such file"):
        labelproof.encoders.build("transformer", [], path="bert-base-uncased")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_missing_file_of_a_saved_model_is_refused(models, tmp_path, name):
    encoder = labelproof.encoders.build("transformer", [], path=str(models("bert")[0]))
    encoder.save_files(tmp_path)
    for path in tmp_path.glob(name if name == "config.json" else "tokenizer*"):
        path.unlink()
    with pytest.raises(ModelFormatError, match=r"no such file|expected a tokenizer"):
        labelproof.encoders.load(encoder.description(), tmp_path)


def test_progress_is_shown_to_those_who_ask(models, capfd):
    encoder = labelproof.encoders.build("transformer", [], path=str(models("bert")[0]))
    capfd.readouterr()
    encoder.prepare(TEXTS)
    assert capfd.readouterr().err == ""
    encoder.show_progress = True
    encoder.prepare(TEXTS)
    assert "transformer encoder" in capfd.readouterr().err
