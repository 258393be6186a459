"""Read the output layer of a saved model, whatever program saved it: the one reader of all verbs and functions.

The reader of a format, and the packages that it needs, are imported when a file of that format comes.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelproof.errors import LabelproofError, ModelFormatError
from labelproof.foundation.writing import recover
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.number_files import read_arrays_layer, read_bias, read_table_layer
from labelproof.importers.other_formats import refusal, refusal_of_folder
from labelproof.importers.tables import SEPARATORS

if TYPE_CHECKING:
    from labelproof.importers.tensors import Tensors

__all__ = ["read_layer"]

CHECKPOINTS = (".pt", ".pth", ".bin", ".ckpt", ".th")
PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".sav")
SAFE = (
    "save a scikit-learn estimator with skops.io.dump, a torch model with safetensors, "
    "or the numbers with numpy.savez(weight=..., bias=...)"
)
PLAIN = ("model", "best", "best_model", "final", "final_model", "last", "checkpoint")  # names that tell nothing
READ = ".safetensors, .npz, .npy, .csv, .tsv, .txt, .pt, .pth, .bin, .ckpt, .skops, .onnx, .keras, or a model's folder"


def read_layer(
    path: str | os.PathLike[str], *, weight_key: str | None = None, bias: Any = None, n_labels: int | None = None
) -> ImportedLayer:
    """Read the output layer of a saved model.

    Nothing is unpickled but by ``torch.load(weights_only=True)``, and sizes are checked before memory is taken.

    Parameters
    ----------
    path
        A folder of labelproof, Hugging Face, PECOS or an audit, or a file: .safetensors, .npz, .npy, .csv, .tsv, .txt,
        a torch checkpoint (.pt, .pth, .bin, .ckpt), a scikit-learn estimator saved by skops (.skops),
        .onnx or .keras.
    weight_key
        Name of the weight, where the model has several candidates or unusual names.
    bias
        The bias: path of a file of numbers, an array (n_labels,), or the name of a tensor in the same file. By default
        the one that goes with the weight.
    n_labels
        Number of labels, where it is known: it tells which side of a sparse matrix is the labels, and decides between
        layers that could be the output layer.

    Returns
    -------
    ImportedLayer

    Raises
    ------
    ModelFormatError, DataFormatError
        In one sentence that begins with the file's name, if there is no such layer, more than one, or one whose labels
        do not share one feature vector.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/w.npz", weight=np.eye(3, 2, dtype=np.float32), bias=np.ones(3))
    ...     layer = read_layer(f"{folder}/w.npz")
    >>> layer.weight.shape, layer.dtype, layer.source
    ((3, 2), 'float32', 'weight of w.npz')
    """
    path = Path(path)
    recover(path / "model" if path.exists() else path)
    if not path.is_file() and not path.is_dir():
        raise ModelFormatError(f"{path}: {'neither a file nor a' if path.exists() else 'no such file or'} folder")
    name = path.resolve().name
    try:
        return _read(path, weight_key, bias, n_labels)
    except LabelproofError:
        raise
    except ValueError as error:
        raise ModelFormatError(f"{name}: {str(error).removesuffix(f' ({name})')}") from error  # named once


def _read(path: Path, weight_key: str | None, bias: Any, n_labels: int | None) -> ImportedLayer:
    if path.is_dir():
        layer = _read_folder(path.resolve(), weight_key, bias, n_labels)
        return replace(layer, model=_called(path.resolve()))
    if (other := refusal(path)) is not None:
        raise ValueError(other)
    ending = path.suffix.lower()
    if ending == ".npy" or ending in SEPARATORS:
        _refuse_option("weight_key", weight_key, "a file of one matrix")
        return read_table_layer(path, read_bias(bias), n_labels)
    if ending == ".npz":
        return read_arrays_layer(path, weight_key=weight_key, bias=read_bias(bias), n_labels=n_labels)
    if ending == ".safetensors":
        from labelproof.importers.safetensors_files import read_safetensors

        return _take(read_safetensors(path), path, "safetensors file", weight_key, bias, n_labels)
    if ending in CHECKPOINTS:
        from labelproof.importers.checkpoints import read_checkpoint

        return _take(read_checkpoint(path, weight_key), path, "torch checkpoint", weight_key, bias, n_labels)
    if ending == ".skops":
        from labelproof.importers.skops_files import read_skops

        _refuse_option("weight_key", weight_key, "an estimator")
        _refuse_option("bias", bias, "an estimator")
        return read_skops(path)
    if ending == ".onnx":
        from labelproof.importers.onnx_files import read_onnx

        _refuse_option("bias", bias, "an ONNX file")
        return read_onnx(path, weight_key=weight_key)
    if ending == ".keras":
        from labelproof.importers.keras_files import read_keras

        _refuse_option("bias", bias, "a Keras file")
        return read_keras(path, weight_key=weight_key)
    if ending in PICKLES:
        raise ValueError(f"expected a file that is safe to open, got a pickle, which can run any code: {SAFE}")
    raise ValueError(f"expected {READ}, got {ending or 'no ending'}")


def _read_folder(folder: Path, weight_key: str | None, bias: Any, n_labels: int | None) -> ImportedLayer:
    from labelproof.importers.huggingface import is_hugging_face, read_hugging_face
    from labelproof.importers.linear_files import is_pecos, read_pecos
    from labelproof.importers.own_models import is_own_model, read_own_model

    is_audit = (folder / "audit.json").is_file() and (folder / "layer.npz").is_file()
    if is_audit or is_own_model(folder) or is_pecos(folder):
        _refuse_option("weight_key", weight_key, "such a model")
        _refuse_option("bias", bias, "such a model")
        if is_audit:
            layer = read_arrays_layer(folder / "layer.npz", weight_key=None, bias=None, n_labels=None)
            return replace(layer, kind="folder of an audit")
        return read_own_model(folder) if is_own_model(folder) else read_pecos(folder)
    pickles = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
    if "model_head.pkl" in pickles or (pickles and not is_hugging_face(folder)):
        raise ValueError(f"expected files that are safe to open, got the pickle {pickles[0]}: {SAFE}")
    if (other := refusal_of_folder(folder)) is not None:
        raise ValueError(other)
    if is_hugging_face(folder):
        return read_hugging_face(folder, weight_key=weight_key, bias=bias, prefers=n_labels)
    raise ValueError("expected the folder of a model (config.json with model.safetensors), got neither")


def _called(folder: Path) -> str:
    """Return what to call the model of a folder: its name, with that of the folder above where it tells nothing."""
    return f"{folder.parent.name}/{folder.name}" if folder.name in PLAIN and folder.parent.name else folder.name


def _refuse_option(name: str, value: Any, what: str) -> None:
    if value is not None:
        raise ValueError(f"{name} must not be given for {what}, whose layer is known, got {value!r}")


def _take(
    tensors: "Tensors", path: Path, kind: str, weight_key: str | None, bias: Any, n_labels: int | None
) -> ImportedLayer:
    from labelproof.importers.candidates import choose_weight
    from labelproof.importers.layer_of_tensors import take

    key = choose_weight(tensors, weight_key=weight_key, prefers=n_labels)
    return take(tensors, key, bias, model=path.name, kind=kind)
