"""Hugging Face folders: real ones of small models, and false ones."""

import json
import logging

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from in_domain import assert_in_domain
from labelproof.errors import ModelFormatError
from labelproof.importers import layer_of, read_layer

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 60}
NAMES = ("ant", "bee", "cat", "dog")
LABELS = {"id2label": dict(enumerate(NAMES)), "problem_type": "multi_label_classification"}


@pytest.fixture(autouse=True)
def quiet():
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)


def make(kind, **options):
    config, model = getattr(transformers, f"{kind}Config"), getattr(transformers, f"{kind}ForSequenceClassification")
    return model(config(**{**SMALL, **LABELS, **options})).eval()


def scale_up(model):
    """Make the features large, so that a false bound on them would show."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(20.0)
    return model


TOKENS = {"input_ids": torch.arange(4, 34).reshape(3, 10)}
ARCHITECTURES = [
    ("Bert", {}, "classifier.weight", "tanh"),
    ("Albert", {"embedding_size": 8}, "classifier.weight", "tanh"),
    ("Roberta", {}, "classifier.out_proj.weight", "tanh"),
    ("XLMRoberta", {}, "classifier.out_proj.weight", "tanh"),
    ("MPNet", {}, "classifier.out_proj.weight", "tanh"),
    ("DistilBert", {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16}, "classifier.weight", "ReLU"),
    ("Electra", {"embedding_size": 8}, "classifier.out_proj.weight", "GELU"),
    ("RoFormer", {"embedding_size": 8}, "classifier.out_proj.weight", "GELU"),
    ("DebertaV2", {}, "classifier.weight", "GELU"),
    ("Bart", {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
              "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "eos_token_id": 9},
     "classification_head.out_proj.weight", "tanh"),
    ("ModernBert", {"pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2},
     "classifier.weight", "LayerNorm"),
    ("XLNet", {"d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 16}, "logits_proj.weight", "tanh"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # of DeBERTa's own code
@pytest.mark.parametrize(("kind", "options", "key", "before"), ARCHITECTURES, ids=[row[0] for row in ARCHITECTURES])
def test_the_layer_of_a_saved_model_gives_its_logits(tmp_path, kind, options, key, before):
    model = scale_up(make(kind, **options))
    model.save_pretrained(tmp_path / "mine")
    layer = read_layer(tmp_path / "mine")
    parameters = dict(model.named_parameters())
    np.testing.assert_array_equal(layer.weight, parameters[key].detach().double().numpy())
    assert (layer.source, layer.label_names, layer.before) == (f"{key} of model.safetensors", NAMES, before)
    assert (layer.kind, layer.model, layer.rule, layer.notes) == ("Hugging Face folder", "mine", "sigmoid", ())
    tokens = {"input_ids": torch.where(TOKENS["input_ids"] == 9, 10, TOKENS["input_ids"])}
    tokens["input_ids"][:, -1] = 9  # BART reads its features at the last of these
    features = layer_of(model).features(tokens)
    bias = 0 if layer.bias is None else layer.bias
    with torch.no_grad():
        logits = model(**tokens).logits.numpy()
    np.testing.assert_allclose(features @ layer.weight.T + bias, logits, rtol=1e-4, atol=1e-3)
    assert_in_domain(features, layer.domain)
    assert (features.max() > 1) == (before != "tanh")


@pytest.mark.parametrize(("kind", "key"), [("GPT2", "score.weight"), ("Llama", "score.weight")])
def test_decoders_that_score_end_in_a_norm_which_keeps_features_in_a_ball(tmp_path, kind, key):
    options = {"n_embd": 16, "n_layer": 1, "n_head": 2, "pad_token_id": 0}
    model = make(kind, **options)
    norm = model.transformer.ln_f if kind == "GPT2" else model.model.norm
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_()
    model.save_pretrained(tmp_path / "model")
    layer = read_layer(tmp_path / "model")
    assert layer_of(model).features is None  # they score every position, and choose one
    assert (layer.source, layer.bias, layer.features) == (f"{key} of model.safetensors", None, None)
    assert layer.before == ("LayerNorm" if kind == "GPT2" else "RMSNorm")
    assert layer.domain_reason.startswith(f"The inputs of the layer have passed {layer.before}, so they are within")
    with torch.no_grad():
        states = model.base_model(**TOKENS).last_hidden_state
    assert_in_domain(states.reshape(-1, layer.n_features).numpy(), layer.domain)
    assert (states.abs().amax() > 1.0).item()


def test_a_norm_that_is_not_stored_as_expected_bounds_nothing(tmp_path):
    config = {"model_type": "gpt2", "architectures": ["GPT2ForSequenceClassification"]}
    short = {"score.weight": torch.ones(3, 4), "transformer.ln_f.weight": torch.ones(5)}
    layer = read_layer(write(tmp_path, short, **config))
    assert (layer.before, layer.domain) == ("LayerNorm", None)


def test_an_image_model_averages_what_a_relu_gives(tmp_path):
    config = transformers.ResNetConfig(
        embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic", hidden_act="relu", **LABELS
    )
    model = transformers.ResNetForImageClassification(config).eval()
    model.save_pretrained(tmp_path / "model")
    layer = read_layer(tmp_path / "model")
    assert (layer.before, layer.domain, layer.source) == (
        "ReLU",
        "nonnegative",
        "classifier.1.weight of model.safetensors",
    )
    pictures = {"pixel_values": torch.randn(2, 3, 32, 32)}
    features = layer_of(model).features(pictures)
    assert (features >= 0).all()
    with torch.no_grad():
        logits = model(**pictures).logits.numpy()
    np.testing.assert_allclose(features @ layer.weight.T + layer.bias, logits, atol=1e-4)


def test_a_class_of_ones_own_may_do_anything_before_the_layer(tmp_path):
    class BertForSequenceClassification(transformers.BertForSequenceClassification):
        """A class of the library's name, which might average over words instead."""

    model = BertForSequenceClassification(transformers.BertConfig(**SMALL, **LABELS))
    assert layer_of(model).domain is None
    assert layer_of(make("Bert")).domain == (-1, 1)


def test_shards_are_found_by_their_index(tmp_path):
    model = make("Roberta")
    model.save_pretrained(tmp_path / "model", max_shard_size="5KB")
    assert len(list((tmp_path / "model").glob("*.safetensors"))) > 1
    layer = read_layer(tmp_path / "model")
    np.testing.assert_array_equal(layer.weight, model.classifier.out_proj.weight.detach().double().numpy())
    np.testing.assert_array_equal(layer.bias, model.classifier.out_proj.bias.detach().double().numpy())


def test_a_bfloat16_model_is_exact(tmp_path):
    model = make("Bert").bfloat16()
    model.save_pretrained(tmp_path / "model")
    layer = read_layer(tmp_path / "model")
    np.testing.assert_array_equal(layer.weight, model.classifier.weight.detach().double().numpy())
    assert layer.dtype == "bfloat16"


def test_a_folder_of_torch_weights_is_read_too(tmp_path):
    model = make("Bert")
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    config = json.loads((tmp_path / "config.json").read_text()) | {"architectures": ["BertForSequenceClassification"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    layer = read_layer(tmp_path)
    np.testing.assert_array_equal(layer.weight, model.classifier.weight.detach().double().numpy())
    assert (layer.source, layer.before) == ("classifier.weight of pytorch_model.bin", "tanh")
    (tmp_path / "pytorch_model.bin").rename(tmp_path / "part.bin")
    (tmp_path / "pytorch_model.bin.index.json").write_text(
        json.dumps({"weight_map": dict.fromkeys(model.state_dict(), "part.bin")})
    )
    np.testing.assert_array_equal(read_layer(tmp_path).weight, layer.weight)


def test_an_adapter_stores_the_output_layer_whole(tmp_path):
    names = {
        "base_model.model.classifier.weight": torch.ones(4, 16),
        "base_model.model.classifier.bias": torch.zeros(4),
    }
    lora = {"base_model.model.bert.query.lora_A.weight": torch.ones(2, 16)}
    save_file(names | lora, tmp_path / "adapter_model.safetensors")
    assert read_layer(tmp_path).source == "classifier.weight of adapter_model.safetensors"
    save_file(
        {**names, "base_model.model.classifier.lora_A.weight": torch.ones(2, 16)},
        tmp_path / "adapter_model.safetensors",
    )
    with pytest.raises(ModelFormatError, match=r"changes the output layer, .* merge the adapter first"):
        read_layer(tmp_path)


def test_the_models_own_features_of_texts_give_its_logits(tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ant", "bee", "cat", "dog"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizerFast(
        vocab_file=str(tmp_path / "vocab.txt"), vocab={w: i for i, w in enumerate(words)}
    )
    model = make("Bert", vocab_size=len(words))
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    layer = read_layer(tmp_path / "model")
    texts = ["ant bee", "cat", "dog dog dog ant"] * 12
    features = layer.features(texts)
    with torch.no_grad():
        logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.numpy()
    np.testing.assert_allclose(features @ layer.weight.T + layer.bias, logits, atol=1e-5)
    with pytest.raises(ValueError, match="the model reads a list of texts"):
        layer.features("ant")
    assert len(layer.features([])) == 0


# What a configuration says


def write(folder, tensors, **config):
    folder.mkdir(exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return folder


LAYER = {"classifier.weight": torch.ones(3, 4), "classifier.bias": torch.zeros(3)}
BERT = {"model_type": "bert", "architectures": ["BertForSequenceClassification"]}


def test_names_that_only_count_are_no_names(tmp_path):
    counted = {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}
    assert read_layer(write(tmp_path, LAYER, id2label=counted)).label_names is None
    assert read_layer(write(tmp_path, LAYER, id2label=counted | {"2": "cat"})).label_names == (
        "LABEL_0",
        "LABEL_1",
        "cat",
    )
    assert read_layer(write(tmp_path, LAYER, id2label=["a", "b", "c"])).label_names == ("a", "b", "c")
    layer = read_layer(write(tmp_path, LAYER, id2label={"0": "a", "1": "a", "2": "b"}))
    assert layer.label_names is None
    assert "The model's label names repeat, so they are not used." in layer.notes


def test_the_number_of_names_decides_between_candidates(tmp_path):
    tensors = {"head.weight": torch.ones(9, 4), "score.weight": torch.ones(3, 4)}
    assert read_layer(write(tmp_path, tensors, id2label=["a", "b", "c"])).source == "score.weight of model.safetensors"
    with pytest.raises(ModelFormatError, match=r"expected one output layer, got head.weight \(9×4\), score.weight"):
        read_layer(write(tmp_path, tensors))
    assert read_layer(tmp_path, weight_key="head").n_labels == 9


@pytest.mark.parametrize("names", [{"0": "a", "2": "b"}, {"x": "a"}, "abc", 7, {"0": ["a"]}])
def test_names_that_do_not_number_labels_are_refused(tmp_path, names):
    with pytest.raises(ModelFormatError, match=r"expected id2label in config.json to give a name to each number"):
        read_layer(write(tmp_path, LAYER, id2label=names))


def test_a_wrong_number_of_names_is_refused(tmp_path):
    with pytest.raises(ModelFormatError, match=r"expected 2 labels, got 3 rows in classifier.weight \(3×4\)"):
        read_layer(write(tmp_path, LAYER, id2label=["a", "b"]))


def test_the_problem_type_gives_the_rule(tmp_path):
    layer = read_layer(write(tmp_path, LAYER, problem_type="single_label_classification"))
    assert layer.rule == "topk"
    assert "one label per input (softmax)" in layer.notes[0]
    layer = read_layer(write(tmp_path, LAYER))
    assert layer.rule == "sigmoid"
    assert "no problem_type" in layer.notes[0]
    with pytest.raises(ModelFormatError, match="expected a classifier, got problem_type 'regression'"):
        read_layer(write(tmp_path, LAYER, problem_type="regression"))


def test_what_stands_before_is_known_for_the_architectures_own_key_only(tmp_path):
    assert read_layer(write(tmp_path, LAYER, **BERT)).domain == (-1, 1)
    own_code = {**BERT, "auto_map": {"AutoModel": "modeling.Mine"}}
    assert read_layer(write(tmp_path, LAYER, **own_code)).domain is None
    other_task = {**BERT, "architectures": ["BertForTokenClassification"]}
    assert read_layer(write(tmp_path, LAYER, **other_task)).domain is None
    own_class = {**BERT, "architectures": ["MyForSequenceClassification"]}
    assert read_layer(write(tmp_path, LAYER, **own_class)).domain is None
    replaced = {"classifier.projection.weight": torch.ones(2, 4), "classifier.output.weight": torch.ones(3, 2)}
    layer = read_layer(write(tmp_path, replaced, **BERT))
    assert (layer.source, layer.domain) == ("classifier.output.weight of model.safetensors", None)


@pytest.mark.parametrize(
    "change",
    [
        ({"model_type": "mobilebert", "classifier_activation": True}, (-1.0, 1.0)),
        ({"model_type": "mobilebert", "classifier_activation": False}, None),
        ({"model_type": "deberta", "pooler_hidden_act": "relu"}, "nonnegative"),
        ({"model_type": "distilbert"}, "nonnegative"),
        ({"model_type": "never heard of"}, None),
    ],
)
def test_the_configuration_names_the_activation(tmp_path, change):
    config, domain = change
    name = {"mobilebert": "MobileBert", "deberta": "Deberta", "distilbert": "DistilBert"}.get(config["model_type"], "X")
    layer = read_layer(write(tmp_path, LAYER, architectures=[f"{name}ForSequenceClassification"], **config))
    assert layer.domain == domain


@pytest.mark.parametrize("task", ["GPT2LMHeadModel", "LlamaForCausalLM", "T5ForConditionalGeneration"])
def test_a_model_that_generates_is_refused(tmp_path, task):
    with pytest.raises(ModelFormatError, match=f"{task} generates one token after another"):
        read_layer(write(tmp_path, LAYER, architectures=[task]))


# Folders that are damaged


def shards(folder, weight_map):
    folder.mkdir(exist_ok=True)
    save_file(LAYER, folder / "a.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return folder


@pytest.mark.parametrize(
    ("weight_map", "message"),
    [
        ({"classifier.weight": "../a.safetensors"}, r"in the same folder, got '\.\./a.safetensors'"),
        ({"classifier.weight": "/etc/passwd"}, "in the same folder, got '/etc/passwd'"),
        ({"classifier.weight": "b.safetensors"}, "in the same folder, got 'b.safetensors'"),
        ({"classifier.weight": 7}, "in the same folder, got 7"),
        ({"score.weight": "a.safetensors"}, "expected the tensor 'score.weight' in a.safetensors"),
        ({}, "expected a weight_map"),
        ([], "expected a weight_map"),
    ],
)
def test_an_index_that_does_not_fit_its_shards_is_refused(tmp_path, weight_map, message):
    with pytest.raises(ModelFormatError, match=f"^model: .*{message}"):
        read_layer(shards(tmp_path / "model", weight_map))


def test_a_folder_without_weights_says_what_is_expected(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelFormatError, match=r"expected model.safetensors next to config.json .*, got config.json"):
        read_layer(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(ModelFormatError, match=r"expected an object in config.json"):
        read_layer(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelFormatError, match=r"expected JSON in config.json"):
        read_layer(tmp_path)
    with open(tmp_path / "config.json", "wb") as stream:
        stream.truncate(2**30)
    with pytest.raises(ModelFormatError, match=r"expected at most \d+ bytes in config.json, got 1073741824"):
        read_layer(tmp_path)


def test_an_empty_folder_and_one_with_pickles_are_refused(tmp_path):
    with pytest.raises(ModelFormatError, match="expected the folder of a model"):
        read_layer(tmp_path)
    (tmp_path / "linear_pipeline.pickle").write_bytes(b"")
    with pytest.raises(ModelFormatError, match=r"got the pickle linear_pipeline.pickle: .*skops"):
        read_layer(tmp_path)
    (tmp_path / "linear_pipeline.pickle").rename(tmp_path / "model_head.pkl")  # as SetFit writes
    with pytest.raises(ModelFormatError, match=r"got the pickle model_head.pkl: .*skops"):
        read_layer(write(tmp_path, LAYER))


def test_the_body_of_a_model_alone_has_no_output_layer(tmp_path):
    config = transformers.BertConfig(**SMALL)
    transformers.BertModel(config).save_pretrained(tmp_path)
    assert "classifier.weight" not in load_file(tmp_path / "model.safetensors")
    with pytest.raises(ModelFormatError, match=r"found no layer of an output layer's usual name among .*weight_key="):
        read_layer(tmp_path)
