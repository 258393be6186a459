"""What a newcomer gets wrong at the command line ends in one sentence with the remedy, before any work is lost."""

import ast
import bz2
import lzma
import os
import re
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import labelproof
from labelproof.cli import app
from labelproof.cli.console import Verbs
from labelproof.cli.console import _in_words_of_the_command_line as in_words
from labelproof.cli.console import _options as options_of
from labelproof.data import load_dataset
from labelproof.models import load_model
from running_verbs import assert_refused, report, run

ROWS = ["ant,ant", "bee,bee", "cat,cat", '"ant bee","ant, bee"', '"bee cat","bee, cat"', '"cat ant","ant, cat"'] * 8
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("text,labels\n" + "\n".join(ROWS) + "\n")
    return tmp_path


def train(*words):
    return run("train", "--data", "data.csv", "--budget", "fast", *words)


def test_a_guessed_separator_is_told_and_stays_with_the_model(folder):
    result = train("-o", "run")
    assert result.exit_code == 0, result.output
    assert (
        "note: labels are split at ',', which gives 3 of them in place of 6; --separator names another" in result.stderr
    )
    model = load_model("run")
    assert model.label_names == ("ant", "bee", "cat")
    assert model.config.data.separator == ","
    Path("one.csv").write_text('text,labels\nant bee,"ant, bee"\n')
    assert report("evaluate", "--model", "run", "--data", "one.csv")["examples"] == 1


def test_doubtful_labels_are_refused_in_the_words_of_the_command_line(folder):
    Path("data.csv").write_text("text,labels\n" + "".join(f'x,"{a}, {b}"\n' for a in "abc" for b in "uvw"))
    assert_refused(train("-o", "run"), "--separator is needed, ',' to split them or ';|' to keep them whole")
    assert not Path("run").exists()


def test_names_of_a_model_are_not_doubted_again(folder):
    Path("data.csv").write_text("text,labels\n" + 'ant,"Lancaster, PA;x"\nbee,"Lancaster, UK;y"\n' * 20)
    assert train("-o", "run").exit_code == 0
    Path("new.csv").write_text('text,labels\nant,"Lancaster, PA"\nbee,"Lancaster, UK"\n')
    assert report("evaluate", "--model", "run", "--data", "new.csv")["labels"] == 4


def test_columns_are_named_in_the_words_of_the_command_line(folder):
    Path("data.csv").write_text("comment,tags\nant,ant\n")
    assert_refused(train("-o", "run"), "or another named by --labels, got comment, tags")
    assert_refused(
        train("-o", "run", "--labels", "tags", "--text", "body"), "expected a column 'body', got comment, tags"
    )


def test_columns_that_were_named_together_are_named_by_themselves(folder):
    Path("data.csv").write_text("a,b,labels\n1,2,x\n")
    together = train("-o", "run", "--features", "a,b")
    assert_refused(together, "expected a column 'a,b', got a, b, labels (name each column by itself, not with commas)")
    unknown = train("-o", "run", "--features", "a,c")
    assert_refused(unknown, "expected a column 'a,c', got a, b, labels")
    assert "by itself" not in unknown.stderr


def test_options_are_named_as_at_the_command_line(folder):
    assert_refused(train("-o", "run", "--metric", "best"), "error: --metric: expected the name of a metric, got 'best'")
    assert_refused(
        run("train", "--data", "data.csv", "-o", "run", "--budget", "soon"),
        "error: --budget must be a time such as 90s",
    )


def test_data_in_the_place_of_a_configuration_are_told_their_option(folder):
    said = "CONFIG must be a configuration in YAML, got data.csv: data go into --data"
    assert_refused(run("train", "data.csv", "-o", "run"), said)


def test_a_second_column_after_an_option_is_told_to_repeat_the_option(folder):
    result = train("--features", "a", "b", "-o", "run")
    assert_refused(result, "which names the data in data.path, got both (b); several columns are named by")
    assert_refused(train("data.time=year", "-o", "run"), "overrides such as data.time=year go with the file of a")


def test_a_column_of_times_is_named_by_an_option(folder):
    rows = ["text,labels,year", *(f"{row},{2000 + place}" for place, row in enumerate(ROWS))]
    Path("data.csv").write_text("\n".join(rows) + "\n")
    assert train("--time", "year", "--test", "0.25", "-o", "run").exit_code == 0
    assert load_model("run").config.data.time == "year"
    assert_refused(train("--time", "month", "-o", "other"), "expected a column 'month'")


def test_a_training_that_fails_at_once_leaves_no_run(folder):
    Path("data.csv").write_text("text,labels\na,x\nb,y\n")
    assert train("-o", "run").exit_code == 2
    assert not Path("run").exists()


def test_a_table_without_a_header_is_remarked_upon(folder):
    Path("data.csv").write_text("ant bee,ant;bee\ncat,cat\n")
    assert_refused(train("-o", "run"), "got ant bee, ant;bee (the first line of a table names its columns)")
    Path("data.csv").write_text("text|labels\nant bee|ant\n")
    assert_refused(train("-o", "run"), "got text|labels (fields are separated by commas, semicolons or tabs)")


@pytest.mark.parametrize("mark", [";", "\t"])
def test_tables_of_spreadsheets_in_other_languages_are_read(folder, mark):
    Path("a.csv").write_text(f'text{mark}labels\n"ant, bee"{mark}x|y\ncat{mark}y\n')
    data = load_dataset("a.csv")
    assert (data.texts, data.label_sets()) == (("ant, bee", "cat"), [("x", "y"), ("y",)])


def test_a_column_that_is_no_number_is_named_with_the_way_out(folder):
    Path("data.csv").write_text("a,colour,labels\n1,red,x\n2,blue,y\n")
    assert_refused(train("-o", "run"), "expected a number in column 'colour', got 'red' (--features names the columns")


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_files_are_read(folder, ending, pack):
    Path(f"a.csv.{ending}").write_bytes(pack(b"text,labels\nant,x;y\nbee,y\n"))
    assert load_dataset(f"a.csv.{ending}").label_sets() == [("x", "y"), ("y",)]
    Path(f"cut.csv.{ending}").write_bytes(pack(b"text,labels\nant,x\n" * 999)[:-9])
    assert_refused(run("data", "stats", f"cut.csv.{ending}"), f"cut.csv.{ending}")
    Path(f"bad.csv.{ending}").write_bytes(b"text,labels\nant,x\n")
    assert_refused(run("data", "stats", f"bad.csv.{ending}"), f"expected .{ending} data, got something else")


def test_an_archive_is_to_be_unpacked_first(folder):
    Path("data.zip").write_bytes(b"PK")
    Path("data.csv.zip").write_bytes(b"PK")
    for name in ("data.zip", "data.csv.zip"):
        message = f"{name}: expected a file that is plain or ends in .gz, .bz2 or .xz, got an archive: unpack it first"
        assert_refused(run("train", "--data", name, "-o", "run"), message)


def test_what_cannot_be_written_is_said_before_anything_is_read(folder):
    Path("data.csv").unlink()
    Path("file").write_text("mine")
    assert_refused(train("-o", "file"), "--output must be a folder, got file, where file is a file")
    assert_refused(train("-o", "file/run"), "where file is a file")
    Path("run/model").mkdir(parents=True)
    Path("run/model/thesis.txt").write_text("mine")
    assert_refused(train("-o", "run"), "--output must have a free place for the model")
    assert Path("run/model/thesis.txt").read_text() == "mine"


def test_a_folder_without_permission_is_refused(folder, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    assert_refused(train("-o", "run"), "--output must be a folder that can be written, got run")


def test_an_error_of_the_system_is_told_without_its_number(folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "run/model")

    monkeypatch.setattr("labelproof.models.Model.save", full)
    result = train("-o", "run")
    assert result.exit_code == 2
    assert result.stderr.endswith("\nerror: run/model: no space left on device\n")


def test_nothing_to_resume_is_an_error(folder):
    assert_refused(train("-o", "run", "--resume"), "--resume needs a run that was started in run, got none")
    assert not Path("run").exists()
    assert train("-o", "run").exit_code == 0
    again = train("-o", "run", "--separator", ",")
    assert_refused(again, "run holds a run already: resume it, or give another folder (--resume)")
    assert train("-o", "run", "--resume").exit_code == 0


def test_an_interrupted_training_says_how_to_go_on(folder, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("labelproof.training.recipe.fitting.blend", interrupt)
        result = train("-o", "run")
    assert result.exit_code == 130
    assert "interrupted: run the same command with --resume to continue" in result.stderr
    assert not Path("run/model").exists()
    assert train("-o", "run", "--resume").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no file is left half-written; the same command begins anew"),
        (("--resume goes on",), "--resume goes on"),
    ],
)
def test_ctrl_c_ends_with_130_and_says_how_to_go_on(words, said):
    def wait():
        raise KeyboardInterrupt(*words)

    app = typer.Typer(cls=Verbs)
    app.command()(wait)
    app.command("other")(lambda: None)
    result = CliRunner().invoke(app, ["wait"])
    assert result.exit_code == 130
    assert result.stderr == f"\ninterrupted: {said}\n"
    assert result.stdout == ""


def test_a_number_that_is_none_is_repeated():
    assert_refused(run("count", "ten", "3"), "unable to parse string as an integer, got 'ten' (see --help)")
    assert_refused(run("count", "10", "0"), "greater than or equal to 1, got '0' (see --help)")


def test_arguments_of_the_library_are_named_as_the_options_that_they_are(folder):
    np.save("W.npy", np.eye(3))
    Path("Y.txt").write_text("0 1\n")
    audit = ("audit", "W.npy", "--labels", "Y.txt")
    assert_refused(run(*audit, "--fail-under", "99"), "error: --fail-under must be a share from 0 to 1, got 99")
    assert_refused(run(*audit, "--jobs", "0"), "error: --jobs must be a positive number of threads, got 0")
    assert_refused(run(*audit, "--serving-dtype", "fp16"), "error: --serving-dtype must be one of 'float64'")
    Path("none.txt").write_text("")
    assert_refused(run("audit", "W.npy", "--labels", "none.txt"), "error: --labels must hold at least one label set")


def test_columns_of_a_table_are_not_taken_for_arguments():
    assert in_words("labels must be 0 or 1", set()) == "labels must be 0 or 1"
    app_verbs = typer.main.get_command(app).commands
    assert "--labels" in options_of(app_verbs["audit"])
    assert "--labels" not in options_of(app_verbs["train"])  # there it is the name of a column


def test_no_option_is_offered_that_the_verb_does_not_have(folder):
    assert train("-o", "run").exit_code == 0
    Path("photo.jpg").write_bytes(b"x")
    refused = run("predict", "run", "photo.jpg")
    assert_refused(refused, "photo.jpg: expected a file name that shows its format")
    assert "--format" not in refused.stderr
    assert_refused(run("data", "stats", "photo.jpg"), "otherwise give --format")


def test_overrides_go_with_a_configuration(folder):
    assert_refused(train("-o", "run", "head.kind=dft"), "overrides such as head.kind=dft go with the file of a config")
    assert_refused(train("-o", "run", "my.yaml"), "expected either --data or a configuration, which names the data in")
    assert not Path("run").exists()


def test_a_misspelt_data_set_is_told_the_nearest(folder, monkeypatch):
    monkeypatch.delenv("LABELPROOF_DATA", raising=False)
    assert_refused(run("data", "stats", "debian_pakages"), "the nearest is debian_packages")


def test_labels_alone_are_nothing_to_learn_from(folder):
    np.save("Y.npy", np.eye(3, dtype=int))
    refused = run("train", "--data", "Y.npy", "-o", "run")
    assert_refused(refused, "Y.npy: expected texts or features to learn from, got labels alone")


def test_rules_whose_names_have_commas_are_told_apart(folder):
    np.save("S.npy", np.random.default_rng(0).normal(size=(40, 3)))
    np.save("Y.npy", np.random.default_rng(1).random((40, 3)) < 0.5)
    refused = run("tune", "--scores", "S.npy", "--labels", "Y.npy", "--rule", "best", "-o", "r.json")
    assert_refused(refused, "'per-label thresholds', 'per-label, shrunken', 'per-label, rare fall back'")


@pytest.mark.parametrize("ending", ["npz", "pt", "skops"])
def test_an_empty_file_is_called_empty(folder, ending):
    Path(f"model.{ending}").write_bytes(b"")
    Path("Y.txt").write_text("0\n")
    refused = run("audit", f"model.{ending}", "--labels", "Y.txt")
    assert_refused(refused, f"error: model.{ending}: expected")
    assert "empty" in refused.stderr


def test_a_broken_line_of_json_is_told_by_its_place(folder):
    np.save("W.npy", np.eye(3))
    Path("Y.jsonl").write_text('[0]\n{"labels"\n')
    refused = run("audit", "W.npy", "--labels", "Y.jsonl")
    assert_refused(refused, "Y.jsonl, line 2: expected JSON (Expecting ':' delimiter at character 10)")


def test_a_file_that_is_no_audit_is_told_what_is_expected(folder):
    Path("W.npz").write_bytes(b"PK\xff")
    refused = run("report", "W.npz", "-o", "r.html")
    assert_refused(refused, "W.npz: expected the folder of an audit, or its audit.json; expected ")


def test_errors_of_the_system_begin_with_the_file(folder, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", "data.csv")

    monkeypatch.setattr("labelproof.data.load_dataset", refuse)
    assert_refused(run("data", "stats", "data.csv"), "error: data.csv: permission denied\n")


def test_a_place_that_cannot_be_written_is_told_before_the_work(folder, monkeypatch):
    monkeypatch.setattr("os.access", lambda _, mode: not mode & os.W_OK)
    np.save("W.npy", np.eye(3))
    Path("Y.txt").write_text("0\n")
    said = "must be in a folder that can be written, got"
    assert_refused(run("verify", "W.npy", "--labels", "Y.txt", "-o", "v.npz"), f"--output {said} v.npz")
    assert_refused(run("data", "convert", "data.csv", "a.jsonl"), f"OUT {said} a.jsonl")
    assert_refused(run("demo", "-o", "d"), "--output must be a folder that can be written, got d")


def test_numbers_are_no_texts_and_folders_no_files(folder):
    assert train("-o", "run").exit_code == 0
    np.save("X.npy", np.eye(3))
    assert_refused(
        run("predict", "run", "X.npy"), "X.npy: the model reads texts, got an array of numbers: expected a table"
    )
    np.savez("X.npz", features=np.eye(3))
    assert_refused(run("predict", "run", "X.npz"), "X.npz: the model reads texts, got an array of numbers: expected")
    Path("inputs").mkdir()
    assert_refused(run("predict", "run", "inputs"), "inputs: expected a file, got a folder")
    assert_refused(run("evaluate", "--model", "run", "--data", "X.npy"), "X.npy")


def messages_of_the_library():
    """Yield every string that is raised, or is a constant of a module, outside of the command line."""
    root = Path(labelproof.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] in ("cli", "proof"):
            continue
        tree = ast.parse(path.read_text())
        spoken = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
        spoken += [node.value for node in tree.body if isinstance(node, ast.Assign)]
        for part in spoken:
            for node in ast.walk(part):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path.name, node.value


def test_the_library_names_arguments_and_the_command_line_options():
    commands = {"not_tested.py", "document.py", "vocabulary.py", "index.py", "huggingface.py", "other_formats.py"}
    for name, message in messages_of_the_library():
        if name not in {*commands, "model.py", "inside.py"}:  # which name whole commands, or both spellings
            assert not re.search(r"(?<![\w-])--[a-z]", message), f"{name}: {message}"


def test_code_in_a_message_is_left_as_it_is():
    code = "write numpy.savez('layer.npz', weight=..., bias=b), rule='topk' or a == b"
    assert in_words(code) == code


def test_every_argument_that_a_message_names_is_an_option():
    verbs = typer.main.get_command(app).commands.values()
    known = {word for verb in verbs for option in getattr(verb, "params", ()) for word in option.opts}
    named = {word for name, text in messages_of_the_library() for word in OPTION.findall(in_words(text))}
    assert {"--labels", "--weight-key", "--label-column", "--separator"} <= named
    assert named - known <= {"--image"}, named - known  # a column of tables that no verb has an option for
