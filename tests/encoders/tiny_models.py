"""Small models of every architecture that the tests need, made from configs with random weights."""

import torch
import transformers
from every_encoder import WORDS
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertModel,
    CLIPConfig,
    CLIPModel,
    ConvNextConfig,
    ConvNextModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5Model,
    ViTConfig,
    ViTModel,
)

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def tokenizer(first=("[PAD]", "[UNK]", "[CLS]", "[SEP]")):
    """A word-piece tokenizer that puts [CLS] before and [SEP] after a text."""
    vocabulary = {word: number for number, word in enumerate([*first, *WORDS])}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106 - a token of text
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    return made


def save_tokenizer(folder, **names):
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer(), **special, **names).save_pretrained(folder)


def bert(folder, **more):
    torch.manual_seed(1)
    config = BertConfig(vocab_size=14, max_position_embeddings=24, pad_token_id=0, **SMALL, **more)
    model = BertModel(config).eval()
    model.save_pretrained(folder)
    save_tokenizer(folder, model_max_length=24)
    return model


def roberta(folder):
    torch.manual_seed(1)
    config = RobertaConfig(vocab_size=14, max_position_embeddings=24, pad_token_id=0, type_vocab_size=1, **SMALL)
    model = RobertaModel(config).eval()
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return model


def t5(folder):
    torch.manual_seed(1)
    config = T5Config(vocab_size=14, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, pad_token_id=0)
    model = T5Model(config).eval()
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return model


def vit(folder):
    torch.manual_seed(1)
    model = ViTModel(ViTConfig(image_size=32, patch_size=8, **SMALL)).eval()
    model.save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return model


def convnext(folder):
    torch.manual_seed(1)
    config = ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, image_size=32)
    model = ConvNextModel(config).eval()
    model.save_pretrained(folder)
    transformers.ConvNextImageProcessorPil(size={"shortest_edge": 32}).save_pretrained(folder)
    return model


def clip(folder):
    torch.manual_seed(1)
    vision = {**SMALL, "image_size": 32, "patch_size": 8}
    text = {**SMALL, "vocab_size": 14, "max_position_embeddings": 8, "eos_token_id": 3}
    model = CLIPModel(CLIPConfig(vision_config=vision, text_config=text)).eval()
    model.save_pretrained(folder)
    processor = transformers.CLIPImageProcessorPil(size={"shortest_edge": 40}, crop_size={"height": 32, "width": 32})
    processor.save_pretrained(folder)
    return model
