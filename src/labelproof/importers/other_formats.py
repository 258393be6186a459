"""Models that have no output layer to read here, told by their first bytes: what they are, and what to do."""

import json
from pathlib import Path

__all__ = ["OF_TREES", "refusal", "refusal_of_folder"]

FASTTEXT = (793712314).to_bytes(4, "little")
HDF5 = b"\x89HDF\r\n\x1a\n"
NUMBERS = "numpy.savez('layer.npz', weight=..., bias=..., label_names=...)"
OF_TREES = (
    "whose labels are decided by trees and share no feature vector, so no verdict on combinations follows from it: "
    "audit a model with a linear output layer in its place"
)
MOST_JSON = 4096  # bytes that are looked at


def refusal(path: Path) -> str | None:
    """Return in a sentence what a file is and what to do instead, or None where it may be a model that is read here."""
    with open(path, "rb") as stream:
        start = stream.read(MOST_JSON)
    ending = path.suffix.lower()
    if start[:4] == b"GGUF" or ending == ".gguf":
        return (
            "this is a GGUF file, a language model packed for llama.cpp: audit the Hugging Face folder that it was "
            "made from, for its tokens with --vocabulary"
        )
    if start[:8] == HDF5 or ending in (".h5", ".hdf5"):
        return (
            "this is an HDF5 file, as Keras once wrote models: load it with Keras and save it as model.keras, or write "
            f"the kernel of its last Dense layer, transposed, and its bias with {NUMBERS}"
        )
    if start[:4] == FASTTEXT or ending == ".ftz":
        return (
            "this is a fastText model: write get_output_matrix() and get_labels() of a supervised one with "
            f"{NUMBERS}, and audit it with --rule topk if its loss is softmax"
        )
    if ending in (".ubj", ".xgb") or start[:4] == b"binf" or _is_xgboost_json(ending, start):
        return f"this is an XGBoost model, {OF_TREES}"
    if start.startswith(b"tree\nversion="):
        return f"this is a LightGBM model, {OF_TREES}"
    if start[:4] == b"CBM1" or ending == ".cbm":
        return f"this is a CatBoost model, {OF_TREES}"
    return None


def refusal_of_folder(folder: Path) -> str | None:
    """Return the same of a folder."""
    if (folder / "saved_model.pb").is_file() or (folder / "keras_metadata.pb").is_file():
        return (
            "this is a TensorFlow SavedModel, a program that is not run here: write the kernel of its last Dense "
            f"layer, transposed, and its bias with {NUMBERS}"
        )
    packed = sorted(folder.glob("*.gguf"))
    return refusal(packed[0]) if packed and not any(folder.glob("*.safetensors")) else None


def _is_xgboost_json(ending: str, start: bytes) -> bool:
    text = start.decode("utf-8", "replace").lstrip()
    if ending != ".json" or not text.startswith("{"):
        return False
    try:
        key, _ = json.JSONDecoder().raw_decode(text[1:].lstrip())
    except ValueError:
        return False
    return key in ("learner", "Config", "version") and '"learner"' in text
