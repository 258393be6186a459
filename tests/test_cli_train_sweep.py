"""labelproof train --seeds --sweep as users meet it."""

import json

import numpy as np
import pytest

from running_verbs import assert_refused, report, run

CONFIG = """\
data: {path: data.csv, validation: 0.2, test: 0.2}
encoder: {kind: tfidf, hidden: 8}
head: {kind: linear}
loss: {kind: sigmoid-f1}
trainer: {epochs: 2, lr: 0.05, accelerator: cpu}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = ("ant", "bee", "cat", "dog")
    rows = [rng.choice(words, size=rng.integers(1, 4), replace=False) for _ in range(60)]
    (tmp_path / "data.csv").write_text("text,labels\n" + "".join(f"{' '.join(r)},{';'.join(r)}\n" for r in rows))
    (tmp_path / "config.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sweep_prints_mean_and_deviation_and_can_be_resumed(here):
    words = "train", "config.yaml", "-o", "runs", "--seeds", "2", "--sweep", "loss.beta=1,2"
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "4 runs; metrics of the test part, mean ± deviation over seeds" in result.stdout
    assert "loss.beta=2" in result.stdout
    assert "±" in result.stdout
    assert "Best micro-f1 on validation data: loss.beta=" in result.stdout
    assert {path.name for path in (here / "runs").iterdir()} == {"runs.jsonl", "boxes.png"}
    assert_refused(run(*words), "holds runs already")
    lines = (here / "runs" / "runs.jsonl").read_text().splitlines(keepends=True)
    (here / "runs" / "runs.jsonl").write_text("".join(lines[:3]))
    again = run(*words, "--resume")
    assert again.exit_code == 0, again.output
    assert again.stdout == result.stdout
    assert len((here / "runs" / "runs.jsonl").read_text().splitlines()) == 4


def test_seeds_alone_are_a_sweep_of_one_variant(here):
    found = report("train", "config.yaml", "trainer.epochs=1", "-o", "runs", "--seeds", "2")
    assert found["runs"] == 2
    assert found["variants"]["as given"]["metrics"]["test/micro-f1"]["deviation"] >= 0
    lines = (here / "runs" / "runs.jsonl").read_text().splitlines()
    assert [json.loads(line)["seed"] for line in lines] == [0, 1]


def test_what_cannot_be_swept_is_refused_and_nothing_is_written(here):
    common = "train", "config.yaml", "-o", "runs"
    assert_refused(run(*common, "--sweep", "loss.beta=1,-2"), "beta")
    assert_refused(run(*common, "--sweep", "loss.bet=1,2"), "loss.bet is unknown")
    assert_refused(run(*common, "--sweep", "loss.beta"), "section.key=value,value")
    assert_refused(run(*common, "--sweep", "loss.beta=1", "--sweep", "loss.beta=2"), "loss.beta twice")
    assert_refused(run(*common, "--seeds", "2", "--resume"), "got none")
    assert_refused(run(*common, "--seeds", "0"), "seeds")
    assert not (here / "runs").exists()
