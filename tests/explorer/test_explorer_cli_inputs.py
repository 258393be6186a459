"""`labelproof explore` with real inputs: of a data set, of a file, of an audit's folder."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from small_explorers import client_of
from typer.testing import CliRunner

import labelproof as lp
from labelproof.cli.console import Verbs
from labelproof.cli.explore import explore
from labelproof.data import load_dataset
from labelproof.explorer import make_app
from labelproof.importers import ImportedLayer
from labelproof.models import Model
from labelproof.training import TrainConfig, fit

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(200, 3))
WEIGHT, BIAS = np.eye(3), np.zeros(3)


@pytest.fixture
def opened(monkeypatch):
    """Run the command up to the point where it would serve; a client of what it would serve."""
    made = {}

    def served(layer, **options):
        for name in ("host", "port", "open_browser"):
            options.pop(name)
        made["client"], made["options"] = client_of(make_app(layer, **options)), options

    monkeypatch.setattr("labelproof.explorer.serve", served)

    def opened(*words, fails=False):
        app = typer.Typer(cls=Verbs)
        app.command()(explore)
        app.command("other")(lambda: None)
        result = CliRunner().invoke(app, ["explore", *map(str, words), "--no-browser"])
        if fails:
            assert result.exit_code == 2, result.output
            return result.stderr.splitlines()[-1]
        assert result.exit_code == 0, result.output
        return made["client"], made["options"]

    return opened


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("W.npz", weight=WEIGHT, bias=BIAS)
    np.save("F.npy", FEATURES)
    np.save("C.npy", RNG.normal(size=(300, 3)))
    return tmp_path


def test_features_and_calibration_give_stretch_and_bar(folder, opened):
    client, _ = opened("W.npz", "--features", "F.npy", "--calibration", "C.npy")
    model = client.get("/api/model").json()
    assert (model["inputs"], model["has_bar"]) == (200, True)
    s = lp.stretch(WEIGHT, [[0]], FEATURES, ties="inactive", calibration=np.load("C.npy"))
    assert model["bar"] == pytest.approx(s.bar.value, rel=0.01)


def test_the_folder_of_an_audit_brings_its_features_and_its_bar(folder, opened):
    layer = ImportedLayer(WEIGHT, BIAS, dtype="float64", model="m", kind="k", source="s")
    found = lp.audit(layer, [[0], [0, 1]], features=FEATURES, calibration=np.load("C.npy"))
    found.save("audit")
    client, options = opened("audit")
    assert client.get("/api/model").json()["inputs"] == 200
    assert options["bar"] == found.document["stretch"]["bar"]["value"]
    np.save("audit/features.npy", FEATURES[:100])  # others: the bar is not theirs
    assert opened("audit")[1]["bar"] is None


def test_bad_input_is_one_sentence_and_exit_code_2(folder, opened):
    np.save("wide.npy", np.ones((5, 4)))
    np.save("few.npy", RNG.normal(size=(20, 3)))
    np.save("nan.npy", np.full((5, 3), np.nan))
    for words, sentence in (
        (["--data", "D.csv", "--labels", "Y.txt"], "--data takes the place of --labels and --features, got both"),
        (["--audit", "a"], "--audit goes with --data, got it alone"),
        (["--calibration", "C.npy"], "--calibration goes with --features, got it alone"),
        (["--features", "none.npy"], "none.npy: no such file"),
        (["--features", "wide.npy"], "features must"),
        (["--features", "nan.npy"], "features must"),
        (["--features", "F.npy", "--calibration", "few.npy"], "calibration must hold at least 299 inputs"),
        (["--features", "F.npy", "--calibration", "F.npy"], "calibration must hold"),
        (["--features", "F.npy", "--rule", "sparsemax"], "the stretch is for the rules sigmoid and topk"),
        (["--data", "F.npy"], "--data needs a model that can be run here"),
    ):
        assert sentence in opened("W.npz", *words, fails=True)


def test_a_model_of_texts_is_run_on_the_data_and_writes_a_text(tmp_path, opened):
    words = [[f"w{topic}x{i}" for i in range(20)] for topic in range(4)]
    lines = []
    for _ in range(700):
        topics = RNG.choice(4, RNG.integers(1, 3), replace=False).tolist()
        text = " ".join(str(word) for topic in topics for word in RNG.choice(words[topic], 6))
        lines.append(json.dumps({"text": text, "labels": [f"topic {topic}" for topic in topics]}))
    data = Path(tmp_path / "data.jsonl")
    data.write_text("\n".join(lines))
    parts = {"encoder": {"kind": "tfidf"}, "head": {"kind": "linear"}, "trainer": {"epochs": 3, "lr": 0.05}}
    Model.of(fit(TrainConfig.from_dict(parts), load_dataset(data), progress=False)).save(tmp_path / "model")
    client, options = opened(tmp_path / "model", "--data", data)
    model = client.get("/api/model").json()
    assert (model["inputs"], model["has_bar"], model["examples"]) == (350, True, 700)
    assert options["inputs"].texts is not None
    found = client.post("/api/trial", json={"labels": [0]}).json()
    assert (found["added"], found["removed"]) == ([], [])
