"""Features of texts and images by a Hugging Face folder's own model, as they enter its output layer."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["running"]

BATCH = 32
LONGEST = 512
MUCH = 10**6
TASKS = {"ForSequenceClassification": "text", "ForImageClassification": "image"}
NEEDED = {
    "text": ("tokenizer.json", "tokenizer_config.json", "vocab.txt"),
    "image": ("preprocessor_config.json", "processor_config.json"),
}
Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]  # features and logits


def running(folder: Path, config: Mapping[str, Any], weight_key: str) -> dict[str, Any]:
    """Return the parts of an `ImportedLayer` that run the folder's model: features, logits and what it reads.

    The model is loaded when one of them is first called, from safetensors and without any code of the folder's own.

    Parameters
    ----------
    folder, config
        The model's.
    weight_key
        Of its output layer, which must read one vector for each input.

    Returns
    -------
    dict
        Nothing where the model cannot be run here.
    """
    tasks = config.get("architectures")
    task = str(tasks[0]) if isinstance(tasks, list) and len(tasks) == 1 else ""
    kind = next((kind for ending, kind in TASKS.items() if task.endswith(ending)), None)
    by_position = weight_key.startswith("score.")  # decoders score every position, then choose one
    weights = any((folder / name).is_file() for name in ("model.safetensors", "model.safetensors.index.json"))
    installed = find_spec("transformers") is not None and find_spec("torch") is not None
    if kind is None or not (weights and installed) or by_position or config.get("auto_map"):
        return {}
    if not any((folder / name).is_file() for name in NEEDED[kind]):
        return {}
    loaded: list[Callable[[Sequence[Any]], Arrays]] = []

    def run(inputs: Any) -> Arrays:
        if isinstance(inputs, str) or (kind == "text" and not all(isinstance(text, str) for text in inputs)):
            raise ValueError(f"the model reads a list of {kind}s, got other inputs")
        if not loaded:
            loaded.append(_load(folder, kind, weight_key.removesuffix(".weight")))
        if not len(inputs):
            return np.zeros((0, 0)), np.zeros((0, 0))
        blocks = [loaded[0](inputs[start : start + BATCH]) for start in range(0, len(inputs), BATCH)]
        return np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])

    return {"features": lambda inputs: run(inputs)[0], "logits": lambda inputs: run(inputs)[1], "reads": kind}


def _load(folder: Path, kind: str, layer: str) -> Callable[[Sequence[Any]], Arrays]:
    import transformers

    from labelproof.importers.module_features import catch_inputs_and_output

    safe = {"local_files_only": True, "trust_remote_code": False}
    if kind == "text":
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, use_safetensors=True, **safe)
        prepare = _tokenizer(folder, model, safe)
    else:
        model = transformers.AutoModelForImageClassification.from_pretrained(folder, use_safetensors=True, **safe)
        prepare = _image_processor(folder, safe)
    run = catch_inputs_and_output(model, model.get_submodule(layer))
    return lambda inputs: run(prepare(inputs))


def _tokenizer(folder: Path, model: Any, safe: dict[str, bool]) -> Callable[[Sequence[str]], dict[str, Any]]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, **safe)
    told = int(tokenizer.model_max_length)  # 10**30 where the tokenizer does not know
    places = int(getattr(model.config, "max_position_embeddings", LONGEST + 2)) - 2  # some models reserve two
    longest = told if told < MUCH else min(LONGEST, places)

    def prepare(texts: Sequence[str]) -> dict[str, Any]:
        return dict(tokenizer(list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt"))

    return prepare


def _image_processor(folder: Path, safe: dict[str, bool]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    from PIL import Image
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(folder, **safe)  # type: ignore[no-untyped-call]

    def prepare(paths: Sequence[Any]) -> dict[str, Any]:
        images = []
        for path in paths:
            with Image.open(path) as image:
                images.append(image.convert("RGB"))
        return dict(processor(images=images, return_tensors="pt"))

    return prepare
