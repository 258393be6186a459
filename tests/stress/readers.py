"""Every kind of file that a user can hand to labelproof: a sound one, and what reads it."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import labelproof as lp
from labelproof.auditing import read_document
from labelproof.data import Dataset, read_label_file, save_dataset
from labelproof.decisions import PerLabelThreshold, load_rule
from labelproof.importers import read_layer
from labelproof.training.callbacks import read_checkpoint
from labelproof.training.config_files import read_config
from labelproof.training.run_records import RunRecord, append_record, read_records

WEIGHT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.5, -2.0]], np.float32)
BIAS = np.array([0.5, -0.5, 0.25, 0.0], np.float32)
FEATURES = np.array([[1.0, 2.0], [-1.0, 0.5], [0.25, -3.0], [2.0, 2.0]])
SETS = [[0], [0, 1], [0, 1, 2], []]
ROWS = [{"text": "a robin", "labels": ["bird", "red"]}, {"text": "no", "labels": []}, {"text": "c", "labels": ["x"]}]


@dataclass(frozen=True)
class Reader:
    """A file's name, what writes a sound one to a path, and what reads it."""

    name: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]


def readers() -> Iterator[Reader]:
    """Yield every kind of file whose package is installed."""
    yield from _data()
    yield from _layers()
    yield Reader("labels.jsonl", _text('{"labels": [0, 1]}\n{"labels": ["b"]}\n'), _labels)
    yield Reader("labels.csv", _text("a,b,c,d\n1,0,0,1\n0,0,1,0\n"), _labels)
    yield Reader("labels.npz", lambda p: scipy.sparse.save_npz(p, scipy.sparse.csr_matrix(np.eye(4))), _labels)
    yield Reader("verdicts.npz", lambda p: _verified().save(p), _check_verdicts)
    yield Reader("run.json", _run_of_parts, _check_parts)
    yield Reader("stretch.npz", lambda p: _stretched().save(p), _check_stretch)
    yield Reader("rule.json", lambda p: _rule().save(p), load_rule)
    yield Reader("config.yaml", _text(CONFIG), read_config)
    yield Reader("audit.json", _audit, read_document)
    yield Reader("last.ckpt", _state_of_a_run, read_checkpoint)
    yield Reader("runs.jsonl", _record_of_a_run, read_records)


CONFIG = "data: {path: a.csv, min_count: 2}\nhead: {kind: dft, k: 3}\nloss: {kind: focal}\ntrainer:\n  epochs: 3\n"
ARFF = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute 'b c' numeric\n@attribute d {r,g}\n@data\n1,0.5,r\n0,?,g\n"
SPARSE_ARFF = "@relation 'x: -C -1'\n@attribute b numeric\n@attribute a {0,1}\n@data\n{0 2.5,1 1}\n{}\n{0 1e3}\n"


def _data() -> Iterator[Reader]:
    texts = {
        "a.csv": 'text,labels,split\n"a, b",bird;cat,train\nc,"[""x""]",test\n',
        "a.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
        "a.json": json.dumps(ROWS),
        "a.svm": "0,2 0:0.5 3:2 # c\n 2:0\n1 1:1\n",
        "a.txt": "3 4 3\n0,2 0:0.5 3:2\n 2:0\n1 1:1\n",
        "dense.arff": ARFF,
        "sparse.arff": SPARSE_ARFF,
    }
    for name, text in texts.items():
        yield Reader(name, _text(text), lp.load_dataset)
    matrix = scipy.sparse.csr_array(np.eye(3, dtype=np.float32))
    data = Dataset(np.eye(3), ("a", "b", "c"), texts=("x", "y", "z"), features=matrix)
    for name in ("a.npz", "a.parquet", "a.jsonl.gz", "a.jsonl.xz", "a.jsonl.bz2"):
        yield Reader(name, lambda path: save_dataset(data, path), lp.load_dataset)


def _layers() -> Iterator[Reader]:
    yield Reader("w.npz", lambda p: np.savez(p, weight=WEIGHT, bias=BIAS), read_layer)
    yield Reader("w.npy", lambda p: np.save(p, WEIGHT), read_layer)
    yield Reader("w.csv", _text("1,0\n0,1\n-1,-1\n"), read_layer)
    yield Reader("w.safetensors", _safetensors, read_layer)
    yield Reader("w.pt", _checkpoint, read_layer)
    yield Reader("w.onnx", _onnx, read_layer)
    yield Reader("w.skops", _skops, read_layer)
    yield Reader("w.keras", _keras, read_layer)


def _text(text: str) -> Callable[[Path], Any]:
    return lambda path: path.write_text(text)


def _labels(path: Path) -> object:
    return read_label_file(path, label_names=["a", "b", "c", "d"])


def _verified() -> Any:
    return lp.verify(WEIGHT, SETS, bias=BIAS, radius=True, n_jobs=1)


def _check_verdicts(path: Path) -> None:
    lp.load_verification(path, WEIGHT, bias=BIAS).check(n_jobs=1)


def _run_of_parts(path: Path) -> None:
    lp.verify_in_parts(WEIGHT, SETS, path.parent / "parts", bias=BIAS, part_size=2, n_jobs=1)
    path.write_bytes((path.parent / "parts" / "run.json").read_bytes())


def _check_parts(path: Path) -> None:
    folder = path.parent / "parts"
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_bytes(path.read_bytes())
    lp.load_parts(folder, WEIGHT, bias=BIAS).check(n_jobs=1)


def _stretched() -> Any:
    return lp.stretch(WEIGHT, SETS, FEATURES, bias=BIAS, n_jobs=1)


def _check_stretch(path: Path) -> None:
    lp.load_stretch(path, WEIGHT, FEATURES, bias=BIAS).check(n_jobs=1)


def _rule() -> Any:
    return PerLabelThreshold().fit(np.eye(3), np.eye(3) * 0.8)


def _audit(path: Path) -> None:
    document = lp.audit(WEIGHT, SETS, label_names=list("abcd")).document
    path.write_text(json.dumps(document))


def _state_of_a_run(path: Path) -> None:
    import torch

    state = {"state_dict": {"head.weight": torch.tensor(WEIGHT)}, "callbacks": {"History": {"rows": [{"epoch": 1}]}}}
    torch.save(state, path)


def _record_of_a_run(path: Path) -> None:
    append_record(path, RunRecord({"loss.beta": 2}, 0, {"head": {"kind": "dft"}}, {"digest": "a"}, {"labelproof": "0"}))


def _safetensors(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"classifier.weight": WEIGHT, "classifier.bias": BIAS}, path)


def _checkpoint(path: Path) -> None:
    import torch

    torch.save({"classifier.weight": torch.tensor(WEIGHT), "classifier.bias": torch.tensor(BIAS)}, path)


def _onnx(path: Path) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    inputs = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])
    outputs = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 4])
    numbers = [numpy_helper.from_array(WEIGHT, "w"), numpy_helper.from_array(BIAS, "b")]
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)
    save(helper.make_model(helper.make_graph([node], "g", [inputs], [outputs], numbers)), path)


def _keras(path: Path) -> None:
    import h5py

    settings = {"name": "out", "units": 4, "use_bias": True, "activation": "sigmoid"}
    dense = {"module": "keras.layers", "class_name": "Dense", "config": settings, "registered_name": None}
    model = {"module": "keras", "class_name": "Sequential", "config": {"name": "m", "layers": [dense]}}
    numbers = io.BytesIO()
    with h5py.File(numbers, "w") as stored:
        stored["layers/dense/vars/0"], stored["layers/dense/vars/1"] = WEIGHT.T, BIAS
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.0.0"}))
        archive.writestr("config.json", json.dumps(model))
        archive.writestr("model.weights.h5", numbers.getvalue())


def _skops(path: Path) -> None:
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    model = OneVsRestClassifier(LogisticRegression()).fit(FEATURES, np.eye(4, 3, dtype=int))
    skops.io.dump(model, path)
