"""Heads take the place of the output layers of transformers models."""

import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

import labelproof as lp
from labelproof.heads import BottleneckHead, DFTHead, replace_head

NAMES = {i: f"topic {i}" for i in range(30)}
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 50}


def bert():
    return BertForSequenceClassification(BertConfig(**SMALL, id2label=NAMES))


def roberta():
    return RobertaForSequenceClassification(RobertaConfig(**SMALL, id2label=NAMES))


def distilbert():
    config = DistilBertConfig(dim=16, n_layers=1, n_heads=2, hidden_dim=8, vocab_size=50, id2label=NAMES)
    return DistilBertForSequenceClassification(config)


def gpt2():
    config = GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=50, pad_token_id=0, id2label=NAMES)
    return GPT2ForSequenceClassification(config)


@pytest.mark.parametrize("make", [bert, roberta, distilbert, gpt2])
def test_the_head_computes_the_models_logits_and_its_loss(make):
    model = make()
    head = DFTHead(16, 30, 3, 4)
    assert replace_head(model, head) is model
    labels = torch.zeros(2, 30)
    labels[0, 3] = labels[1, 7] = 1
    output = model(input_ids=torch.tensor([[5, 6, 7], [8, 9, 10]]), labels=labels)
    assert output.logits.shape == (2, 30)
    assert torch.allclose(output.loss, nn.functional.binary_cross_entropy_with_logits(output.logits, labels))
    output.loss.backward()
    assert head.projection.weight.grad is not None
    assert model.config.id2label == NAMES
    assert model.config.problem_type == "multi_label_classification"


def test_other_names_can_be_given():
    model = replace_head(bert(), BottleneckHead(16, 3, 2), id2label={0: "a", 1: "b", 2: "c"})
    assert model.config.label2id == {"a": 0, "b": 1, "c": 2}
    assert model.num_labels == 3
    assert model(input_ids=torch.tensor([[5]]), labels=torch.ones(1, 3)).logits.shape == (1, 3)


def test_the_head_takes_the_models_precision():
    model = replace_head(bert().to(torch.bfloat16), DFTHead(16, 30, 3, 4))
    assert model.classifier.projection.weight.dtype == torch.bfloat16


def test_a_head_of_another_width_is_refused():
    with pytest.raises(ValueError, match="head must take the 16 features of classifier, got 20"):
        replace_head(bert(), DFTHead(20, 30, 3, 4))


def test_a_head_of_other_labels_is_refused():
    with pytest.raises(ValueError, match="head must have one label for each of 30 names in id2label, got 40"):
        replace_head(bert(), DFTHead(16, 40, 3, 4))


def test_a_module_that_is_no_head_is_refused():
    with pytest.raises(ValueError, match="head must have n_labels, as DFTHead and BottleneckHead have, got Linear"):
        replace_head(bert(), nn.Linear(16, 30))


def test_a_model_without_an_output_layer_is_refused():
    with pytest.raises(lp.ModelFormatError, match=r"expected a model with a linear layer called .*, got Sequential"):
        replace_head(nn.Sequential(nn.Linear(3, 4)), DFTHead(16, 30, 3, 4))
