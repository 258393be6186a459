"""Features of texts by a Hugging Face folder's own model, as they enter its output layer."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["features_of_texts"]

BATCH = 32
LONGEST = 512
MUCH = 10**6


def features_of_texts(
    folder: Path, config: Mapping[str, Any], weight_key: str
) -> Callable[[Any], npt.NDArray[Any]] | None:
    """Return a function from a list of texts to features (n_texts, n_features), or None where it cannot be known here.

    The model is loaded when it is first called, from safetensors and without any code of the folder's own.

    Parameters
    ----------
    folder, config
        The model's.
    weight_key
        Of its output layer, which must read one vector for each text.
    """
    tasks = config.get("architectures")
    classifies = isinstance(tasks, list) and len(tasks) == 1 and str(tasks[0]).endswith("ForSequenceClassification")
    tokenizer = any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"))
    by_position = weight_key.startswith("score.")  # decoders score every position, then choose one
    weights = any((folder / name).is_file() for name in ("model.safetensors", "model.safetensors.index.json"))
    installed = find_spec("transformers") is not None and find_spec("torch") is not None
    if not (classifies and tokenizer and weights and installed) or by_position or config.get("auto_map"):
        return None
    loaded: list[Callable[[Sequence[str]], npt.NDArray[Any]]] = []

    def features(texts: Any) -> npt.NDArray[Any]:
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise ValueError("the model reads a list of texts, got other inputs")
        if not loaded:
            loaded.append(_load(folder, weight_key.removesuffix(".weight")))
        blocks = [loaded[0](texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        return np.concatenate(blocks) if blocks else np.zeros((0, 0))

    return features


def _load(folder: Path, layer: str) -> Callable[[Sequence[str]], npt.NDArray[Any]]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from labelproof.importers.module_features import catch_inputs

    safe = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(folder, **safe)
    model = AutoModelForSequenceClassification.from_pretrained(folder, use_safetensors=True, **safe)
    features = catch_inputs(model, model.get_submodule(layer))
    told = int(tokenizer.model_max_length)  # 10**30 where the tokenizer does not know
    places = int(getattr(model.config, "max_position_embeddings", LONGEST + 2)) - 2  # some models reserve two
    longest = told if told < MUCH else min(LONGEST, places)

    def of_batch(texts: Sequence[str]) -> npt.NDArray[Any]:
        batch = tokenizer(list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt")
        return features(dict(batch))

    return of_batch
