"""One layer with a bias, saved in every form that importers read."""

import json
from pathlib import Path

import numpy as np
import scipy.sparse

WEIGHT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.5, -2.0]])
BIAS = np.array([0.5, -0.25, -1.0, 1.5])
NAMES = ("cat", "dog", "fish", "owl")


def write_npz(folder):
    np.savez(folder / "m.npz", weight=WEIGHT, bias=BIAS, label_names=np.array(NAMES))
    return folder / "m.npz"


def write_letters(folder):
    np.savez(folder / "m.npz", W=WEIGHT, b=BIAS)
    return folder / "m.npz"


def write_coefficients(folder):
    np.savez(folder / "sk.npz", coef_=WEIGHT, intercept_=BIAS, classes=np.array(NAMES))
    return folder / "sk.npz"


def write_libmultilabel(folder):
    np.savez(folder / "m.npz", weights=np.vstack([WEIGHT.T, BIAS]), bias=1.0)
    return folder / "m.npz"


def write_safetensors(folder):
    from safetensors.numpy import save_file

    save_file({"classifier.weight": WEIGHT, "classifier.bias": BIAS}, folder / "m.safetensors")
    return folder / "m.safetensors"


def write_checkpoint(folder):
    import torch

    state = {"model.fc.weight": torch.tensor(WEIGHT), "model.fc.bias": torch.tensor(BIAS)}
    torch.save({"state_dict": state}, folder / "m.ckpt")
    return folder / "m.ckpt"


def write_hugging_face(folder):
    from safetensors.numpy import save_file

    (folder / "hf").mkdir()
    save_file({"classifier.weight": WEIGHT, "classifier.bias": BIAS}, folder / "hf" / "model.safetensors")
    config = {"id2label": dict(enumerate(NAMES)), "problem_type": "multi_label_classification"}
    (folder / "hf" / "config.json").write_text(json.dumps(config))
    return folder / "hf"


def write_sparse_parts(folder):
    from labelproof.importers.tables import arrays_of_weight

    parts = arrays_of_weight(scipy.sparse.csr_array(WEIGHT))
    np.savez(folder / "parts.npz", **parts, bias=BIAS, label_names=np.array(NAMES))
    return folder / "parts.npz"


def write_sparse_skops(folder):
    return write_skops(folder, sparse=True)


def write_skops(folder, sparse=False):
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer
    from skops import io

    model = OneVsRestClassifier(LogisticRegression())
    names = np.array(NAMES)
    model.fit(np.eye(4, 2), np.eye(4, dtype=int))
    for estimator, row, bias in zip(model.estimators_, WEIGHT, BIAS, strict=True):
        estimator.coef_, estimator.intercept_ = row[None], np.array([bias])
        if sparse:
            estimator.sparsify()
    model.label_binarizer_ = LabelBinarizer().fit(np.eye(4, dtype=int))
    model.label_binarizer_.classes_ = names
    io.dump(model, folder / "m.skops")
    return folder / "m.skops"


def write_onnx(folder):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    stored = [numpy_helper.from_array(WEIGHT, "W"), numpy_helper.from_array(BIAS, "B")]
    node = helper.make_node("Gemm", ["x", "W", "B"], ["logits"], transB=1)
    ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in ("x", "logits")]
    onnx.save(helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:], stored)), folder / "m.onnx")
    return folder / "m.onnx"


def write_keras(folder):
    import keras

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(4, activation="sigmoid", dtype="float64")])
    model.layers[-1].set_weights([WEIGHT.T, BIAS])
    model.save(folder / "m.keras")
    return folder / "m.keras"


def write_pecos(folder):
    (folder / "pecos").mkdir()
    matrix = scipy.sparse.csc_matrix(np.vstack([WEIGHT.T, BIAS]).astype(np.float32))
    scipy.sparse.save_npz(folder / "pecos" / "W.npz", matrix)
    (folder / "pecos" / "param.json").write_text(json.dumps({"model": "MLModel", "bias": 1.0}))
    return folder / "pecos"


def write_audit(folder):
    import labelproof as lp
    from labelproof.importers import ImportedLayer

    layer = ImportedLayer(WEIGHT, BIAS, "float64", "m", "arrays", "m", label_names=NAMES)
    lp.audit(layer, [[0]]).save(folder / "audit")
    return folder / "audit"


def write_audited_layer(folder):
    return write_audit(folder) / "layer.npz"


EVERY_FORMAT = {
    "npz": (write_npz, True),
    "npz of W and b": (write_letters, False),
    "npz of scikit-learn's names": (write_coefficients, True),
    "LibMultiLabel": (write_libmultilabel, False),
    "safetensors": (write_safetensors, False),
    "checkpoint": (write_checkpoint, False),
    "Hugging Face": (write_hugging_face, True),
    "npz of a sparse weight": (write_sparse_parts, True),
    "skops": (write_skops, True),
    "skops of sparse weights": (write_sparse_skops, True),
    "ONNX": (write_onnx, False),
    "Keras": (write_keras, False),
    "PECOS": (write_pecos, False),
    "audit": (write_audit, True),
    "layer.npz of an audit": (write_audited_layer, True),
}
"""How to write each form, and whether it holds names."""


def write_plain(folder: Path, ending: str) -> tuple[Path, Path]:
    """A matrix alone, and its bias in another file."""
    separator = {".csv": ",", ".tsv": "\t", ".txt": " "}
    for name, values in (("w", WEIGHT), ("b", BIAS)):
        if ending == ".npy":
            np.save(folder / f"{name}.npy", values)
        else:
            np.savetxt(folder / f"{name}{ending}", values, fmt="%.17g", delimiter=separator[ending])
    return folder / f"w{ending}", folder / f"b{ending}"
