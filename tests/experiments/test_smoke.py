"""Every experiment runs from its command to its page, on generated data, and does not compute again what it has."""

import re
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from labelproof.data import Dataset
from labelproof.training import RunRecord, sweep
from labelproof.training.config_files import read_config
from labelproof.training.run_records import append_record
from running_verbs import run

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="experiments are not in this distribution")


@pytest.fixture(autouse=True)
def _experiments(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def command(name, *words):
    import_module(f"experiments.{name}.__main__").main([str(word) for word in words])


@pytest.mark.filterwarnings("ignore:the guarantee is for sets of up to")
@pytest.mark.parametrize("name", ["sparsemax", "sigmoid_bottleneck", "sigmoid_f1"])
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
    import_module("experiments.repeat").main([name, "--runs", "2", "--out", str(tmp_path)])
    rows = import_module("experiments.rows").read_rows(tmp_path / name / "repeated.jsonl")
    assert [row["result"]["differing"] for row in rows] == [[], []]
    (tmp_path / name / "repeated.jsonl").unlink()
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


def test_the_configuration_for_mimic_trains_both_heads_as_it_says(tmp_path, monkeypatch):
    """On a folder with the layout of MIMIC-III, by the commands of the file, with smaller numbers."""
    rng, words = np.random.default_rng(0), [f"{code}9" for code in range(401, 413)]
    folder = tmp_path / "mimic"
    folder.mkdir()
    chosen = {stay: rng.choice(words, size=rng.integers(1, 4), replace=False) for stay in range(60)}
    notes = [f'{stay},{stay},Discharge summary,"{" ".join(codes)}"' for stay, codes in chosen.items()]
    codes = [f"{stay},{code}" for stay, some in chosen.items() for code in some]
    (folder / "NOTEEVENTS.csv").write_text("\n".join(["SUBJECT_ID,HADM_ID,CATEGORY,TEXT", *notes, ""]))
    (folder / "DIAGNOSES_ICD.csv").write_text("\n".join(["HADM_ID,ICD9_CODE", *codes, ""]))
    (folder / "PROCEDURES_ICD.csv").write_text("HADM_ID,ICD9_CODE\n")
    for part, stays in {"train": range(40), "dev": range(40, 50), "test": range(50, 60)}.items():
        (folder / f"{part}_full_hadm_ids.csv").write_text("".join(f"{stay}\n" for stay in stays))
    monkeypatch.chdir(tmp_path)
    path = ROOT / "experiments" / "sigmoid_bottleneck" / "configs" / "mimic.yaml"
    commands = re.findall(r"^# labelproof (train .*)$", path.read_text(), re.MULTILINE)
    assert len(commands) == 2
    small = ["trainer.epochs=1", "trainer.accelerator=cpu", "encoder.maps=16", "encoder.max_tokens=20"]
    for command in commands:
        words = [str(path) if word == "mimic.yaml" else word for word in command.split()]
        words[words.index("--seeds") + 1] = "1"
        words[-1] = words[-1].split("=")[0] + "=2,3"
        k = [] if "head.kind=bottleneck" in words else ["head.k=2"]
        result = run(*words, *small, *k)
        assert result.exit_code == 0, result.output
        assert "2 runs" in result.stdout


def test_a_repeated_run_that_gives_other_numbers_is_found():
    repeat, pages = (import_module(f"experiments.{name}") for name in ("repeat", "pages"))
    old = RunRecord({}, 0, {}, {"digest": "a"}, {}, measured={"f1@k": 0.5, "verification seconds": 1.0})
    later = replace(old, measured={"f1@k": 0.5, "verification seconds": 2.0})
    other = replace(old, data={"digest": "b"}, measured={"f1@k": 0.6}, epochs=3)
    assert repeat.differing(old, later) == []
    assert repeat.differing(old, other) == ["configuration or data", "measured", "epochs and parameters"]
    rows = [{"setting": {"data": "birds"}, "result": {"differing": some}} for some in (["measured"], [])]
    assert "2 random ones of the stored runs on birds" in pages.provenance([], "python -m experiments.sparsemax", rows)
    assert "1 gave other numbers" in pages.provenance([], "python -m experiments.sparsemax", rows)


def test_a_page_has_the_runs_of_one_machine(tmp_path):
    from experiments.rows import read_runs

    path = tmp_path / "runs.jsonl"
    for place, (name, digest) in enumerate([("a", "1"), ("b", "1"), ("a", "2"), ("b", "2"), ("b", "1")]):
        append_record(path, RunRecord({}, place, config={"data": {"path": name}}, data={"digest": digest}, code={}))
    assert [(run.config["data"]["path"], run.seed) for run in read_runs(path)] == [("b", 1), ("a", 2), ("b", 4)]


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
        ([0.1, 0.5], [0.2, 0.2], 0),  # the interval contains 0
        ([0.9], [0.1], 0),  # one seed tells nothing
        ([0.9, 0.9], [0.1], 0),
        ([0.3, 0.3], [0.3, 0.3], 0),
    ],
)
def test_a_difference_counts_if_its_interval_does_not_contain_0(ours, theirs, expected):
    assert import_module("experiments.verdicts").sign(ours, theirs) == expected


def test_an_interval_is_that_of_welch_and_of_pairs():
    interval = import_module("experiments.verdicts").interval
    ours, theirs = [1.0, 1.4, 1.9, 1.2], [0.7, 0.2, 0.9]
    expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    assert interval(ours, theirs) == pytest.approx((expected.low, expected.high))
    pairs = [0.3, 1.2, 1.0]
    expected = stats.ttest_1samp(pairs, 0.0).confidence_interval(0.95)
    assert interval(pairs, [0.0] * 3) == pytest.approx((expected.low, expected.high))


def test_claims_can_be_read_from_a_page_and_are_gathered_by_their_text(tmp_path):
    pages = import_module("experiments.pages")
    claims = [
        pages.Claim("it works", "yes", "0.5 and 0.4", "holds", 3, "birds"),
        pages.Claim("it works", "yes", "0.5 and 0.6", "**does not hold**", 2, "bees"),
        pages.Claim("it is known", "–", "1", "holds"),
    ]
    (tmp_path / "page.md").write_text(
        f"## In short\n\n## Claims\n\n{pages.claim_table(claims)}\n\n## Other\n\n| a | b |\n"
    )
    assert pages.read_claims(tmp_path / "page.md") == claims
    assert pages.digest(claims).splitlines()[2:] == ["| it works | birds | bees |  |", "| it is known | ● |  |  |"]


@pytest.mark.parametrize("name", ["sigmoid_bottleneck", "sparsemax"])
def test_what_the_papers_prove_is_confirmed(name):
    facts = import_module(f"experiments.{name}.facts").claims()
    assert len(facts) >= 9
    assert [one for one in facts if one.holds != "holds"] == []


def test_facts_are_counted_apart_from_claims_about_data(tmp_path):
    pages, summary = (import_module(f"experiments.{name}") for name in ("pages", "summary"))
    facts = pages.as_facts([pages.Claim("a theorem", "yes", "yes", "holds"), pages.Claim("b", "1", "2", pages.NOT_RUN)])
    assert [pages.is_fact(one) for one in facts] == [True, True]
    assert "2 facts of ours were tried on small examples:\n1 hold" in pages.facts_line(facts, "of ours")
    claims = [
        pages.Claim(text, "yes", "1", verdict, 3, data)
        for text in summary.MAIN["sigmoid_f1"]
        for data, verdict in (("birds", "holds"), ("bees", "undecided"), ("bats", pages.NOT_RUN))
    ]
    (tmp_path / "sigmoid_f1.md").write_text(f"\n## Claims\n\n{pages.claim_table([*claims, *facts])}")
    assert "the best of five losses on 1 of 2 data sets" in summary.answer(tmp_path / "sigmoid_f1.md", "sigmoid_f1")
    summary.write_summary(tmp_path)
    line = next(row for row in (tmp_path / "README.md").read_text().splitlines() if "[sigmoid_f1]" in row)
    assert [cell.strip() for cell in line.split("|")[2:-1]] == ["3", "0", "3", "3", "1 of 2"]


def test_time_to_the_best_f1_counts_epochs_and_names_runs_that_never_get_there():
    speed = import_module("experiments.sigmoid_bottleneck.speed")

    def runs(*histories):
        return [RunRecord({}, i, {}, {}, {}, measured={"epochs": some}) for i, some in enumerate(histories)]

    heads = {
        "bottleneck": {25: runs([0.1, 0.3, 0.2], [0.1, 0.2, 0.4])},
        "dft": {25: runs([0.3, 0.4], [0.1, 0.2])},
        "bottleneck, k/n start": {25: runs([0.1, 0.2], [0.2, 0.3])},
    }
    rows = [
        {"setting": {"data": "birds", "width": 25, "head": head}, "result": {"epoch seconds": 2.0}} for head in heads
    ]
    line = speed.section(rows, {"birds": heads}).splitlines()[2]
    assert line == "| birds, d = 25 | 2.5 | 1.0 (1 of 2 never) | never | 5.0 | 2.0 (1 of 2 never) | never |"


def test_the_summary_wants_its_main_claims(tmp_path):
    pages, summary = (import_module(f"experiments.{name}") for name in ("pages", "summary"))
    claims = pages.claim_table([pages.Claim("another", "–", "1", "holds")])
    (tmp_path / "sparsemax.md").write_text(f"\n## Claims\n\n{claims}")
    with pytest.raises(ValueError, match=r"sparsemax.md must have the main claims among its own, got none of"):
        summary.main_claims(tmp_path / "sparsemax.md", "sparsemax")
    with pytest.raises(ValueError, match="must have the main claims"):
        summary.write_summary(tmp_path, "sparsemax")
    summary.write_summary(tmp_path, "sigmoid_f1")  # another page was written: this one is older than the code
    assert (
        "older than this summary: run `python -m experiments.sparsemax --only`" in (tmp_path / "README.md").read_text()
    )


def test_tasks_say_which_heads_and_labels_they_compare():
    tasks = import_module("experiments.sigmoid_bottleneck.tasks")
    assert set(tasks.TASKS["mesh_pubmed_all"].heads(50, 9315)) == set(tasks.WITH_START)
    assert "dft, as many parameters" not in tasks.TASKS["debtags"].heads(100, 183)
    labels = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1]], dtype=bool)
    data = Dataset(labels, ("a", "b", "c"), texts=("one", "two", "three"), split=np.array(["train", "valid", "test"]))
    assert tasks.with_parts(data, least=1, texts="cnn").label_names == ("a",)
    assert tasks.with_parts(data, least=1, texts="cnn", every=True).label_names == ("a", "b", "c")


def test_a_convolution_over_texts_is_trained_and_measured_like_the_other_encoders():
    grid, tasks = (import_module(f"experiments.sigmoid_bottleneck.{name}") for name in ("grid", "tasks"))
    rng, words = np.random.default_rng(0), np.array(["ant", "bee", "cat", "dog"])
    chosen = rng.random((60, 4)) < 0.5
    texts = tuple(" ".join(words[row]) for row in chosen)
    split = np.repeat(["train", "valid", "test"], [40, 10, 10])
    data = Dataset(chosen, tuple(words), texts=texts, split=split)
    encoder = {**tasks.TASKS["mesh_pubmed_cnn"].encoder, "maps": 8, "dim": 4}
    task = tasks.Task("texts", 1, 1, texts="cnn", encoder=encoder, epochs=1, hidden=8)
    measure = partial(grid.measured, data=data, task=task)
    record = sweep(
        grid.configuration(task), data, variants=[{"head.kind": "bottleneck", "head.d": 3}], measure=measure
    )[0]
    assert record.config["encoder"]["kind"] == "cnn"
    assert record.measured["argmaxable"] + record.measured["unargmaxable"] == record.measured["sets"]


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


def test_a_frozen_convolution_tells_composed_digits_apart_and_is_the_same_every_time():
    tasks = import_module("experiments.sigmoid_f1.tasks")
    images = tasks.composed_digits(120)
    data, again = (tasks.through_convolution(images) for _ in range(2))
    assert data.features.shape == (210, 64)
    assert (data.features == again.features).all()
    truth = data.labels.toarray()
    train, test = (np.asarray(data.split) == part for part in ("train", "test"))
    model = LogisticRegression(max_iter=300)
    right = [model.fit(data.features[train], row[train]).score(data.features[test], row[test]) for row in truth.T]
    assert np.mean(right) > np.mean(1 - truth[test]) + 0.05  # better than to say none
