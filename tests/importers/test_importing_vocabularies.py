"""Heads of language models: real folders of small ones, and false ones."""

import json
import logging

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from labelproof.errors import ModelFormatError
from labelproof.importers import read_layer, read_vocabulary

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 60}
GROUPED = {**SMALL, "num_key_value_heads": 2}
GPT = {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 60}
PAIR = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "vocab_size": 60}
PAIR |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 32}
PAIR |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
SPECIAL = {"pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 60}
T5 |= {"decoder_start_token_id": 0}
DISTIL = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16, "vocab_size": 60}
MODELS = [
    ("GPT2LMHeadModel", "GPT2", GPT, "transformer.wte.weight", None),
    ("LlamaForCausalLM", "Llama", GROUPED, "lm_head.weight", None),
    ("LlamaForCausalLM", "Llama", {**GROUPED, "tie_word_embeddings": True}, "model.embed_tokens.weight", None),
    ("Gemma2ForCausalLM", "Gemma2", {**GROUPED, "head_dim": 8}, "model.embed_tokens.weight", None),
    ("CohereForCausalLM", "Cohere", GROUPED, "model.embed_tokens.weight", None),
    ("PhiForCausalLM", "Phi", GROUPED, "lm_head.weight", "lm_head.bias"),
    ("GPTNeoXForCausalLM", "GPTNeoX", SMALL, "embed_out.weight", None),
    ("BertForMaskedLM", "Bert", SMALL, "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"),
    ("RobertaForMaskedLM", "Roberta", SMALL, "roberta.embeddings.word_embeddings.weight", "lm_head.bias"),
    ("DistilBertForMaskedLM", "DistilBert", DISTIL, "distilbert.embeddings.word_embeddings.weight",
     "vocab_projector.bias"),
    ("AlbertForMaskedLM", "Albert", {**SMALL, "embedding_size": 8}, "albert.embeddings.word_embeddings.weight",
     "predictions.bias"),
    ("ElectraForMaskedLM", "Electra", {**SMALL, "embedding_size": 8}, "electra.embeddings.word_embeddings.weight",
     "generator_lm_head.bias"),
    ("ModernBertForMaskedLM", "ModernBert", {**SMALL, **SPECIAL}, "model.embeddings.tok_embeddings.weight",
     "decoder.bias"),
    ("T5ForConditionalGeneration", "T5", T5, "shared.weight", None),
    ("BartForConditionalGeneration", "Bart", PAIR, "model.shared.weight", "final_logits_bias"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)


def make(task, kind, options):
    model = getattr(transformers, task)(getattr(transformers, f"{kind}Config")(**options)).eval()
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if name.endswith("bias"):
                tensor.copy_(torch.randn_like(tensor))  # fresh models have zeros there
    return model


def features_and_logits(model):
    """Return what enters the output layer of a model, and what comes out of the model."""
    caught = []
    handle = model.get_output_embeddings().register_forward_pre_hook(lambda _, given: caught.append(given[0]))
    with torch.no_grad():
        tokens = {"input_ids": torch.arange(4, 14)[None]}
        if model.config.is_encoder_decoder:
            tokens["decoder_input_ids"] = torch.arange(4, 9)[None]
        logits = model(**tokens).logits[0]
    handle.remove()
    return caught[0][0].double().numpy(), logits.double().numpy()


@pytest.mark.parametrize(("task", "kind", "options", "key", "bias"), MODELS, ids=[row[3] for row in MODELS])
def test_the_head_of_a_saved_model_ranks_tokens_as_the_model_does(tmp_path, task, kind, options, key, bias):
    model = make(task, kind, options)
    model.save_pretrained(tmp_path / "model")
    layer = read_vocabulary(tmp_path / "model")
    features, logits = features_and_logits(model)
    ours = features @ layer.weight.T + (0 if layer.bias is None else layer.bias)
    capped = getattr(model.config, "final_logit_softcapping", None)
    expected = np.arctanh(logits / capped) * capped if capped else logits / getattr(model.config, "logit_scale", 1.0)
    np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)
    stored = load_file(tmp_path / "model" / "model.safetensors")
    np.testing.assert_array_equal(layer.weight, stored[key].double().numpy())
    assert layer.source.startswith(f"{key} of model.safetensors")
    assert (layer.bias is None) == (bias is None)
    if bias is not None:
        np.testing.assert_array_equal(layer.bias, stored[bias].double().numpy().ravel())
    assert (layer.rule, layer.domain, layer.label_names) == ("topk", None, None)


def test_a_cap_or_a_scale_of_logits_is_noted(tmp_path):
    make("Gemma2ForCausalLM", "Gemma2", {**GROUPED, "head_dim": 8}).save_pretrained(tmp_path / "capped")
    make("CohereForCausalLM", "Cohere", GROUPED).save_pretrained(tmp_path / "scaled")
    assert any("caps its logits" in note for note in read_vocabulary(tmp_path / "capped").notes)
    assert any("logit_scale = 0.0625" in note for note in read_vocabulary(tmp_path / "scaled").notes)
    change_config(tmp_path / "scaled", logit_scale=-1.0)
    with pytest.raises(ModelFormatError, match="expected a positive logit_scale"):
        read_vocabulary(tmp_path / "scaled")


def change_config(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.fixture
def gpt2(tmp_path):
    make("GPT2LMHeadModel", "GPT2", GPT).save_pretrained(tmp_path / "gpt2")
    return tmp_path / "gpt2"


def test_other_readers_say_where_to_ask(gpt2):
    with pytest.raises(ModelFormatError, match="can ever rank first does: labelproof audit MODEL --vocabulary"):
        read_layer(gpt2)


def test_tokens_are_called_as_the_tokenizer_does(gpt2):
    (gpt2 / "vocab.txt").write_text("".join(f"word{i}\n" for i in range(58)))
    layer = read_vocabulary(gpt2)
    assert layer.label_names[57:] == ("word57", "⟨no token 58⟩", "⟨no token 59⟩")
    assert "2 of 60 rows belong to no token of the tokenizer." in layer.notes
    (gpt2 / "vocab.json").write_text(json.dumps({f"Ġw{i}": i for i in range(60)}))
    assert read_vocabulary(gpt2).label_names[59] == "Ġw59"
    model = {"type": "BPE", "vocab": {f"t{i}": i for i in range(59)}}
    (gpt2 / "tokenizer.json").write_text(
        json.dumps({"model": model, "added_tokens": [{"id": 59, "content": "<|endoftext|>"}]})
    )
    assert read_vocabulary(gpt2).label_names[58:] == ("t58", "<|endoftext|>")
    unigram = {"type": "Unigram", "vocab": [[f"▁u{i}", -1.0] for i in range(60)]}
    (gpt2 / "tokenizer.json").write_text(json.dumps({"model": unigram}))
    assert read_vocabulary(gpt2).label_names[3] == "▁u3"


def test_a_head_that_differs_from_what_it_is_tied_to_is_asked_about(gpt2):
    tensors = load_file(gpt2 / "model.safetensors")
    save_file({**tensors, "lm_head.weight": tensors["transformer.wte.weight"] + 1}, gpt2 / "model.safetensors")
    with pytest.raises(ModelFormatError, match=r"gpt2: lm_head\.weight differs from transformer\.wte\.weight"):
        read_vocabulary(gpt2)
    layer = read_vocabulary(gpt2, weight_key="lm_head")
    assert layer.source == "lm_head.weight of model.safetensors"
    assert layer.notes[0].startswith("lm_head.weight was asked for by name")
    save_file({**tensors, "lm_head.weight": tensors["transformer.wte.weight"].clone()}, gpt2 / "model.safetensors")
    assert read_vocabulary(gpt2).source == "lm_head.weight of model.safetensors"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["BertModel"]}, "BertModel has no language model's head"),
        ({"architectures": ["BertForSequenceClassification"]}, "has no language model's head"),
        ({"auto_map": {"AutoModel": "code.py"}}, "the folder brings code of its own"),
        ({"tie_word_embeddings": False}, "expected the head's weight, such as lm_head.weight, got transformer.wte"),
        ({"model_type": "never_heard_of"}, "which tensor a never_heard_of takes for it is not known"),
    ],
)
def test_a_folder_that_does_not_tell_its_head_is_refused(gpt2, changes, message):
    change_config(gpt2, **changes)
    with pytest.raises(ModelFormatError, match=message):
        read_vocabulary(gpt2)
    assert read_vocabulary(gpt2, weight_key="transformer.wte").weight.shape == (60, 16)


def test_a_masked_model_without_its_bias_is_refused(tmp_path):
    make("BertForMaskedLM", "Bert", SMALL).save_pretrained(tmp_path / "bert")
    file = tmp_path / "bert" / "model.safetensors"
    tensors = load_file(file)
    bias = tensors.pop("cls.predictions.bias")
    save_file(tensors, file)
    with pytest.raises(ModelFormatError, match="expected the bias of BertForMaskedLM's head"):
        read_vocabulary(tmp_path / "bert")
    save_file({**tensors, "cls.predictions.bias": bias, "cls.predictions.decoder.bias": bias + 1}, file)
    with pytest.raises(ModelFormatError, match="expected one bias of the head"):
        read_vocabulary(tmp_path / "bert")


def test_a_head_of_two_tensors_is_refused(tmp_path):
    options = {**SMALL, "embedding_size": 8, "intra_bottleneck_size": 8}
    make("MobileBertForMaskedLM", "MobileBert", options).save_pretrained(tmp_path / "model")
    with pytest.raises(ModelFormatError, match="the head of MobileBertForMaskedLM is made of two tensors"):
        read_vocabulary(tmp_path / "model")


def test_any_matrix_can_be_a_vocabulary(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(4, 3, dtype=np.float32))
    layer = read_vocabulary(tmp_path / "rows.npy")
    assert (layer.weight.shape, layer.rule, layer.dtype) == ((4, 3), "topk", "float32")


def test_a_tensor_that_is_not_there_is_refused_with_those_that_are(gpt2):
    with pytest.raises(ModelFormatError, match="expected the tensor 'nothing', got"):
        read_vocabulary(gpt2, weight_key="nothing")
    with pytest.raises(
        ModelFormatError, match=r"expected a weight of shape \(tokens, features\), got transformer\.ln_f"
    ):
        read_vocabulary(gpt2, weight_key="transformer.ln_f")
