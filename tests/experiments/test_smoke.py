"""Every experiment runs from its command to its page, on generated data, and does not compute again what it has."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from labelproof.training.config_files import read_config

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="experiments are not in this distribution")


@pytest.fixture(autouse=True)
def _experiments(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def command(name, *words):
    import_module(f"experiments.{name}.__main__").main([str(word) for word in words])


@pytest.mark.filterwarnings("ignore:the guarantee is for sets of up to")
@pytest.mark.parametrize(
    "name", [pytest.param("sparsemax", marks=pytest.mark.slow), "sigmoid_bottleneck", "sigmoid_f1"]
)
def test_a_smoke_run_writes_its_page_and_is_not_repeated(name, tmp_path):
    command(name, "--smoke", "--out", tmp_path)
    page = (tmp_path / f"{name}.md").read_text()
    assert "{{" not in page
    assert "holds" in page
    assert f"[{name}]({name}.md)" in (tmp_path / "README.md").read_text()
    pictures = re.findall(r"\]\((pictures/[^)]*)\)", page)
    assert pictures
    assert all((tmp_path / picture).is_file() for picture in pictures)
    stored = {path: path.read_bytes() for path in (tmp_path / name).glob("*.jsonl")}
    assert stored
    command(name, "--smoke", "--out", tmp_path)
    assert stored == {path: path.read_bytes() for path in (tmp_path / name).glob("*.jsonl")}
    assert page == (tmp_path / f"{name}.md").read_text()


def test_smoke_results_never_mix_with_real_ones(capsys):
    with pytest.raises(SystemExit):
        command("sparsemax", "--smoke")
    assert "--smoke must say --out" in capsys.readouterr().err


def test_the_stored_pages_are_those_of_the_stored_rows(tmp_path):
    """A page that was edited by hand, or is older than its rows, differs from what the code writes of them."""
    for path in sorted((ROOT / "docs" / "results").glob("*.md")):
        name = path.stem
        if not (ROOT / "experiments" / name).is_dir():
            continue
        results = ROOT / "experiments" / name / "results"
        (tmp_path / name).mkdir()
        for stored in results.glob("*.jsonl"):
            (tmp_path / name / stored.name).write_bytes(stored.read_bytes())
        command(name, "--only", "--out", tmp_path)
        assert (tmp_path / path.name).read_text() == path.read_text(), f"run python -m experiments.{name} --only"
    summary = ROOT / "docs" / "results" / "README.md"
    assert not summary.exists() or (tmp_path / "README.md").read_text() == summary.read_text()


@pytest.mark.parametrize("name", ["bioasq", "mimic", "open_images"])
def test_the_configurations_for_data_that_we_lack_can_be_read(name):
    config = read_config(ROOT / "experiments" / "sigmoid_bottleneck" / "configs" / f"{name}.yaml")
    assert config.head.kind == "dft"
    assert config.data.format == name


def test_a_template_must_be_filled(tmp_path):
    pages = import_module("experiments.pages")
    (tmp_path / "page.md").write_text("{{a}} and {{b}}\n")
    with pytest.raises(ValueError, match=r"must have its places filled, got '{{b}}"):
        pages.write_page(tmp_path / "out.md", tmp_path / "page.md", {"a": "1"})
    with pytest.raises(ValueError, match=r"must have a place {{c}}, got none"):
        pages.write_page(tmp_path / "out.md", tmp_path / "page.md", {"c": "1"})
