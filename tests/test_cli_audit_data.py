"""labelproof audit MODEL --data DATA: the model is run, and the finding comes first."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from labelproof.cli import app
from labelproof.data import load_dataset
from labelproof.models import Model
from labelproof.training import TrainConfig, fit

RARE = "once\x1b[31m"


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model that was trained with --min-count, and the data that it was trained on, one label of which it dropped."""
    folder = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(0)
    words = [[f"w{t}x{i}" for i in range(20)] for t in range(5)]
    with open(folder / "data.jsonl", "w") as stream:
        for i in range(800):
            topics = rng.choice(5, rng.integers(1, 4), replace=False).tolist()
            text = " ".join(str(w) for t in topics for w in rng.choice(words[t], 5))
            labels = [f"topic {t}" for t in topics] + ([RARE] if i == 7 else [])
            stream.write(json.dumps({"body": text, "labels": labels}) + "\n")
    config = TrainConfig.from_dict(
        {
            "data": {"text": "body", "min_count": 3},
            "encoder": {"kind": "tfidf"},
            "head": {"kind": "linear"},
            "trainer": {"epochs": 2, "lr": 0.05},
        }
    )
    data = load_dataset(folder / "data.jsonl", text="body")
    Model.of(fit(config, data, progress=False)).save(folder / "model")
    return folder


def test_the_data_of_the_training_need_no_options(place, tmp_path):
    ran = run(place / "model", "--data", place / "data.jsonl", "-o", tmp_path / "audit")
    assert ran.exit_code == 0, ran.output
    first = ran.stdout.splitlines()[0]
    assert first.startswith(("1 of", "2 of")) or "of your examples have label sets beyond the bar" in first
    assert "The bar is a stretch of" in ran.stdout
    assert "\x1b" not in ran.stdout.replace("\x1b[0m", "").replace("\x1b[1", "")
    assert "Labels that are not predicted for any of" in ran.stdout
    kept = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert kept["outside"]["unknown"] == [{"name": RARE, "examples": 1}]
    assert kept["stretch"]["instructive"] == [] or kept["stretch"]["instructive"][0]["text"].startswith("w")
    assert kept["stretch"]["exact"] <= kept["stretch"]["predicted"] <= 799
    (row,) = [line.split() for line in ran.stdout.splitlines() if line.startswith("all ")]
    beyond = kept["groups"][0]["beyond"]
    assert "within the bar" in ran.stdout
    assert float(row[-3]) == pytest.approx(100 * beyond.count(False) / len(beyond), abs=0.06)  # then "%" and examples


def test_features_are_computed_once(place, tmp_path, monkeypatch):
    words = [place / "model", "--data", place / "data.jsonl", "-o", tmp_path / "audit", "--json", "--explain", 0]
    first = json.loads(run(*words).stdout)
    monkeypatch.setattr("labelproof.auditing.real_inputs._run", None)
    again = json.loads(run(*words).stdout)
    assert again["stretch"] == first["stretch"]


def test_data_without_what_the_model_reads_are_refused(place, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "w0x1", "labels": ["topic 1"]}\n')
    ran = run(place / "model", "--data", tmp_path / "d.jsonl")
    assert ran.exit_code == 2
    assert "--data must be a data set with texts" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
