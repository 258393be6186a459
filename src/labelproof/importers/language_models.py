"""The output layer of a language model, whose labels are the tokens of its vocabulary.

One step of decoding, or one masked place, scores all tokens by one feature vector: logits = features · weightᵀ + bias.
Most models store no weight of their own for that but use their input embeddings (tied). Which tensors those are is told
by the code of an architecture; it is known here for the common ones, and others are asked for.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from labelproof.errors import LabelproofError, ModelFormatError
from labelproof.foundation.json_files import read_json
from labelproof.importers.feature_domains import UNKNOWN, Before, after
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.layer_of_tensors import take
from labelproof.importers.reading import read_layer
from labelproof.importers.tensors import Tensors, shown
from labelproof.importers.token_names import read_token_names

__all__ = ["read_vocabulary"]

TASKS = ("ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForPreTraining", "ForConditionalGeneration", "WithLMHead")
ASK = "say which tensor with weight_key="
_MASKED = ("ForMaskedLM", "ForPreTraining")
_HEADS = (
    *("lm_head", "embed_out", "lm_head.decoder", "cls.predictions.decoder", "cls.predictions", "vocab_projector"),
    *("predictions.decoder", "predictions", "generator_lm_head", "lm_loss", "proj_out", "decoder"),
)
_BIASES = (*(f"{head}.bias" for head in _HEADS), "final_logits_bias")
_EMBEDDINGS = ("wte", "embed_tokens", "word_embeddings", "tok_embeddings", "shared", "embed_in", "word_embedding")
_LAYER_NORM = {
    *("gpt2", "gpt_neo", "gpt_neox", "gptj", "codegen", "opt", "bloom", "falcon", "phi", "cohere", "bert", "roberta"),
    *("xlm-roberta", "camembert", "distilbert", "albert", "electra", "mpnet", "modernbert", "fnet", "ernie"),
}
_RMS_NORM = {"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "granite", "olmo2", "phi3"}
_OTHERS = {"bart", "mbart", "marian", "t5", "mt5", "xlnet", "deberta-v2", "whisper"}
_TIED = _LAYER_NORM | _RMS_NORM | _OTHERS  # whose head is their embeddings and nothing else, unless it is stored


def read_vocabulary(path: str | os.PathLike[str], *, weight_key: str | None = None, bias: Any = None) -> ImportedLayer:
    """Read the layer with which a language model scores its tokens.

    Parameters
    ----------
    path
        A Hugging Face folder with a language model, or any file of weights that `labelproof.importers.read_layer`
        takes, whose rows are then the tokens.
    weight_key
        Name of the weight, where the folder does not tell: the input embeddings of an encoder without a head, say.
    bias
        As in `read_layer`.

    Returns
    -------
    ImportedLayer
        With the rule topk, and as label names the tokens where the folder has them.

    Raises
    ------
    ModelFormatError, DataFormatError
        In one sentence that begins with the folder's name.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/head.npy", np.eye(4, 3))
    ...     layer = read_vocabulary(f"{folder}/head.npy")
    >>> layer.weight.shape, layer.rule  # four tokens
    ((4, 3), 'topk')
    """
    from labelproof.importers.huggingface import is_hugging_face

    place = Path(path)

    if not (place.is_dir() and is_hugging_face(place)) or (place / "audit.json").is_file():
        return replace(read_layer(path, weight_key=weight_key, bias=bias), rule="topk", thresholds=None, notes=())
    try:
        return _of_folder(place, weight_key, bias)
    except LabelproofError:
        raise
    except ValueError as error:
        raise ModelFormatError(f"{place.resolve().name}: {error}") from error


def _of_folder(folder: Path, weight_key: str | None, bias: Any) -> ImportedLayer:
    from labelproof.importers.huggingface import tensors_of_folder

    config = read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
    if not isinstance(config, dict):
        raise ValueError("expected an object in config.json, got another value")

    tensors = tensors_of_folder(folder)
    key = _named(tensors, weight_key) if weight_key is not None else _head(config, tensors)
    layer = take(
        tensors,
        key,
        bias if bias is not None or weight_key is not None else _bias(config, tensors),
        model=folder.resolve().name,
        kind="Hugging Face folder",
        before=UNKNOWN if weight_key is not None else _before(config),
        rule="topk",
        notes=tuple(_notes(config, key, asked=weight_key is not None)),
    )
    names, note = read_token_names(folder, layer.n_labels)
    return replace(layer, label_names=names, notes=(*layer.notes, *([note] if note else [])))


def _named(tensors: Tensors, weight_key: str) -> str:
    for key in (weight_key, f"{weight_key}.weight"):
        if key in tensors:
            if len(tensors[key].shape) != 2:
                raise ValueError(f"expected a weight of shape (tokens, features), got {shown(tensors, [key])}")
            return key
    raise ValueError(f"expected the tensor {weight_key!r}, got {_matrices(tensors) or 'no tensors'}")


def _matrices(tensors: Tensors) -> str:
    return shown(tensors, [key for key, tensor in tensors.items() if len(tensor.shape) > 1])


def _task(config: Mapping[str, Any]) -> str:
    tasks = config.get("architectures") or []
    return str(tasks[0]) if isinstance(tasks, list) and len(tasks) == 1 else ""


def _head(config: Mapping[str, Any], tensors: Tensors) -> str:
    """Return the key of the weight that scores the tokens."""
    task, kind = _task(config), str(config.get("model_type"))
    if not task.endswith((*TASKS, "MTModel")):
        raise ValueError(f"{task or 'the folder'} has no language model's head; to take another matrix, {ASK}")
    if config.get("auto_map"):
        raise ValueError(f"the folder brings code of its own, so what its head computes is not known: {ASK}")
    if any(key.endswith("cls.predictions.dense.weight") for key in tensors):
        raise ValueError(f"the head of {task} is made of two tensors, which is not read")
    stored, embeddings = _stored(tensors), _embeddings(tensors)
    if len(stored) > 1:
        raise ValueError(f"expected one head, got {shown(tensors, stored)}: {ASK}")
    tied = config.get("tie_word_embeddings", True)
    if stored:
        if tied and len(embeddings) == 1 and not _are_equal(tensors, stored[0], embeddings[0]):
            raise ValueError(f"{stored[0]} differs from {embeddings[0]}, though the configuration ties them: {ASK}")
        return stored[0]
    found = shown(tensors, embeddings) or _matrices(tensors)
    if not tied:
        raise ValueError(f"expected the head's weight, such as lm_head.weight, got {found}: {ASK}")
    if kind not in _TIED or len(embeddings) != 1:
        raise ValueError(f"no head is stored, and which tensor a {kind} takes for it is not known ({found}): {ASK}")
    return embeddings[0]


def _stored(tensors: Tensors) -> list[str]:
    names = [f"{head}.weight" for head in _HEADS]
    return [key for key, tensor in tensors.items() if len(tensor.shape) == 2 and _is_called(key, names)]


def _is_called(key: str, names: Sequence[str]) -> bool:
    """Return whether a key is one of these names, itself or below a model's prefix."""
    below = [f".{name}" for name in names if not name.startswith("decoder.")]  # many modules have a decoder
    return key in names or key.endswith(tuple(below))


def _embeddings(tensors: Tensors) -> list[str]:
    """Return the input embeddings; of an encoder's and a decoder's, those that both share, else the decoder's."""
    found = [
        key
        for key, tensor in tensors.items()
        if len(tensor.shape) == 2 and key.removesuffix(".weight").split(".")[-1] in _EMBEDDINGS
    ]
    for preferred in (".shared.", ".decoder."):
        if len(found) > 1:
            found = [key for key in found if preferred in f".{key}"] or found
    return found


def _are_equal(tensors: Tensors, one: str, other: str) -> bool:
    return tensors[one].shape == tensors[other].shape and np.array_equal(tensors[one].read(), tensors[other].read())


def _bias(config: Mapping[str, Any], tensors: Tensors) -> Any:
    """Return the key of the head's bias, or None; several of them must be equal."""
    found = [key for key in tensors if _is_called(key, _BIASES)]
    different = [key for key in found[1:] if not _are_equal(tensors, found[0], key)]
    if different:
        raise ValueError(f"expected one bias of the head, got {shown(tensors, [found[0], different[0]])}, which differ")
    if not found and _task(config).endswith(_MASKED):
        raise ValueError(f"expected the bias of {_task(config)}'s head, such as cls.predictions.bias, got none")
    return found[0] if found else None


def _before(config: Mapping[str, Any]) -> Before:
    kind = str(config.get("model_type"))
    return after("layernorm") if kind in _LAYER_NORM else after("rmsnorm") if kind in _RMS_NORM else UNKNOWN


def _notes(config: Mapping[str, Any], key: str, *, asked: bool) -> list[str]:
    """Say what stands around the layer that does not change which token is first, and what was assumed."""
    inner = config.get("text_config")
    settings = {**config, **(inner if isinstance(inner, dict) else {})}
    notes = []
    if asked:
        notes.append(f"{key} was asked for by name, and is taken to score the tokens as it is.")
    elif not _is_called(key, [f"{head}.weight" for head in _HEADS]):
        notes.append(f"The head is tied to the input embeddings, {key}.")
    if settings.get("final_logit_softcapping"):
        notes.append("The model caps its logits by a tanh, which rises with them: up to rounding, their order stays.")
    for name in ("logit_scale", "logits_scaling"):
        value = settings.get(name)
        if isinstance(value, int | float) and value not in (0, 1):
            if value < 0:
                raise ValueError(f"expected a positive {name} in config.json, got {value}")
            notes.append(f"The model scales its logits ({name} = {value:g}), which leaves their order as it is.")
    return notes
