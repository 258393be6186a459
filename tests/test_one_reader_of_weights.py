"""Every verb reads the same layer out of every form that it is saved in: same verdicts, same names."""

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from fastapi.testclient import TestClient

import labelproof as lp
from labelproof.explorer import make_app
from labelproof.importers import read_layer
from running_verbs import assert_refused, report, run
from same_layer import BIAS, EVERY_FORMAT, NAMES, WEIGHT, write_plain

SETS = [[i for i in range(4) if bits[i]] for bits in product([0, 1], repeat=4)]
STATUS = lp.verify(WEIGHT, SETS, bias=BIAS).status.tolist()
INACTIVE = lp.verify(WEIGHT, SETS, bias=BIAS, ties="inactive").status.tolist()
OWN_RULE = {"PECOS"}  # judged as topk by those who follow the model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("Y.txt").write_text("".join(" ".join(map(str, active)) + "\n" for active in SETS))
    return tmp_path


def test_the_layer_tells_verdicts_apart():
    assert set(STATUS) == {0, 1}
    assert lp.verify(WEIGHT, SETS).status.tolist() != STATUS  # so a bias that is lost shows


def assert_every_verb_agrees(model, *, named, with_bias=(), rule=()):
    """The verdicts and names of verify, check, explain, audit and explore."""
    found = report("verify", model, "-l", "Y.txt", "-o", "v.npz", *with_bias)
    assert found["status"] == STATUS
    assert found["bias_from"] is not None
    assert set(found["smallest_conflicts"][0]["on"] + found["smallest_conflicts"][0]["off"]) <= set(
        NAMES if named else range(4)
    )
    assert report("check", "v.npz", "--weights", model, *with_bias)["proven"] is True
    for active, status in zip(SETS, STATUS, strict=True):
        explained = report("explain", model, "--set", ",".join(map(str, active)), *with_bias)
        assert explained["verdict"] == ("argmaxable" if status else "unargmaxable")
        told = explained.get("label_names", {})
        assert told == ({i: NAMES[int(i)] for i in told} if named else {})
    audited = report("audit", model, "-l", "Y.txt", "--explain", "0", *with_bias, *rule)["groups"][0]
    assert audited["argmaxable"] == sum(INACTIVE)
    assert run("audit", model, "-l", "Y.txt", "-o", "found", "--explain", "0", *with_bias, *rule).exit_code == 0
    document = json.loads(Path("found/audit.json").read_text())
    assert document["label_names"] == (list(NAMES) if named else [f"label {i}" for i in range(4)])
    assert_explorer_agrees(read_layer(model, bias=with_bias[1] if with_bias else None), named=named)


def assert_explorer_agrees(layer, *, named):
    client = TestClient(make_app(layer, rule="sigmoid"), base_url="http://127.0.0.1:8000")
    answers = client.post("/api/verdicts", json={"sets": SETS}).json()["status"]
    assert answers == INACTIVE
    assert client.get("/api/model").json()["is_named"] is named
    names = [one["name"] for one in client.get("/api/labels", params={"q": "", "limit": 4}).json()]
    assert set(names) == (set(NAMES) if named else {f"label {i}" for i in range(4)})


@pytest.mark.parametrize("name", EVERY_FORMAT)
def test_every_verb_reads_every_format_alike(folder, name):
    write, named = EVERY_FORMAT[name]
    rule = ("--rule", "sigmoid") if name in OWN_RULE else ()
    assert_every_verb_agrees(write(folder), named=named, rule=rule)


@pytest.mark.parametrize("ending", [".npy", ".csv", ".tsv", ".txt"])
def test_every_verb_reads_a_matrix_and_its_bias_alike(folder, ending):
    weight, bias = write_plain(folder, ending)
    assert_every_verb_agrees(weight, named=False, with_bias=("--bias", bias))


def test_a_model_folder_of_our_own_is_read_by_every_verb(folder):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 3)).astype(np.float32)
    targets = (features @ rng.normal(size=(3, 4)) > 0).astype(int)
    names = [f"topic {i}" for i in range(4)]
    data = lp.Dataset(targets, names, features=features)
    settings = lp.training.TrainConfig.from_dict(
        {"head": {"kind": "linear"}, "trainer": {"epochs": 1}, "data": {"validation": 0.2}}
    )
    lp.models.Model.of(lp.training.fit(settings, data, out=folder / "run")).save("model")
    layer = read_layer("model")
    assert layer.label_names == tuple(names)
    expected = lp.verify(layer.weight, SETS, bias=layer.bias).status.tolist()
    found = report("verify", "model", "-l", "Y.txt", "-o", "v.npz")
    assert found["status"] == expected
    assert any("The model has thresholds of its own; used here: ½" in note for note in found["notes"])
    assert report("check", "v.npz", "--weights", "model")["proven"] is True
    assert "topic 1" in run("explain", "model", "--set-names", "topic 1").stdout
    assert report("audit", "model", "-l", "Y.txt")["layer"]["kind"] == "labelproof model"


@pytest.mark.parametrize("transposed", [False, True])
def test_a_sparse_matrix_whose_side_the_names_tell_is_verified_and_checked(folder, transposed):
    scipy.sparse.save_npz("m.npz", scipy.sparse.csr_array(WEIGHT.T if transposed else WEIGHT))
    Path("names.txt").write_text("\n".join(NAMES))
    found = report("verify", "m.npz", "-l", "Y.txt", "--label-names", "names.txt", "-o", "v.npz")
    assert found["status"] == lp.verify(WEIGHT, SETS).status.tolist()
    assert report("check", "v.npz", "--weights", "m.npz")["proven"] is True
    assert_refused(run("verify", "m.npz", "-l", "Y.txt"), "m.npz: expected to know which side of the sparse")


# What a model tells of itself


def test_verify_keeps_its_defaults_and_says_where_the_model_differs(folder):
    write, _ = EVERY_FORMAT["PECOS"]
    model = write(folder)
    assert report("verify", model, "-l", "Y.txt")["notes"] == [
        "The model's own rule is topk; used here: sigmoid (--rule)."
    ]
    assert report("verify", model, "-l", "Y.txt", "--rule", "topk")["notes"] == []
    shown = run("verify", model, "-l", "Y.txt").stdout
    assert shown.count("The model's own rule is topk; used here: sigmoid (--rule).") == 1
    assert "The model's own rule is topk" in run("explain", model, "--set", "0").stdout
    assert "The model's own rule" not in run("verify", "pecos", "-l", "Y.txt", "--rule", "topk").stdout


def test_verify_says_that_the_models_inputs_are_bounded(folder):
    from safetensors.numpy import save_file

    Path("hf").mkdir()
    save_file({"classifier.weight": WEIGHT, "classifier.bias": BIAS}, "hf/model.safetensors")
    config = {"model_type": "distilbert", "architectures": ["DistilBertForSequenceClassification"]}
    Path("hf/config.json").write_text(json.dumps({**config, "problem_type": "multi_label_classification"}))
    found = report("verify", "hf", "-l", "Y.txt")
    assert found["status"] == STATUS
    assert len(found["notes"]) == 1
    assert found["notes"][0].endswith("so they are nonnegative. Used here: every input (--domain).")
    assert report("verify", "hf", "-l", "Y.txt", "--domain", "nonnegative")["notes"] == []
    assert report("explain", "hf", "--set", "0")["notes"] == found["notes"]


def test_thresholds_in_a_file_are_the_audits_and_are_told_by_verify(folder):
    thresholds = np.array([0.3, 0.4, 0.6, 0.9])
    np.savez("m.npz", weight=WEIGHT, bias=BIAS, thresholds=thresholds)
    expected = lp.verify(WEIGHT, SETS, bias=BIAS, thresholds=thresholds, ties="inactive").status
    assert report("audit", "m.npz", "-l", "Y.txt")["groups"][0]["argmaxable"] == int((expected == 1).sum())
    assert report("verify", "m.npz", "-l", "Y.txt")["notes"] == [
        "The model has thresholds of its own; used here: ½ (--thresholds, or labelproof audit)."
    ]
    np.savez("m.npz", weight=WEIGHT, thresholds=thresholds[:2])
    assert_refused(run("verify", "m.npz", "-l", "Y.txt"), "m.npz: expected one threshold, or one for each of 4 labels")


def test_names_in_a_file_of_weights_must_fit_its_rows(folder):
    np.savez("m.npz", weight=WEIGHT, label_names=np.array(NAMES[:3]))
    for verb in (
        ["verify", "m.npz", "-l", "Y.txt"],
        ["explain", "m.npz", "--set", "0"],
        ["audit", "m.npz", "-l", "Y.txt"],
    ):
        assert_refused(run(*verb), "m.npz: expected 4 label names to match the weight's rows, got 3")


def test_the_names_that_an_audit_knew_are_in_its_layer(folder):
    np.savez("m.npz", weight=WEIGHT, bias=BIAS)
    Path("names.txt").write_text("\n".join(NAMES))
    assert run("audit", "m.npz", "-l", "Y.txt", "--label-names", "names.txt", "-o", "out").exit_code == 0
    for model in ("out/layer.npz", "out"):
        assert "cat" in run("explain", model, "--set-names", "cat;dog").stdout
    assert run("audit", "m.npz", "-l", "Y.txt", "-o", "bare").exit_code == 0
    assert read_layer("bare/layer.npz").label_names is None
    assert_refused(run("explain", "bare/layer.npz", "--set-names", "cat"), "--set-names needs --label-names, got none")


def test_python_audits_a_path(folder):
    write, _ = EVERY_FORMAT["npz"]
    found = lp.audit(write(folder), "Y.txt")
    assert found.document["groups"][0]["argmaxable"] == sum(INACTIVE)
    assert found.document["label_names"] == list(NAMES)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--weight-key", "other"], "m.npz: expected the array 'other', got"),
        (["--bias", "absent.npy"], "absent.npy: no such file"),
    ],
)
def test_every_verb_refuses_the_same_way(folder, words, message):
    np.savez("m.npz", weight=WEIGHT)
    lp.verify(WEIGHT, SETS).save("v.npz")
    for verb in (
        ["verify", "m.npz", "-l", "Y.txt"],
        ["explain", "m.npz", "--set", "0"],
        ["audit", "m.npz", "-l", "Y.txt"],
        ["explore", "m.npz", "--no-browser"],
        ["check", "v.npz", "--weights", "m.npz"],
    ):
        assert_refused(run(*verb, *words), message)


# A short walk

LOADED = "print(*sorted(m for m in sys.modules if m.startswith('labelproof.') or m in ('numba', 'torch')))"
HEAVY = {"training", "encoders", "losses", "heads", "models"}


def loaded_by(code, folder):
    command = [sys.executable, "-c", f"import sys\n{code}\n{LOADED}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)  # noqa: S603
    return set(done.stdout.splitlines()[-1].split())


def rooms(modules):
    return {module.split(".")[1] for module in modules if module.startswith("labelproof.")}


def verb(*words):
    return (
        f"from labelproof.cli import main\nsys.argv = {['labelproof', *words]!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )


@pytest.mark.parametrize(
    "code",
    [
        verb("audit", "m.npz", "-l", "Y.txt"),
        verb("verify", "m.npz", "-l", "Y.txt"),
        "import labelproof as lp\nlp.audit('m.npz', 'Y.txt')",
        "import labelproof as lp\nlp.audit([[1.0, 0.0], [0.0, 1.0]], [[0], [1]])",
    ],
)
def test_one_matrix_is_read_without_what_trains_models(folder, code):
    EVERY_FORMAT["npz"][0](folder)
    loaded = loaded_by(code, folder)
    assert "labelproof.proof.result" in loaded
    assert not rooms(loaded) & HEAVY
    assert "torch" not in loaded
    assert (
        not {f"labelproof.importers.{name}" for name in ("checkpoints", "onnx_files", "skops_files", "huggingface")}
        & loaded
    )
    assert "labelproof.data.loading" not in loaded


@pytest.mark.parametrize("name", ["npz", "safetensors", "npz of scikit-learn's names"])
def test_check_reads_weights_without_the_search(folder, name):
    model = EVERY_FORMAT[name][0](folder)
    lp.verify(WEIGHT, SETS, bias=BIAS).save("v.npz")
    loaded = loaded_by(verb("check", "v.npz", "--weights", model.name), folder)
    assert not rooms(loaded) & {"search", "theory", "explaining", "parallel", "data", *HEAVY}
    assert not {"numba", "torch"} & loaded


def test_a_template_is_printed_without_torch(folder):
    loaded = loaded_by(verb("train", "--template"), folder)
    assert "torch" not in loaded
    assert rooms(loaded) <= {"cli", "errors", "training", "foundation"}
