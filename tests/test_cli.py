"""The command line as users meet it: what is printed where, exit codes, and one sentence for all that is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse
from typer.testing import CliRunner

import labelproof as lp
from labelproof.cli import app
from labelproof.data import read_label_file
from labelproof.errors import LabelproofError
from labelproof.foundation.compilation import announcing_compilation
from labelproof.importers import read_layer
from running_verbs import assert_refused, report, run

WEIGHT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
SETS = [[], [0], [0, 1], [0, 1, 2], [0]]
STATUS = [0, 1, 1, 0, 1]
DENSE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 0]])
BIAS = np.array([0.5, -0.25, 1.0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with weights W.npy, labels Y.txt and names.txt, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    np.save("W.npy", WEIGHT)
    Path("Y.txt").write_text("\n0\n0 1\n0, 1, 2\n0\n")
    Path("names.txt").write_text("cat\ndog\nbird\n")
    return tmp_path


# What every verb has


@pytest.mark.parametrize("verb", ["verify", "check", "explain", "count", "plan", "demo"])
def test_every_verb_has_help_with_an_example_and_json(verb):
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert f"Example: labelproof {verb}" in result.stdout
    assert "--json" in result.stdout


def test_help_shows_flags_without_a_type_and_paragraphs_as_wide_as_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("audit", "--help").stdout
    assert "<bool>" not in shown + run("--help").stdout + run("data", "stats", "--help").stdout
    assert "which relevant documents no query vector returns together." in shown


def test_no_verb_is_wrong_use_and_shows_the_verbs():
    result = run()
    assert result.exit_code == 2
    assert "verify" in result.stdout


def test_the_version_is_that_of_the_package():
    assert run("--version").stdout.startswith("labelproof 0.")


def test_python_m_labelproof_is_the_command_line(folder):
    command = [sys.executable, "-m", "labelproof"]
    done = subprocess.run([*command, "count", "4", "2", "--json"], capture_output=True, text=True, check=True)  # noqa: S603
    assert json.loads(done.stdout)["argmaxable"] == "8"
    failed = subprocess.run([*command, "verify", "absent.npy", "-l", "Y.txt"], capture_output=True, text=True)  # noqa: S603
    assert (failed.returncode, failed.stdout, failed.stderr) == (2, "", "error: absent.npy: no such file or folder\n")


def test_a_terminal_without_mathematical_signs_is_no_obstacle():
    command = [sys.executable, "-m", "labelproof", "count", "1000", "50"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ascii_only)  # noqa: S603
    assert "9.973 ? 10^83" in done.stdout


def test_help_imports_nothing_heavy():
    code = "import sys, labelproof.cli; print(*sorted({'numpy', 'scipy', 'numba', 'flint'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == ""


def test_wrong_use_is_one_sentence():
    assert_refused(run("verify", "W.npy"), "Missing option '--labels'")
    assert_refused(run("verfy"), "Did you mean 'verify'?")
    assert_refused(run("count", "many", "2"), "Invalid value for 'LABELS'")


def test_compiling_is_announced_once(capsys):
    with announcing_compilation():
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
    assert capsys.readouterr().err == "compiling the search, once for this installation …\n"


# verify


def test_verify_prints_a_table_and_the_conflicts_by_name(folder):
    result = run("verify", "W.npy", "--labels", "Y.txt", "--label-names", "names.txt")
    assert result.exit_code == 0
    assert "W.npy: 3 labels × 2 features, no bias" in result.stdout
    assert "5 label sets, 4 of them distinct" in result.stdout
    assert "2 label sets (40.0 %) cannot be predicted" in result.stdout
    assert "cat, dog, bird" in result.stdout
    assert result.stderr == ""


def test_verify_json_holds_the_verdicts_in_the_order_of_the_input(folder):
    found = report("verify", "W.npy", "--labels", "Y.txt", "--label-names", "names.txt")
    assert found["status"] == STATUS
    assert (found["sets"], found["distinct_sets"], found["argmaxable"], found["unargmaxable"]) == (5, 4, 3, 2)
    assert found["share_argmaxable"] == 0.6
    assert found["smallest_conflicts"] == [
        {"set": 0, "on": [], "off": ["cat", "dog", "bird"], "extra": []},
        {"set": 3, "on": ["cat", "dog", "bird"], "off": [], "extra": []},
    ]
    assert [row["from"] for row in found["by_active_labels"]] == [0, 1, 2]


@pytest.mark.parametrize(("share", "code"), [("0.6", 0), ("0.61", 1)])
def test_fail_under_decides_the_exit_code(folder, share, code):
    result = run("verify", "W.npy", "-l", "Y.txt", "--fail-under", share, "-o", "r.npz")
    assert result.exit_code == code
    assert ("Not passed" in result.stdout) == bool(code)
    assert Path("r.npz").exists()
    found = run("verify", "W.npy", "-l", "Y.txt", "--fail-under", share, "--json")
    assert found.exit_code == code
    assert json.loads(found.stdout)["passed"] == (not code)


def test_a_saved_result_can_be_checked_with_the_printed_command(folder):
    np.save("b b.npy", BIAS)
    result = run("verify", "W.npy", "-l", "Y.txt", "-o", "my result.npz", "--bias", "b b.npy", "--thresholds", "0.3")
    command = result.stdout.split("To prove it again:\n")[1].strip()
    assert command == "labelproof check 'my result.npz' --weights W.npy --bias 'b b.npy'"
    checked = CliRunner().invoke(app, command.removeprefix("labelproof "))
    assert checked.exit_code == 0, checked.output
    assert "5 verdicts proven again" in checked.stdout
    assert "rule sigmoid; thresholds those of the file; ties open; domain all features" in " ".join(
        checked.stdout.split()
    )


def test_the_options_reach_the_verifier(folder):
    np.save("t.npy", np.array([0.2, 0.5, 0.9]))
    for options, words in [
        ({"rule": "topk"}, ["--rule", "topk"]),
        ({"rule": "sparsemax"}, ["--rule", "sparsemax"]),
        ({"ties": "inactive"}, ["--ties", "inactive"]),
        ({"domain": "nonnegative"}, ["--domain", "nonnegative"]),
        ({"domain": (-1.0, np.inf)}, ["--domain", "-1,inf"]),
        ({"thresholds": 0.3}, ["--thresholds", "0.3"]),
        ({"thresholds": np.load("t.npy")}, ["--thresholds", "t.npy", "--jobs", "1"]),
    ]:
        assert (
            report("verify", "W.npy", "-l", "Y.txt", *words)["status"]
            == lp.verify(WEIGHT, SETS, **options).status.tolist()
        )


def test_radii_are_told_and_kept(folder):
    found = report("verify", "W.npy", "-l", "Y.txt", "--radius", "--box", "2", "--eps", "0.5", "-o", "r.npz")
    v = lp.verify(WEIGHT, SETS, radius=True, box=2.0, eps=0.5)
    assert found["radius"] == [None if np.isnan(r) else r for r in v.radius]
    assert (found["box"], found["eps_argmaxable"]) == (2.0, int(v.eps_argmaxable.sum()))
    assert run("check", "r.npz", "--weights", "W.npy").exit_code == 0
    assert "Radius within a box of ±2: median" in run("verify", "W.npy", "-l", "Y.txt", "--radius", "--box", "2").stdout


def test_the_bias_in_the_file_of_weights_is_used_and_named(folder):
    np.savez("W.npz", W=WEIGHT, b=BIAS)
    found = report("verify", "W.npz", "-l", "Y.txt")
    assert found["bias_from"] == "W.npz"
    assert found["status"] == lp.verify(WEIGHT, SETS, bias=BIAS).status.tolist()
    assert "bias from W.npz" in run("verify", "W.npz", "-l", "Y.txt").stdout
    np.save("other.npy", -9 * BIAS)
    assert report("verify", "W.npz", "-l", "Y.txt", "--bias", "other.npy")["bias_from"] == "other.npy"


def test_labels_whose_logit_is_always_zero_are_named(folder):
    np.save("W.npy", np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, -1.0]]))
    result = run("verify", "W.npy", "-l", "Y.txt", "--label-names", "names.txt")
    assert "The logit of label dog is always 0" in result.stdout
    assert report("verify", "W.npy", "-l", "Y.txt", "--ties", "inactive")["constant_labels"] == []


def test_undecided_sets_are_counted(folder):
    rng = np.random.default_rng(0)
    np.save("W.npy", rng.standard_normal((40, 10)))
    np.save("Y.npy", rng.random((20, 40)) < 0.3)
    found = report("verify", "W.npy", "-l", "Y.npy", "--time-limit", "0", "-o", "r.npz")
    assert found["undecided"] > 0
    assert found["argmaxable"] + found["unargmaxable"] + found["undecided"] == 20
    assert "are undecided" in run("check", "r.npz", "-w", "W.npy").stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: Path("W.npy").unlink(), "W.npy: no such file"),
        (lambda: Path("Y.txt").unlink(), "Y.txt: no such file"),
        (lambda: Path("W.npy").write_bytes(Path("W.npy").read_bytes()[:-4]), "W.npy: expected 48 bytes"),
        (lambda: Path("W.npy").write_bytes(b"\x93NUM"), "W.npy: damaged"),
        (lambda: np.save("W.npy", np.array([{}], dtype=object), allow_pickle=True), "pickled Python objects"),
        (
            lambda: np.save("W.npy", np.array([[1.0, np.nan], [0.0, 1.0]])),
            "W.npy: the weight must be finite, got nan at label 0, feature 1",
        ),
        (lambda: np.save("W.npy", np.ones((3, 0))), "weight must have shape (n_labels, n_features)"),
        (lambda: np.save("W.npy", np.ones((0, 3))), "weight must have shape (n_labels, n_features)"),
        (lambda: np.save("W.npy", np.ones(3)), "weight must have shape (n_labels, n_features)"),
        (lambda: np.save("W.npy", np.array([["a", "b"]])), "weight must hold real numbers"),
        (lambda: Path("Y.txt").write_text("0 3\n"), "Y.txt, line 1: expected label indices from 0 to 2"),
        (lambda: Path("Y.txt").write_text("0 -1\n"), "from 0 to 2, since there are 3 labels, got -1"),
        (lambda: Path("Y.txt").write_text("1\n0 2 0\n"), "labels[1] must name each label once, got 0 more than once"),
        (lambda: Path("Y.txt").write_text("1\n0 x\n"), "Y.txt, line 2: expected label indices"),
        (lambda: Path("Y.txt").write_text(""), "Y.txt: expected at least one label set, got none"),
        (lambda: Path("Y.txt").write_bytes(b"\xff\n"), "Y.txt, line 1: expected text in UTF-8, got byte 0xff"),
    ],
)
def test_bad_files_end_in_one_sentence_and_write_nothing(folder, change, message):
    change()
    before = sorted(folder.iterdir())
    assert_refused(run("verify", "W.npy", "--labels", "Y.txt", "-o", "r.npz"), message)
    assert_refused(run("verify", "W.npy", "--labels", "Y.txt", "-o", "r.npz", "--json"), message)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--thresholds", "0.3", "--rule", "topk"], "thresholds go with rule='sigmoid' only, got rule='topk'"),
        (["--thresholds", "0"], "thresholds must be probabilities strictly between 0 and 1, got 0.0"),
        (["--thresholds", "1"], "thresholds must be probabilities strictly between 0 and 1, got 1.0"),
        (["--thresholds", "nan"], "thresholds must be finite"),
        (["--thresholds", "absent.npy"], "absent.npy: no such file"),
        (["--bias", "W.npy"], "bias must have shape (3,)"),
        (["--domain", "1,0"], "domain must have low ≤ high, got low=1.0 and high=0.0"),
        (["--domain", "positive"], "domain must be nonnegative, unit, ball,RADIUS or LOW,HIGH"),
        (["--domain", "1,2,3"], "domain must be nonnegative, unit, ball,RADIUS or LOW,HIGH"),
        (["--domain", "nan,1"], "domain's low must not be NaN"),
        (["--rule", "softmax"], "rule must be 'sigmoid', 'topk' or 'sparsemax', got 'softmax'"),
        (["--ties", "closed"], "ties must be 'open' or 'inactive', got 'closed'"),
        (["--time-limit", "-1"], "--time-limit must be a number of seconds, got -1.0"),
        (["--jobs", "0"], "--jobs must be a positive number of threads, got 0"),
        (["--fail-under", "99"], "--fail-under must be a share from 0 to 1, got 99.0"),
        (["--label-names", "Y.txt"], "Y.txt: expected a new label name in line 1, got an empty line"),
        (["--label-names", "absent.txt"], "absent.txt: no such file"),
        (["-o", "absent/r.npz"], "--output must be in a folder that exists, got absent/r.npz"),
        (["-o", "."], ".: expected a folder that labelproof verify wrote, got no run.json"),
        (["-o", "W.npy"], "--output must not be one of the inputs, got W.npy"),
    ],
)
def test_bad_options_end_in_one_sentence_and_write_nothing(folder, words, message):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert_refused(run("verify", "W.npy", "--labels", "Y.txt", *words), message)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


# Files of weights


def write_npz(**arrays):
    np.savez("W.npz", **arrays)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("W.npz", lambda: write_npz(weight=WEIGHT, other=np.ones((4, 4)))),
        ("W.npz", lambda: write_npz(W=WEIGHT.astype(np.float32))),
        ("W.npz", lambda: write_npz(head=WEIGHT, ids=np.array([[1, 2]]))),
        ("W.npy", lambda: np.save("W.npy", np.asfortranarray(WEIGHT.astype(">f4")))),
        ("W.csv", lambda: Path("W.csv").write_text("1,0\n0,1\n-1,-1e0\n")),
        ("W.tsv", lambda: Path("W.tsv").write_text("1\t0\n0\t1\n-1\t-1\n")),
        ("W.txt", lambda: Path("W.txt").write_text("1 0\n0  1\n-1 -1\n")),
    ],
)
def test_weights_are_read_from(folder, name, write):
    write()
    weight = read_layer(name).weight
    np.testing.assert_array_equal(weight, WEIGHT)
    assert weight.dtype.isnative


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("W.csv", "width,height\n1,0\n", r"W\.csv: expected rows of numbers: .*'width'.*is that a header line\?"),
        ("W.csv", "1,0\n1\n", r"W\.csv: expected rows of numbers: the number of columns changed"),
        ("W.csv", "\n", r"W\.csv: expected rows of numbers, got an empty file"),
        ("W.safetensors", "", r"W\.safetensors: expected the header of a safetensors file"),
        ("W.pkl", "", r"W\.pkl: expected a file that is safe to open, got a pickle"),
        ("W.doc", "", r"W\.doc: expected \.safetensors, \.npz, .* got \.doc"),
        ("W.npz", "no zip", r"W\.npz: expected a zip file"),
    ],
)
def test_weights_are_not_read_from(folder, name, content, message):
    Path(name).write_text(content)
    with pytest.raises(LabelproofError, match=message):
        read_layer(name)
    for verb in (["verify", name, "-l", "Y.txt"], ["explain", name, "--set", "0"]):
        assert run(*verb).exit_code == 2


def test_a_choice_of_weights_is_refused(folder):
    write_npz(first=WEIGHT, second=WEIGHT)
    with pytest.raises(LabelproofError, match="expected one matrix, got first 3×2, second 3×2: say which"):
        read_layer("W.npz")
    with pytest.raises(LabelproofError, match="expected one array, got first, second"):
        read_layer("W.npy", bias="W.npz")
    assert_refused(run("verify", "W.npz", "-l", "Y.txt"), "W.npz: expected one matrix, got first 3×2, second 3×2")
    assert report("verify", "W.npz", "-l", "Y.txt", "--weight-key", "second")["status"] == STATUS


def test_a_bias_may_be_a_column_or_a_row(folder):
    Path("b.csv").write_text("0.5\n-0.25\n1\n")
    np.save("row.npy", BIAS[None])
    for name in ("b.csv", "row.npy"):
        np.testing.assert_array_equal(read_layer("W.npy", bias=name).bias, BIAS)


# Files of labels


def save_lists(indptr, indices):
    np.savez("Y.npz", indptr=np.array(indptr), indices=np.array(indices))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("Y.npy", lambda: np.save("Y.npy", DENSE)),
        ("Y.npy", lambda: np.save("Y.npy", DENSE > 0)),
        ("Y.npz", lambda: np.savez("Y.npz", DENSE.astype(np.float32))),
        ("Y.npz", lambda: np.savez("Y.npz", Y=DENSE, X=np.ones((5, 7)))),
        ("Y.npz", lambda: scipy.sparse.save_npz("Y.npz", scipy.sparse.csr_matrix(DENSE))),
        ("Y.npz", lambda: scipy.sparse.save_npz("Y.npz", scipy.sparse.csc_array(DENSE))),
        ("Y.npz", lambda: save_lists([0, 0, 1, 3, 6, 7], [0, 0, 1, 0, 1, 2, 0])),
        ("Y.csv", lambda: Path("Y.csv").write_text("0,0,0\n1,0,0\n1,1,0\n1,1,1\n1,0,0\n")),
        ("Y.txt", lambda: Path("Y.txt").write_text("\n0\n1,0\n0 1 2\n0")),
        ("Y.txt", lambda: Path("Y.txt").write_text("\ncat\ncat;dog\n dog ; cat;bird\n0\n", encoding="utf-8-sig")),
        ("Y.jsonl", lambda: Path("Y.jsonl").write_text('[]\n["cat"]\n\n{"labels": [0, "dog"]}\n[0, 1, 2]\n[0]\n')),
    ],
)
def test_labels_are_read_from(folder, name, write):
    write()
    found = report("verify", "W.npy", "-l", name, "--label-names", "names.txt")
    assert found["status"] == STATUS
    assert found["distinct_sets"] == 4


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        (
            "Y.npy",
            lambda: np.save("Y.npy", 2 * DENSE - 1),
            "labels must be 0 or 1, got -1 (for ±1 labels pass labels > 0)",
        ),
        ("Y.csv", lambda: Path("Y.csv").write_text("1,nan,0\n"), "labels must be 0 or 1, got nan"),
        ("Y.npy", lambda: np.save("Y.npy", DENSE[:, :2]), "Y.npy: expected 3 columns of 0 and 1"),
        ("Y.npy", lambda: np.save("Y.npy", np.array([[0], [1, 2]], dtype=object)), "pickled Python objects"),
        ("Y.npz", lambda: np.savez("Y.npz", a=DENSE, b=DENSE), "expected an array 'labels' or 'Y', got a, b"),
        ("Y.npz", lambda: save_lists([0, 5, 1], [0]), "Y.npz: expected indptr to ascend from 0 to 1"),
        ("Y.npz", lambda: save_lists([0.0, 1.0], [0]), "Y.npz: expected indptr to ascend from 0 to 1"),
        ("Y.npz", lambda: save_lists([0, 1], 0), "Y.npz: expected a list of integers as indices, got shape ()"),
        (
            "Y.npz",
            lambda: save_lists([0, 1], [7]),
            "expected label indices from 0 to 2, since there are 3 labels, got 7",
        ),
        (
            "Y.npz",
            lambda: np.savez(
                "Y.npz", format=np.array(b"csr"), shape=[2, 3], data=[1], indices=[0], indptr=[0, 9999, 1]
            ),
            "Y.npz: expected a sparse matrix as scipy saves it",
        ),
        (
            "Y.npz",
            lambda: np.savez("Y.npz", format=np.array(b"csr"), shape=[1, 3], data=[1], indices=[9], indptr=[0, 1]),
            "Y.npz: expected a sparse matrix as scipy saves it",
        ),
        (
            "Y.npz",
            lambda: np.savez("Y.npz", format=np.array(b"csr"), shape=[1, 3], data=[1], indices=[0], indptr=[0, 999999]),
            "Y.npz: expected a sparse matrix as scipy saves it",
        ),
        (
            "Y.txt",
            lambda: Path("Y.txt").write_text("cat; cow\n"),
            "Y.txt, line 1: expected a label's name or index, got 'cow'",
        ),
        (
            "Y.jsonl",
            lambda: Path("Y.jsonl").write_text('["cow"]\n'),
            "Y.jsonl, line 1: expected a label's name or index",
        ),
        (
            "Y.jsonl",
            lambda: Path("Y.jsonl").write_text("[true]\n"),
            "Y.jsonl, line 1: expected a label's name or index",
        ),
        ("Y.jsonl", lambda: Path("Y.jsonl").write_text('{"tags": []}\n'), "expected a column 'labels'"),
        (
            "Y.jsonl",
            lambda: Path("Y.jsonl").write_text('[0]\n{"tags": []}\n'),
            "line 2: expected a list, or an object with a list of 'labels', got tags",
        ),
        ("Y.jsonl", lambda: Path("Y.jsonl").write_text("7\n"), "expected a list, or an object with a list"),
        ("Y.jsonl", lambda: Path("Y.jsonl").write_text("[0\n"), "Y.jsonl, line 1: "),
        ("Y.jsonl", lambda: Path("Y.jsonl").write_text("[" * 100_000), "Y.jsonl, line 1: "),
        ("Y.parquet", lambda: Path("Y.parquet").write_text(""), "damaged, or not a Parquet file"),
    ],
)
def test_labels_are_not_read_from(folder, name, write, message):
    write()
    assert_refused(run("verify", "W.npy", "-l", name, "--label-names", "names.txt"), message)


def test_label_names_need_a_list_of_names(folder):
    Path("Y.txt").write_text("cat;dog\n")
    assert_refused(run("verify", "W.npy", "-l", "Y.txt"), "names need --label-names")
    Path("Y.jsonl").write_text('["cat"]\n')
    assert_refused(run("verify", "W.npy", "-l", "Y.jsonl"), "names need --label-names")


def test_label_names_must_differ_and_be_complete(folder):
    Path("names.txt").write_text("cat\ndog\ncat\n")
    assert_refused(run("verify", "W.npy", "-l", "Y.txt", "--label-names", "names.txt"), "in line 3, got 'cat' again")
    Path("names.txt").write_text("cat\ndog\nbird\nfish\n")
    assert_refused(
        run("verify", "W.npy", "-l", "Y.txt", "--label-names", "names.txt"),
        "expected 3 label names, one per line, got 4",
    )
    Path("names.txt").write_text("cat\ndog\n")
    assert_refused(
        run("verify", "W.npy", "-l", "Y.txt", "--label-names", "names.txt"),
        "W.npy: expected 2 rows, one for each label, got shape (3, 2): transpose it",
    )


def test_a_number_in_a_file_is_a_name_where_labels_are_named_by_numbers(folder):
    Path("names.txt").write_text("401\n402\n2\n")
    Path("Y.txt").write_text("2\n401;402\n")
    found = read_label_file("Y.txt", label_names=["401", "402", "2"])
    assert [active.tolist() for active in found.sets] == [[2], [0, 1]]
    Path("Y.txt").write_text("1\n")
    assert_refused(
        run("verify", "W.npy", "-l", "Y.txt", "--label-names", "names.txt"), "line 1: expected a label's name"
    )


# check


@pytest.fixture
def result(folder):
    v = lp.verify(WEIGHT, SETS)
    v.save("r.npz")
    return v


def test_check_counts_what_it_proved(result):
    assert "5 verdicts proven again" in run("check", "r.npz", "--weights", "W.npy").stdout
    found = report("check", "r.npz", "--weights", "W.npy")
    assert (found["proven"], found["argmaxable"], found["unargmaxable"]) == (True, 3, 2)


def test_a_tampered_result_exits_with_1(result):
    with np.load("r.npz") as archive:
        content = dict(archive)
    content["points"] = -content["points"]
    np.savez_compressed("r.npz", **content)
    done = run("check", "r.npz", "--weights", "W.npy")
    assert done.exit_code == 1
    assert done.stdout.startswith("Not proven: label set 1 is not proven: label 0: expected a positive logit")
    as_json = run("check", "r.npz", "--weights", "W.npy", "--json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["proven"] is False


def test_check_refuses_other_weights_and_other_files(result):
    np.save("other.npy", 2 * WEIGHT)
    assert_refused(run("check", "r.npz", "--weights", "other.npy"), "r.npz: made for another weight")
    np.save("b.npy", BIAS)
    assert_refused(run("check", "r.npz", "--weights", "W.npy", "--bias", "b.npy"), "made without a bias")
    assert_refused(run("check", "absent.npz", "--weights", "W.npy"), "absent.npz: no such file")
    assert_refused(run("check", "W.npy", "--weights", "W.npy"), "W.npy: damaged, or not a file of this kind")
    Path("r.npz").write_bytes(Path("r.npz").read_bytes()[:-10])
    assert_refused(run("check", "r.npz", "--weights", "W.npy"), "r.npz: damaged")


# explain


def test_explain_takes_indices_or_names(folder):
    by_index = run("explain", "W.npy", "--set", "0,1,2", "--label-names", "names.txt")
    by_name = run("explain", "W.npy", "--set-names", "cat;dog;bird", "--label-names", "names.txt")
    assert by_index.exit_code == by_name.exit_code == 0, by_index.output
    assert by_index.stdout == by_name.stdout
    assert "cat" in by_index.stdout
    assert isinstance(report("explain", "W.npy", "--set", "0 1 2"), dict)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "one of --set and --set-names must be given, got neither"),
        (["--set", "0", "--set-names", "cat"], "one of --set and --set-names must be given, got both"),
        (["--set-names", "cat"], "--set-names needs --label-names, got none"),
        (
            ["--set-names", "cow", "--label-names", "names.txt"],
            "--set-names must be names of labels, with semicolons between, got 'cow'; the nearest: ",
        ),
        (["--set", "cat"], "--set must be indices of labels, with commas or spaces between"),
        (["--set", "0,7"], "7"),
    ],
)
def test_explain_refuses(folder, words, message):
    assert_refused(run("explain", "W.npy", *words), message)


# count


@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another error there")
@pytest.mark.parametrize(
    "words",
    [
        ["count", "1000", "50", "-k", "8"],
        ["count", "1000", "50", "-k", "8", "--json"],
        ["--help"],
        ["count", "--help"],
        ["--version"],
        [],
    ],
)
def test_a_reader_who_leaves_is_no_failed_requirement(words):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "labelproof", *words]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)  # noqa: S603
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_count_is_exact_at_any_size():
    found = report("count", "20000", "12000", "-k", "50")
    assert len(found["argmaxable"]) > 4300  # more digits than Python writes by itself
    assert round(report("count", "1000", "25")["log10_fraction"], 2) == -252.64
    assert report("count", "3", "2", "--bias")["argmaxable"] == "7"
    assert round(found["log10_k_active"], 1) == 150.5


def test_count_prints_short_numbers():
    assert "9.973 × 10^83 (84 digits)" in run("count", "1000", "50").stdout
    assert "1,048,194" in run("count", "20", "17").stdout
    assert "24,310,737,598,330,258,076" in run("count", "1000", "50", "-k", "8").stdout
    assert "all of them" in run("count", "5", "5").stdout
    assert "all but a share of 0.00077" in run("count", "1000", "550").stdout


def test_count_refuses_what_has_no_answer():
    assert_refused(run("count", "0", "2"), "Invalid value for 'LABELS'")
    assert_refused(run("count", "5", "0"), "Invalid value for 'FEATURES'")
    assert_refused(run("count", "5", "2", "-k", "-1"), "k must be an integer of at least 0, got -1")
    assert_refused(run("count", "1000000000", "2"), "LABELS must be at most 100000")


# plan


def test_plan_prints_a_table_and_a_recommendation(folder):
    done = run("plan", "-l", "Y.txt", "--n-labels", "3")
    assert done.exit_code == 0, done.output
    assert "5 label sets (4 distinct) of 3 labels" in done.stdout
    assert "A DFT head of 3 features" in " ".join(done.stdout.split())
    found = report("plan", "-l", "Y.txt", "--label-names", "names.txt")
    assert (found["n_labels"], found["n_distinct"], found["k"]) == (3, 4, 3)
    np.save("Y.npy", DENSE)
    assert report("plan", "-l", "Y.npy") == found


def test_plan_refuses(folder):
    assert_refused(
        run("plan", "-l", "Y.txt"),
        "Y.txt: expected to know how many labels there are, since these are indices: --n-labels says it",
    )
    assert_refused(run("plan", "-l", "Y.txt", "--n-labels", "2"), "Y.txt, line 4: expected label indices from 0 to 1")
    assert_refused(run("plan", "-l", "Y.txt", "--n-labels", "3", "--sample", "0"), "n_sample must be a positive number")
    np.save("Y.npy", np.zeros((0, 3)))
    assert_refused(run("plan", "-l", "Y.npy"), "labels must hold at least one set")
