"""labelproof report, as a user calls it."""

import json
import sys

import pytest
from typer import Typer
from typer.testing import CliRunner

from labelproof.cli.console import Verbs
from labelproof.cli.report import report
from labelproof.report import render_report, rendering

app = Typer(cls=Verbs)
app.command()(report)
app.command("other")(lambda: None)


@pytest.fixture
def audits(small, tmp_path, monkeypatch):
    """Two folders with an audit each, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "audit.json").write_text(json.dumps(small), encoding="utf-8")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["report", *map(str, words)])


def test_a_folder_becomes_a_report(audits):
    answer = run("first", "-o", "report.html")
    assert answer.exit_code == 0
    assert answer.stdout == "Wrote the report on 1 model to report.html.\n"
    assert "cardio-notes-v3" in (audits / "report.html").read_text(encoding="utf-8")


def test_files_and_folders_are_put_side_by_side(audits):
    answer = run("first", audits / "second" / "audit.json", "-o", "report.html", "--title", "Ours", "--json")
    assert json.loads(answer.stdout) == {
        "saved": "report.html",
        "bytes": (audits / "report.html").stat().st_size,
        "models": ["cardio-notes-v3", "cardio-notes-v3"],
    }
    assert "<h1><bdi>Ours</bdi></h1>" in (audits / "report.html").read_text(encoding="utf-8")


def test_an_audit_with_everything_in_it_is_read_back(full, audits):
    (audits / "first" / "audit.json").write_text(json.dumps(full), encoding="utf-8")
    assert run("first", "-o", "report.html").exit_code == 0
    assert (audits / "report.html").read_text(encoding="utf-8") == render_report([full])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["absent", "-o", "report.html"], "no such file"),
        (["first", "-o", "absent/report.html"], "--output must be a file in a folder that exists"),
        (["first", "-o", "first/audit.json"], "--output must not be one of the inputs"),
        (["first"], "Missing option"),
    ],
)
def test_what_is_wrong_ends_in_one_sentence(audits, words, sentence):
    answer = run(*words)
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: ")
    assert sentence in answer.stderr
    assert not (audits / "report.html").exists()


def test_a_file_that_is_no_audit_is_refused(audits):
    (audits / "other.json").write_text("{}")
    answer = run("other.json", "-o", "report.html")
    assert answer.exit_code == 2
    assert "expected the document of an audit" in answer.stderr


def test_without_jinja2_one_sentence_says_what_to_install(audits, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    rendering._environment.cache_clear()
    answer = run("first", "-o", "report.html")
    assert answer.exit_code == 2
    assert answer.stderr == "error: a report needs the package jinja2: pip install 'labelproof[audit]'\n"
