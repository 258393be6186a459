"""Commands that write files, with small inputs: what `faults` disturbs."""

import json
from pathlib import Path

import numpy as np
import yaml
from faults import Job

__all__ = ["jobs"]

N, D, LABELS = 60, 6, ("ant", "bee", "cat", "dog")
CONFIG = {
    "data": {"path": "data.jsonl"},
    "encoder": {"kind": "features", "hidden": 5, "dropout": 0.1},
    "head": {"kind": "linear"},
    "trainer": {"epochs": 3, "batch_size": 16, "accelerator": "cpu"},
}


def jobs() -> list[Job]:
    """Return all of them: first those that need no training."""
    audit = ("audit", "model", "--data", "data.jsonl", "--explain", "0", "-o", "audit")  # explanations depend on time
    report = ("audit/report.html",)
    return [
        Job("data convert", _write_data, ("data", "convert", "data.jsonl", "out.parquet"), "out.parquet"),
        Job("data convert, names", _convert_before, _TWO_FILES, "out", may_lack=_SVM, may_go=_SVM),
        Job("verify to a folder", _write_layer, _VERIFY, "verdicts", in_parts=True),
        Job("verify to a file", _write_layer, (*_VERIFY[:4], "-o", "verdicts.npz"), "verdicts.npz"),
        Job("stretch", _write_layer, _STRETCH, "stretch.npz"),
        Job("audit weights", _audit_before, _AUDIT, "audit", may_lack=report),
        Job("report", _audit_before, ("report", "audit", "-o", "report.html"), "report.html"),
        Job("train", _write_data, ("train", "config.yaml", "-o", "run"), "run", begun=_BEGUN, trains=True),
        Job("train, recipe", _write_data, _RECIPE, "run", begun=_BEGUN, trains=True),
        Job("train, sweep", _write_data, _SWEEP, "run", begun=("run/runs.jsonl", "run/unfinished"), trains=True),
        Job("tune a model", _train, _TUNE, "model", trains=True),
        Job("audit a model", _train, audit, "audit", may_lack=report, trains=True),
        Job("predict", _train, ("predict", "model", "data.jsonl", "-o", "out.jsonl"), "out.jsonl", trains=True),
        Job(
            "predict scores", _train, ("predict", "model", "data.jsonl", "--scores", "out.npz"), "out.npz", trains=True
        ),
    ]


_BEGUN = ("run/config.yaml",)
_SVM = ("out/x.svm",)
_TWO_FILES = ("data", "convert", "data.jsonl", "out/x.svm")
_PREDICT = ("predict", "model", "data.jsonl")
_TUNE = ("tune", "--model", "model", "--data", "data.jsonl", "--part", "valid")
_AUDIT = ("audit", "layer.npz", "--labels", "sets.txt", "--features", "features.npy", "--explain", "0", "-o", "audit")
_VERIFY = ("verify", "layer.npz", "--labels", "sets.txt", "-o", "verdicts", "--part-size", "1")
_RECIPE = ("train", "--data", "data.jsonl", "-o", "run", "--budget", "fast")
_SWEEP = ("train", "config.yaml", "-o", "run", "--seeds", "2", "trainer.epochs=2")
_STRETCH = ("stretch", "layer.npz", "--labels", "sets.txt", "--features", "features.npy", "-o", "stretch.npz")


def _write_data() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(N, D)).round(3)
    parts = ["train", "train", "valid", "test"]
    with open("data.jsonl", "w") as stream:
        for i, row in enumerate(features.tolist()):
            active = [name for name, x in zip(LABELS, row, strict=False) if x > 0.3]
            stream.write(json.dumps({"features": row, "labels": active, "split": parts[i % 4]}) + "\n")
    Path("config.yaml").write_text(yaml.safe_dump(CONFIG))


def _train() -> None:
    import labelproof as lp
    from labelproof.models import Model
    from labelproof.training import TrainConfig, fit

    _write_data()
    Model.of(fit(TrainConfig.from_dict(CONFIG), lp.load_dataset("data.jsonl"), progress=False)).save("model")


def _convert_before() -> None:
    """Make a pair of files with other names, which the command replaces."""
    import labelproof as lp
    from labelproof.data import save_dataset

    _write_data()
    Path("out").mkdir()
    save_dataset(lp.Dataset(np.eye(2), ("old", "older"), features=np.eye(2)), "out/x.svm")


def _audit_before() -> None:
    """Make an audit of other weights, and a report, that the command replaces."""
    import labelproof as lp

    _write_layer()
    weight = np.random.default_rng(1).normal(size=(5, 3))
    lp.audit(weight, [[0], [1, 2]], n_jobs=1).save("audit")
    Path("audit/report.html").write_text("of before")
    Path("audit/notes.txt").write_text("mine")


def _write_layer() -> None:
    rng = np.random.default_rng(2)
    np.savez("layer.npz", weight=rng.normal(size=(5, 3)), bias=rng.normal(size=5))
    np.save("features.npy", rng.normal(size=(40, 3)))
    Path("sets.txt").write_text("0\n1 2\n0 3 4\n\n")
