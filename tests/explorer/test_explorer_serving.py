"""`labelproof explore` as users start and stop it."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import typer
from small_explorers import TRIANGLE, layer_of
from typer.testing import CliRunner

from labelproof.cli.console import Verbs
from labelproof.cli.explore import explore
from labelproof.errors import MissingPackageError
from labelproof.explorer import make_app, serve

PROGRAM = """
import sys, typer
from labelproof.cli.console import Verbs
from labelproof.cli.explore import explore
app = typer.Typer(cls=Verbs)
app.command()(explore)
app.command()(lambda: None)
app(prog_name="labelproof")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("W.npz", weight=TRIANGLE)
    Path("Y.txt").write_text("0\n0 1\n0 1 2\n")
    Path("names.txt").write_text("cat\ndog\nbird\n")
    return tmp_path


@contextmanager
def running(*words):
    """Start the command; yield the process and the address that it prints."""
    command = [sys.executable, "-c", PROGRAM, "explore", *words, "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+/", line)
        assert found, line + process.stderr.read()
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def fetched(url):
    with urllib.request.urlopen(url, timeout=20) as response:  # noqa: S310
        return json.loads(response.read())


def refused(*words):
    app = typer.Typer(cls=Verbs)
    app.command()(explore)
    app.command("other")(lambda: None)
    result = CliRunner().invoke(app, ["explore", *words, "--no-browser"])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1]


def test_it_prints_its_address_answers_and_ends_cleanly_at_ctrl_c(folder):
    with running("W.npz", "--labels", "Y.txt", "--label-names", "names.txt") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        model = fetched(url + "api/model")
        assert (model["model"], model["n_labels"], model["examples"], model["ties"]) == ("W.npz", 3, 3, "inactive")
        assert [one["name"] for one in fetched(url + "api/labels?q=ca")] == ["cat"]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert out == "The explorer has ended.\n"
    assert "Traceback" not in err
    assert "warning" not in err


def test_another_host_is_served_with_a_warning(folder):
    options = ["--rule", "topk", "--ties", "open", "--domain", "-1,1", "--host", "0.0.0.0"]  # noqa: S104
    with running("W.npz", *options) as (process, url):
        model = fetched(url + "api/model")
        assert (model["rule"], model["ties"], model["domain"]) == ("topk", "open", "inputs within [-1, 1]")
        assert (model["examples"], model["is_named"]) == (0, False)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert "warning: whoever reaches 0.0.0.0 on the network can ask about this model." in err


def test_bad_input_is_one_sentence_and_exit_code_2(folder):
    assert refused("none.npz") == "error: none.npz: no such file or folder"
    assert "Z.txt, line 1: expected label indices from 0 to 2" in refused("W.npz", "--labels", write("Z.txt", "7\n"))
    assert "expected 3 label names" in refused("W.npz", "--label-names", write("few.txt", "cat\n"))
    assert "rule must be" in refused("W.npz", "--rule", "argmax")
    assert "ties must be" in refused("W.npz", "--ties", "both")
    assert "domain must be" in refused("W.npz", "--domain", "everywhere")
    assert "thresholds must be probabilities" in refused("W.npz", "--thresholds", "1.5")


def write(name, text):
    Path(name).write_text(text)
    return name


def test_a_port_that_is_taken_or_is_none_is_refused(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"host and port must be free on this machine, got 127.0.0.1 and {port}" in refused(
            "W.npz", f"--port={port}"
        )
    with pytest.raises(ValueError, match="port must be a number from 0 to 65535, got 70000"):
        serve(layer_of(TRIANGLE), port=70_000)


def test_missing_packages_are_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(
        MissingPackageError, match=r"explorer needs the package fastapi: pip install 'labelproof\[audit\]'"
    ):
        make_app(layer_of(TRIANGLE))
