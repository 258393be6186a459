"""labelproof audit --vocabulary and --index as users meet them: files in, sentences, folders and exit codes out."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from running_verbs import assert_refused, report, run

CROSS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.1, 0.1]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with vectors index.npy, judgements q.tsv and names docs.txt, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    np.save("index.npy", CROSS)
    Path("q.tsv").write_text("near\t0\tnorth\t1\nnear\t0\teast\t1\nfar\t0\teast\t1\nfar\t0\twest\t1\n")
    Path("docs.txt").write_text("east\nnorth\nwest\nsouth\nmiddle\n")
    return tmp_path


INDEX = ("audit", "--index", "index.npy", "--qrels", "q.tsv", "--documents", "docs.txt")


@pytest.fixture
def gpt2(tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=4, n_layer=1, n_head=2, vocab_size=40))
    model.save_pretrained("gpt2")
    Path("gpt2/vocab.txt").write_text("".join(f"word{i}\n" for i in range(40)))
    return tmp_path


def test_every_token_of_a_language_model_is_decided(gpt2):
    found = report("audit", "gpt2", "--vocabulary", "-o", "audit")
    assert found["can"] + len(found["never"]) == 40
    assert 0 < found["can"] < 40
    assert found["layer"]["source"] == "transformer.wte.weight of model.safetensors"
    assert found["never"][0]["name"].startswith("word")
    assert found["never"][0]["rivals"]
    result = run("check", "audit/proofs-tokens.npz", "--weights", "audit/layer.npz")
    assert result.exit_code == 0, result.output
    page = Path("audit/report.html").read_text()
    assert found["headline"] in page
    assert "word" in page


def test_the_terminal_speaks_of_tokens(gpt2):
    result = run("audit", "gpt2", "--vocabulary")
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    assert "of 40 tokens can never be ranked first, whatever the input." in shown
    assert "40 tokens × 4 features, float32, without bias" in shown
    assert "never scores above all of" in shown
    assert "label" not in shown.replace("labelproof", "")


def test_a_share_of_tokens_can_be_required(gpt2):
    assert run("audit", "gpt2", "--vocabulary", "--fail-under", "0").exit_code == 0
    assert run("audit", "gpt2", "--vocabulary", "--fail-under", "1").exit_code == 1


def test_a_language_model_asked_for_label_sets_says_where_to_ask(gpt2):
    Path("y.txt").write_text("0\n")
    assert_refused(run("audit", "gpt2", "--labels", "y.txt"), "labelproof audit MODEL --vocabulary")


def test_an_index_is_audited_by_width_and_depth(folder):
    found = report(*INDEX, "--k", "3", "-o", "audit")
    assert [row["width"] for row in found["widths"]] == [2]
    assert [(at["k"], at["possible"]) for at in found["widths"][0]["depths"]] == [(None, 1), (3, 2)]
    (impossible,) = found["impossible"]
    assert impossible["queries"] == ["far"]
    assert "No query vector ranks east and west above all others" in impossible["sentence"]
    result = run("check", "audit/proofs-2.npz", "--weights", "audit/layer-2.npz")
    assert result.exit_code == 0, result.output
    assert "How far may vectors be cut?" in Path("audit/report.html").read_text()
    assert_refused(run("report", "audit", "-o", "all.html"), "got that of an index, whose report.html is next to it")


def test_the_terminal_speaks_of_documents(folder):
    result = run(*INDEX, "--widths", "1,2")
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    assert "At width 2, 1 of 2 queries has relevant documents that no query vector ranks above all others." in shown
    assert "5 documents × 2 numbers, float64, ranked by dot product; 2 queries." in shown
    assert "label" not in shown.replace("labelproof", "")
    assert "head" not in shown


def test_cosine_and_a_required_share(folder):
    assert report(*INDEX, "--cosine")["index"]["cosine"] is True
    assert run(*INDEX, "--fail-under", "0.5").exit_code == 0
    assert run(*INDEX, "--fail-under", "0.6").exit_code == 1


def test_documents_may_be_row_numbers(folder):
    Path("rows.tsv").write_text("a 0 0 1\na 0 1 1\n")
    found = report("audit", "--index", "index.npy", "--qrels", "rows.tsv")
    assert found["widths"][0]["depths"][0]["possible"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--index", "index.npy"), "--index must come with --qrels"),
        (("--index", "none.npy", "--qrels", "q.tsv"), "none.npy: no such file"),
        (("--index", "nan.npy", "--qrels", "q.tsv", "--documents", "docs.txt"), "got nan in row 1, column 0"),
        (("--index", "index.npy", "--qrels", "q.tsv"), "q.tsv: expected a row from 0 to 4, got 'north' in line 1"),
        (("--index", "index.npy", "--qrels", "empty.tsv"), "empty.tsv: expected lines of query, 0, document"),
        ((*INDEX[1:], "--widths", "2,3"), "widths must be from 1 to the index's 2 numbers a vector, got 3"),
        ((*INDEX[1:], "--widths", "two"), "--widths must be whole numbers separated by commas, as in 64,128,256"),
        ((*INDEX[1:], "--k", "0"), "depths must be positive numbers of documents, got 0"),
        ((*INDEX[1:], "--labels", "q.tsv"), "--labels goes with the audit of label sets only"),
        ((*INDEX[1:], "--vocabulary"), "--vocabulary goes with an audit without --index only"),
        (("index.npy", "--vocabulary", "--pairs", "3"), "--pairs goes with the audit of label sets only"),
        (("index.npy", "--vocabulary", "--alpha", "0.01"), "--alpha goes with the audit of label sets only"),
        (("index.npy", *INDEX[1:]), "MODEL goes with an audit without --index only"),
        (("index.npy", "--labels", "q.tsv", "--cosine"), "--cosine goes with --index only"),
        (("--vocabulary",), "Missing argument 'MODEL'"),
        (("index.npy",), "Missing option '--data', or '--labels' / '-l'"),
        ((), "Missing argument 'MODEL'"),
        (("line.npy", "--vocabulary"), "line.npy: the weight must have shape (n_labels, n_features)"),
        (("--index", "line.npy", "--qrels", "q.tsv"), "line.npy: expected one row for each document, got shape (3,)"),
    ],
)
def test_bad_input_ends_in_one_sentence(folder, words, message):
    broken = CROSS.copy()
    broken[1, 0] = np.nan
    np.save("nan.npy", broken)
    np.save("line.npy", np.ones(3))
    Path("empty.tsv").write_text("")
    assert_refused(run("audit", *words), message)


def test_the_help_tells_of_both(folder):
    shown = run("audit", "--help").stdout
    for option in ("--vocabulary", "--index", "--qrels", "--documents", "--cosine", "--widths", "--k"):
        assert option in shown


def test_names_cannot_command_the_terminal(folder):
    Path("docs.txt").write_text("east\nnorth\nwe\x1b[2Jst\nsouth\nmiddle\n")
    Path("q.tsv").write_text("fa\x1br\t0\teast\t1\nfa\x1br\t0\twe\x1b[2Jst\t1\n")
    assert "\x1b[2J" not in run(*INDEX).stdout
    np.savez("tokens.npz", weight=CROSS, label_names=np.array(["a", "b", "c", "d", "e\x1b[2J"]))
    shown = run("audit", "tokens.npz", "--vocabulary").stdout
    assert "e�[2J" in shown
    assert "\x1b[2J" not in shown


def test_json_is_the_only_thing_on_standard_output(folder):
    assert json.loads(run(*INDEX, "--json").stdout)["format"] == "labelproof-index"
