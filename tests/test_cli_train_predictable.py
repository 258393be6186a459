"""labelproof train says which of its label sets the model can predict, and takes a share that it must."""

import json
from itertools import combinations

import pytest

from running_verbs import run

WORDS = ("ant", "bee", "cat", "dog")
CONFIG = """\
data: {path: data.csv, validation: 0.2}
encoder: {kind: tfidf, hidden: null}
head: {kind: svm, C: 0.05}
decision: {kind: fixed, threshold: 0.7}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sets = [chosen for n in (1, 2, 3, 4) for chosen in combinations(WORDS, n)] * 5
    (tmp_path / "data.csv").write_text("text,labels\n" + "".join(f"{' '.join(s)},{';'.join(s)}\n" for s in sets))
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def test_the_share_is_told_kept_and_raised_where_it_is_asked_for(folder):
    result = run("train", "config.yaml", "-o", "plain")
    assert result.exit_code == 0, result.output
    said = next(line for line in result.stdout.splitlines() if line.startswith("Proven for the 15 label sets"))
    kept = json.loads((folder / "plain/model/metrics.json").read_text())["predictable"]
    assert f"{kept['possible']} (" in said
    assert kept["impossible"] > 0
    assert "by no input at all" in (folder / "plain/model/README.md").read_text()
    result = run("train", "config.yaml", "decision.require_predictable=0.95", "-o", "all", "--json")
    found = json.loads(result.stdout)
    assert found["predictable"] == {"training sets": 15, "possible": 15, "impossible": 0, "undecided": 0}
    assert found["notes"] == [
        "Thresholds were moved, so that 100 % of the 15 label sets of the training part can be predicted."
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("config.yaml", "decision.require_predictable=0"), "decision.require_predictable: input should be greater"),
        (("config.yaml", "decision.kind=top-k", "decision.require_predictable=1"), "so kind must be one of fixed"),
        (("--data", "data.csv", "--require-predictable", "1.5"), "--require-predictable: input should be less than"),
    ],
)
def test_shares_that_make_no_sense_end_in_one_sentence(folder, words, message):
    result = run("train", *words, "-o", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert not (folder / "out").exists()
