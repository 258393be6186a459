"""Models of the transformers package from a local directory: no download, no code of theirs, no pickle."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from labelproof.encoders.model_files import read_object
from labelproof.errors import ModelFormatError
from labelproof.foundation.optional_packages import need

__all__ = ["load_pretrained", "load_tokenizer", "new_model", "save_config", "save_tokenizer"]


def load_pretrained(folder: Path, kind: str, *, needs_pooler: bool = False) -> nn.Module:
    """Return the model of a directory in float32, with all of its weights but perhaps those of its pooler."""
    need("transformers", f"the {kind} encoder")
    from transformers import AutoModel

    read_object(folder / "config.json")
    if not any(folder.glob("*.safetensors")):
        raise ModelFormatError(f"{folder}: expected weights in a .safetensors file, got none")
    with _one_sentence(folder):
        model, info = AutoModel.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    missing = sorted(name for name in info["missing_keys"] if needs_pooler or "pooler" not in name)
    if missing:
        raise ModelFormatError(f"{folder}: expected the weight {missing[0]} in the .safetensors file, got none")
    return _part_for(kind, model)


def new_model(folder: Path, kind: str) -> nn.Module:
    """Return the model that config.json tells of, in float32, its weights still to load."""
    need("transformers", f"the {kind} encoder")
    from transformers import AutoConfig, AutoModel

    read_object(folder / "config.json")
    with _one_sentence(folder):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        model = AutoModel.from_config(config, trust_remote_code=False, dtype=torch.float32)  # type: ignore[no-untyped-call]
    return _part_for(kind, model)


def load_tokenizer(folder: Path, kind: str) -> Any:
    """Return the tokenizer of a directory."""
    need("transformers", f"the {kind} encoder")
    from transformers import AutoTokenizer

    if not any(folder.glob("tokenizer*")) and not any(folder.glob("vocab*")):
        raise ModelFormatError(f"{folder}: expected a tokenizer, such as tokenizer.json, got none")
    with _one_sentence(folder):
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def save_config(model: Any, folder: Path) -> None:
    """Write config.json, without the path that the model came from."""
    content = model.config.to_dict()
    content.pop("_name_or_path", None)
    (folder / "config.json").write_text(json.dumps(content, indent=2, sort_keys=True), encoding="utf-8")


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write the tokenizer's files, without the path that it came from."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content.pop("name_or_path", None)
    path.write_text(json.dumps(content, indent=2, sort_keys=True), encoding="utf-8")


def _part_for(kind: str, model: Any) -> nn.Module:
    """Return the part of the model that reads the encoder's inputs."""
    if kind == "image" and hasattr(model, "vision_model"):
        model = model.vision_model
    elif getattr(model.config, "is_encoder_decoder", False):
        model = model.get_encoder()
    if kind == "transformer" and isinstance(getattr(model, "pooler", None), nn.Module):
        model.pooler.requires_grad_(False)  # the encoder pools by itself
    return model.eval()


@contextmanager
def _one_sentence(folder: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # a damaged directory raises errors of many kinds
        first = str(error).strip().split("\n")[0] or type(error).__name__
        raise ModelFormatError(f"{folder}: expected a model that transformers can load, got: {first}") from error
