"""labelproof stretch: what it prints and saves, and what it refuses in one sentence."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import labelproof as lp
from running_verbs import assert_refused, report, run


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(size=(5, 3)), rng.normal(size=5) - 0.5
    features = rng.normal(size=(200, 3)).astype(np.float32)
    np.savez(tmp_path / "w.npz", weight=weight, bias=bias)
    np.save(tmp_path / "f.npy", features)
    np.save(tmp_path / "c.npy", rng.normal(size=(320, 3)).astype(np.float32))
    np.save(tmp_path / "y.npy", rng.random((40, 5)) < 0.4)
    (tmp_path / "names.txt").write_text("red\ngreen\nblue\nnoir\nblanc\n")
    return tmp_path


def layer_of(files):
    with np.load(files / "w.npz") as file:
        return dict(file)


def arguments(files, *more, features="f.npy"):
    return ["stretch", files / "w.npz", "--labels", files / "y.npy", "--features", files / features, *more]


def test_it_prints_the_share_beyond_the_bar_and_what_that_means(files):
    answer = run(*arguments(files, "--calibration", files / "c.npy", "--label-names", files / "names.txt", "--pairs"))
    assert answer.exit_code == 0, answer.output
    text = " ".join(answer.stdout.split())
    assert "lie beyond the bar of" in text
    assert "With 95 % confidence, all sets beyond the bar together get at most 1 % of this model's predictions." in text
    assert "Pairs that no mixture of the examples combines:" in text
    assert "Labels that are predicted for none of the examples:" in text
    assert "every bound with a proof" in text


def test_json_has_what_the_library_finds(files):
    told = report(*arguments(files, "--calibration", files / "c.npy", "--ties", "open", "--pairs", "--json"))
    weights = layer_of(files)
    s = lp.stretch(
        weights["weight"],
        np.load(files / "y.npy"),
        np.load(files / "f.npy"),
        bias=weights["bias"],
        calibration=np.load(files / "c.npy"),
    )
    assert told["upper"] == [x if np.isfinite(x) else None for x in s.upper.tolist()]
    assert told["bar"]["value"] == s.bar.value
    assert told["bar"]["n"] == 320
    assert told["bar"]["beyond"] == s.beyond.sum()
    assert told["pairs"] == 10


def test_what_is_saved_is_proven_again(files):
    run(*arguments(files, "-o", files / "s.npz", "--ties", "open"))
    weights = layer_of(files)
    s = lp.load_stretch(files / "s.npz", weights["weight"], np.load(files / "f.npy"), bias=weights["bias"])
    s.check()
    assert len(s) == 40


def test_check_proves_what_was_saved_or_says_what_is_not(files):
    run(*arguments(files, "-o", files / "s.npz", "--calibration", files / "c.npy"))
    command = ["check", files / "s.npz", "--weights", files / "w.npz", "--features", files / "f.npy"]
    command += ["--calibration", files / "c.npy"]
    told = report(*command)
    assert told["proven"]
    assert told["sets"] == 40
    with np.load(files / "s.npz") as file:
        arrays = dict(file)
    np.savez(files / "s.npz", **(arrays | {"upper": arrays["upper"] * 0.9}))
    answer = run(*command)
    assert answer.exit_code == 1
    assert "Not proven: the stretch of label set" in answer.stdout


def test_sparse_features_are_read(files):
    sp.save_npz(files / "f.npz", sp.csr_matrix(np.load(files / "f.npy")))
    dense, sparse = (report(*arguments(files, "--json", features=name)) for name in ("f.npy", "f.npz"))
    assert dense["infinite"] == sparse["infinite"]


def test_features_of_another_width_are_refused(files):
    np.save(files / "f.npy", np.ones((20, 4)))
    assert_refused(run(*arguments(files)), "features must have shape (n_examples, 3) to match the weight, got (20, 4)")


def test_features_that_are_no_numbers_are_refused(files):
    np.save(files / "f.npy", np.full((20, 3), np.nan))
    assert_refused(run(*arguments(files)), "features must be finite, got nan in row 0, column 0")
    (files / "f.npy").write_text("no array")
    assert_refused(run(*arguments(files)), "f.npy: expected an array of numbers in the .npy format, got another")


def test_examples_that_are_all_alike_are_refused(files):
    for n in (1, 7):
        np.save(files / "f.npy", np.ones((n, 3)))
        message = f"features must be of two examples or more that differ, got {n} all alike"
        assert_refused(run(*arguments(files)), message)
        words = ["audit", files / "w.npz", "--labels", files / "y.npy", "--features", files / "f.npy"]
        assert_refused(run(*words), message)


def test_features_of_words_are_refused_by_the_audit_too(files):
    np.save(files / "f.npy", np.full((9, 3), "one"))
    words = ["audit", files / "w.npz", "--labels", files / "y.npy", "--features", files / "f.npy"]
    assert_refused(run(*words), "features must hold floats of at most 64 bits (or integers of at most 32), got <U3")


def test_sets_that_no_inflation_gives_are_listed_with_their_conflict(files):
    np.savez(files / "w.npz", weight=np.vstack([np.eye(3), -np.eye(3)[:2]]), bias=np.array([0, 0, 0, -0.1, -0.1]))
    np.save(files / "y.npy", np.array([[1, 0, 0, 1, 0], [1, 0, 0, 0, 1], [1, 1, 0, 0, 0]]))
    text = run(*arguments(files, "--label-names", files / "names.txt")).stdout
    assert re.search(r"never  red, noir \(on: red, noir(; off: green, blanc)?\)\n", text)  # each is as small as can be


def test_too_few_held_out_inputs_are_refused(files):
    np.save(files / "c.npy", np.load(files / "c.npy")[:100])
    refusal = run(*arguments(files, "--calibration", files / "c.npy"))
    assert_refused(refusal, "calibration must hold at least 299 inputs for alpha=0.01, got 100")
    assert "alpha can be 0.02952 or more" in refusal.output


def test_held_out_inputs_that_are_among_the_examples_are_refused(files):
    np.save(files / "c.npy", np.vstack([np.load(files / "c.npy"), np.load(files / "f.npy")[:3]]))
    assert_refused(run(*arguments(files, "--calibration", files / "c.npy")), "got 3 that are, the first in row 320")


def test_features_that_switch_on_no_label_are_refused(files):
    np.savez(files / "w.npz", weight=layer_of(files)["weight"], bias=np.full(5, -100.0))
    assert_refused(run(*arguments(files)), "none of which switches on any label")


def test_pairs_are_for_the_rule_sigmoid(files):
    assert_refused(run(*arguments(files, "--rule", "topk", "--pairs")), "--pairs goes with the rule sigmoid only")


def test_a_folder_that_is_not_there_is_refused_before_the_work(files):
    output = files / "nowhere" / "s.npz"
    assert_refused(run(*arguments(files, "-o", output)), f"--output must be in a folder that exists, got {output}")
    assert not output.parent.exists()
