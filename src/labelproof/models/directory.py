"""The model folder: what a model is, in files that any program can read; nothing is pickled.

::

    config.json         format and version, the encoder's description, the configuration of the training
    model.safetensors   weights, as encoder.* and head.*
    labels.json         names of the labels, in the order of the logits
    rule.json           the decision rule
    rules/              rules for other metrics, if there are any: macro-f1.json and so on
    encoder/            files of the encoder, such as a vocabulary
    metrics.json        of the validation and test data
    README.md           a model card

The folder can be moved: it needs nothing outside of it.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from labelproof import encoders
from labelproof.decisions import load_rule
from labelproof.errors import DataFormatError, ModelFormatError
from labelproof.foundation.json_files import read_json
from labelproof.foundation.writing import recover, write_folder
from labelproof.models.card import model_card
from labelproof.models.model import Model
from labelproof.training import ConfigError, TrainConfig
from labelproof.training.heads import build_head

__all__ = [
    "VERSION",
    "is_model",
    "load_model",
    "model_folder",
    "read_member",
    "save_model",
    "write_json",
    "write_model",
    "write_text_file",
]

FORMAT = "labelproof model"
VERSION = 1


def save_model(model: Model, directory: str | Path) -> None:
    """Write a model to a folder, which is there complete or not at all; a model that is there already is replaced.

    Parameters
    ----------
    model
        The model.
    directory
        Of the model.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import labelproof as lp
    >>> X, Y = np.eye(8), np.tile([[1, 0], [0, 1]], (4, 1))
    >>> model = lp.models.Model.of(lp.MultiLabelClassifier(head="svm", random_state=0).fit(X, Y))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model")
    ...     sorted(path.name for path in (Path(folder) / "model").glob("*.json"))
    ['config.json', 'labels.json', 'metrics.json', 'rule.json']
    """
    write_folder(directory, lambda draft: write_model(model, draft), may_replace=is_model, what="a model")


def load_model(directory: str | Path) -> Model:
    """Read a model from its folder, or from the folder of the run that trained it.

    Parameters
    ----------
    directory
        That ``Model.save`` or ``labelproof train`` wrote.

    Raises
    ------
    ModelFormatError
        If it is no model, or one of a newer format.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import labelproof as lp
    >>> X, Y = np.eye(8), np.tile([[1, 0], [0, 1]], (4, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lp.MultiLabelClassifier(head="svm", random_state=0).fit(X, Y).save(folder)
    ...     load_model(folder).weight.shape
    torch.Size([2, 8])
    """
    folder = model_folder(directory)
    head = read_member(folder, "config.json")
    _check_format(head, folder)
    names = read_member(folder, "labels.json")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelFormatError(f"{folder / 'labels.json'}: expected a list of names")
    metrics = read_member(folder, "metrics.json")
    if not isinstance(metrics, dict):
        raise ModelFormatError(f"{folder / 'metrics.json'}: expected an object, got {type(metrics).__name__}")
    try:
        config = TrainConfig.from_dict(head["training"])
        with torch.random.fork_rng(devices=[]):  # weights are drawn before they are loaded
            encoder = encoders.load(head["encoder"], folder / "encoder")
            layer = build_head(config.head, encoder.width, len(names))
        _load_weights(nn.ModuleDict({"encoder": encoder, "head": layer}), folder / "model.safetensors")
        rules = {path.stem: load_rule(path) for path in sorted((folder / "rules").glob("*.json"))}
        return Model(encoder, layer, tuple(names), load_rule(folder / "rule.json"), config, metrics, rules)
    except (ConfigError, KeyError, DataFormatError, ValueError) as error:
        raise ModelFormatError(f"{folder}: {_sentence(error)}") from error
    except FileNotFoundError as error:
        raise ModelFormatError(f"{error.filename}: the model lacks this file") from error


def model_folder(directory: str | Path) -> Path:
    """Return the folder of a model, which may be within that of the run that trained it."""
    folder = Path(directory)
    inner = folder / "model"
    recover(inner if folder.exists() else folder)
    return inner if not (folder / "config.json").exists() and (inner / "config.json").exists() else folder


def write_model(model: Model, folder: Path) -> None:
    """Write the files of a model into an empty folder."""
    (folder / "encoder").mkdir()
    model.encoder.save_files(folder / "encoder")
    described = {
        "format": FORMAT,
        "version": VERSION,
        "encoder": model.encoder.description(),
        "training": model.config.to_dict(),
    }
    for name, content in (
        ("config.json", described),
        ("labels.json", list(model.label_names)),
        ("metrics.json", model.metrics),
    ):
        write_json(folder / name, content)
    write_text_file(folder / "README.md", model_card(model))
    model.rule.save(folder / "rule.json")
    if model.rules:
        (folder / "rules").mkdir()
    for name, rule in model.rules.items():
        rule.save(folder / "rules" / f"{name}.json")
    parts = nn.ModuleDict({"encoder": model.encoder, "head": model.head})
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in parts.state_dict().items()}
    try:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    except SafetensorError as error:  # such as a full disk
        raise OSError(_sentence(error)) from error


def write_json(path: Path, content: Any) -> None:
    """Write a file of a model."""
    write_text_file(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def write_text_file(path: Path, text: str) -> None:
    """Write a file; half a pair of surrogates, which UTF-8 does not have, is written as JSON does."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def _load_weights(parts: nn.Module, path: Path) -> None:
    if not path.exists():
        raise ModelFormatError(f"{path}: no such file, expected the weights of a model")
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except SafetensorError as error:
        raise ModelFormatError(f"{path}: expected weights, got a damaged file ({_sentence(error)})") from error
    try:
        first = next((tensor for tensor in tensors.values() if tensor.is_floating_point()), torch.empty(0))
        parts.to(first.dtype).load_state_dict(tensors)
    except RuntimeError as error:
        raise ModelFormatError(f"{path}: the weights do not fit the model: {_sentence(error)}") from error


def _check_format(head: Any, folder: Path) -> None:
    path = folder / "config.json"
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ModelFormatError(f"{path}: expected the format {FORMAT!r}, got another file")
    version = head.get("version")
    if type(version) is not int or version < 1:
        raise ModelFormatError(f"{path}: expected a version from 1 to {VERSION} of the format, got {version!r}")
    if version > VERSION:
        raise ModelFormatError(
            f"{path}: the model has version {version} of the format; this labelproof reads up to {VERSION}: upgrade it"
        )


def read_member(folder: Path, name: str) -> Any:
    """Read a JSON file of a model."""
    path = folder / name
    if not path.exists():
        got = "a file" if folder.is_file() else f"no {name} in it" if folder.is_dir() else "no such folder"
        raise ModelFormatError(f"{folder}: expected the folder of a model, got {got}")
    try:
        return read_json(path, where="", most_bytes=None)
    except ValueError as error:
        raise ModelFormatError(f"{path}: {error}") from error


def is_model(folder: Path) -> bool:
    """Return whether a folder holds a model, which may be replaced by another."""
    try:
        return bool(read_json(folder / "config.json", most_bytes=None).get("format") == FORMAT)
    except (OSError, ValueError, AttributeError):
        return False


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"config.json lacks the entry {error.args[0]}"
    return " ".join(str(error).split()) or type(error).__name__
