"""Run verbs of the command line within a test, and say what their answers must be."""

import json

from typer.testing import CliRunner

from labelproof.cli import app


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def report(*words):
    """Return what a verb writes with --json."""
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def assert_refused(result, message):
    """Exit code 2, one line on standard error, and nothing on standard output."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert message in result.stderr
