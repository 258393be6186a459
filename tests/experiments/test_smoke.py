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


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([0.5, 0.6], [0.1, 0.2], 1),
        ([0.1, 0.2], [0.5, 0.6], -1),
        ([0.1, 0.5], [0.2, 0.2], 0),  # within a standard deviation
        ([0.9], [0.1], 0),  # one seed tells nothing
        ([0.9, 0.9], [0.1], 0),
        ([0.3, 0.3], [0.3, 0.3], 0),
    ],
)
def test_a_difference_counts_if_it_is_larger_than_the_deviations(ours, theirs, expected):
    assert import_module("experiments.verdicts").sign(ours, theirs) == expected


def test_a_verdict_needs_all_differences_and_fails_by_one():
    verdicts = import_module("experiments.verdicts")
    assert verdicts.verdict([1, 1]) == "holds"
    assert verdicts.verdict([1, 0]) == verdicts.verdict([]) == verdicts.seen(True, 1) == "undecided"
    assert verdicts.verdict([1, 0, -1]) == verdicts.seen(False, 2) == "**does not hold**"


def test_larger_sets_are_unions_of_known_ones_beyond_the_guarantee():
    grid = import_module("experiments.sigmoid_bottleneck.grid")
    known = [[0, 1], [2, 3, 4], [5], [6, 7]]
    found = grid.larger_sets(known, 3, n_sets=20)
    assert len(found) == 20
    for one in found:
        assert 3 < len(one) <= 6
        inside = [part for part in known if set(part) <= set(one)]
        assert sorted(label for part in inside for label in part) == one


def test_the_plan_states_the_rule_that_the_stored_runs_give():
    from labelproof.theory.plan import TRAINED_ERROR, TRAINED_FACTOR

    widths = import_module("experiments.sigmoid_bottleneck.widths")
    rows = widths.needed(ROOT / "experiments" / "sigmoid_bottleneck" / "results" / "widths.jsonl")
    factor, error = widths.fitted_factor(rows)
    assert (round(factor, 2), round(error, 2)) == (TRAINED_FACTOR, TRAINED_ERROR)


def test_a_rule_is_fitted_exactly_where_all_data_sets_follow_it():
    widths = import_module("experiments.sigmoid_bottleneck.widths")
    rows = [widths.Needed("a", n, k, 0.5 * widths.complexity(n, k), 1) for n, k in ((10, 2), (100, 5), (1000, 9))]
    assert widths.fitted_factor(rows) == pytest.approx((0.5, 1.0))


def test_composed_digits_show_what_their_labels_say():
    data = import_module("experiments.sigmoid_f1.tasks").composed_digits(40)
    empty = data.features.sum(axis=1) == 0
    assert (data.labels.sum(axis=1) == 0).tolist() == empty.tolist()
    assert data.features.shape == (70, 256)
    assert max(data.labels.sum(axis=1)) <= 4
