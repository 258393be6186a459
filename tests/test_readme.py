"""The README does what it says: every command and every example in it runs, on a tenth of the data that it names."""

import contextlib
import io
import json
import lzma
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from labelproof.cli import app
from labelproof.data.published.catalogue import SHIPPED

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SET_UP = {"make test", "source .venv/bin/activate", "pip install '.[train,audit]'"}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands():
    lines = [line for block in blocks("console") for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return [line.removeprefix("$ ") for line in lines]


@pytest.fixture
def little(tmp_path, monkeypatch):
    """An empty folder, with fewer packages under the name of those that are shipped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABELPROOF_DATA", str(tmp_path / "less"))
    monkeypatch.setattr("labelproof.explorer.serve", lambda *_, **__: None)
    folder = tmp_path / "less" / "debian_packages"
    folder.mkdir(parents=True)
    with lzma.open(SHIPPED / "debian_packages" / "packages.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file][::12]
    count = Counter(tag for row in rows for tag in row["tags"])
    kept = [{**row, "tags": [tag for tag in row["tags"] if count[tag] >= 25]} for row in rows]
    (folder / "packages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept if row["tags"]))


def test_every_command_runs_as_printed(little):
    for line in commands():
        said, _, command = ("labelproof demo --epochs 1" if line == "make demo" else line).rpartition(" | ")
        if line not in SET_UP:
            name, *words = shlex.split(command)
            assert name == "labelproof", line
            done = CliRunner().invoke(app, words, input="".join(shlex.split(said)[1:]))
            assert done.exit_code == 0, f"{line}: {done.output}"
    page = Path("labelproof-demo/report.html").read_text()
    assert "Debian packages: what can a model predict at all?" in page
    assert "With 12 features for" in page
    for made in ("labelproof-demo/report.html", "audit/report.html", "run/model/labels.json"):
        assert Path(made).is_file()


def test_make_knows_the_two_commands():
    rules = (ROOT / "Makefile").read_text()
    assert {"make demo", "make test"} <= set(commands())
    assert re.search(r"^demo: .*\n\t\$\(BIN\)/labelproof demo$", rules, re.MULTILINE)
    assert re.search(r"^test: .*\n.* lint compiled\n.* pytest ", rules, re.MULTILINE)


def test_every_example_prints_what_stands_beside_it():
    printed, expected = io.StringIO(), []
    space = {}
    for block in blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "README.md", "exec"), space)  # noqa: S102 - our own page
        expected += re.findall(r"^print\(.*\)  # ([(\[].*?):", block, re.MULTILINE)
    assert len(expected) == 2
    assert printed.getvalue().splitlines()[:2] == expected
    assert space["v"].status.tolist() == [1, 1, 0]


def test_links_lead_to_files():
    for target in re.findall(r"""(?:\]\(|src=")([^)#"]+)""", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_figures_of_peers_are_those_of_the_benchmarks():
    """Whoever measures again must change the README too."""
    fair = (ROOT / "benchmarks/results/fair.md").read_text()
    row = re.search(r"8921x50 true .*?\*\*(\d+)\.\d×", fair)
    rows = [line for line in fair.splitlines() if "†" not in line]  # those of which both sides ran at the same time
    ratios = sorted(float(ratio) for ratio in re.findall(r"\*\*(\d+\.\d)×\*\*", "\n".join(rows)))
    assert f"**{row[1]}×**; {ratios[0]:.0f}× to {ratios[-1]:.0f}× on {len(ratios)} layers" in README
    whole = re.search(r"8921x50 \(.*?\*\*(\d+)×", (ROOT / "benchmarks/results/decide.md").read_text())
    assert f"{whole[1]}× |" in README
    defaults = (ROOT / "benchmarks/results/defaults.md").read_text()
    for metric in ("micro-F1", "macro-F1"):
        sets, gain = re.search(rf"\(a\) in {metric}: .*?all (\d+) sets, \+([\d.]+)", defaults).groups()
        assert re.search(rf"{metric} \*{{0,2}}\+{float(gain):.1f}.*mean of {sets} data sets", README)
        gain, sets = re.search(rf"\(b\) in {metric}: .*?\+([\d.]+) on average of (\d+)", defaults).groups()
        assert re.search(rf"{metric} \+{float(gain):.1f}.*mean of {sets};", README)
