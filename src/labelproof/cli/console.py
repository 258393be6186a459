"""What all verbs share at the terminal: errors and exit codes, JSON, and a word before a long wait."""

import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from labelproof.errors import LabelproofError

__all__ = ["Group", "Verbs", "console", "print_json", "print_saved_audit", "printable", "progress_wanted", "table"]

BAD_INPUT = 2
INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C: 128 + SIGINT
BEGINS_ANEW = "no file is left half-written; the same command begins anew"
_KEYWORD = re.compile(
    r"(?<![\w.'\"-])([a-z][a-z_]*)=(?![\w'\"\[(=]|\.\.)"
)  # as the library names an argument, "labels="
_SUBJECT = re.compile(r"([a-z][a-z_]*) (?=must |goes )")  # as the library begins a message, "fail_under must be ..."
_OTHERWISE = {  # arguments whose options are called otherwise
    "columns": "label-column",
    "every": "every-pair",
    "n_jobs": "jobs",
    "required": "require",
}
_OR_FORMAT = "; otherwise give --format"
NO_READER = 141  # what a shell reports for a program whose output is no longer read: 128 + SIGPIPE


class Group(TyperGroup):
    """Verbs whose help fits any terminal: paragraphs without line breaks, and flags without a type."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb."""
        verb = super().get_command(ctx, cmd_name)
        return None if verb is None else _with_plain_help(verb, ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help of the group itself."""
        _with_plain_help(self, ctx)
        super().format_help(ctx, formatter)


def _with_plain_help(verb: Any, context: Any) -> Any:
    verb.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in (verb.help or "").split("\n\n"))
    for option in [*verb.params, verb.get_help_option(context)]:
        if getattr(option, "is_flag", False):
            option.metavar = ""  # typer writes <bool>, as if the flag took a value
    return verb


class Verbs(Group):
    """The verbs of the command line; wrong use and bad input end in one sentence and the exit code 2, Ctrl-C in 130.

    A verb that can go on after Ctrl-C raises KeyboardInterrupt with the words that say how.
    """

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a verb and leave with its exit code."""
        try:
            with _guesses_told():
                code = super().main(*args, **{**options, "standalone_mode": False})
        except typer.Abort:  # the end of the input where an answer was asked for
            sys.exit(_fail("interrupted"))
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # how typer's help ends when its output is no longer read
                sys.exit(_stop_writing())
            raise
        except Exception as error:
            if not hasattr(error, "format_message"):  # what typer raises for wrong use
                raise
            sys.exit(_fail(f"{error.format_message().rstrip('.')}{_what_came(error)} (see --help)"))
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, context: Any) -> Any:
        """Run a verb until its end, or until nobody reads what it writes."""
        try:
            result = super().invoke(context)
            sys.stdout.flush()
        except BrokenPipeError:
            sys.exit(_stop_writing())
        except KeyboardInterrupt as stop:
            print(f"\ninterrupted: {str(stop) or BEGINS_ANEW}", file=sys.stderr)
            sys.exit(INTERRUPTED)
        except (LabelproofError, ValueError, OSError, MemoryError) as error:
            verb = self.get_command(context, context.invoked_subcommand or "")
            sys.exit(_fail(_sentence(error), _options(verb)))
        return result


def _fail(message: str, options: Collection[str] = ()) -> int:
    said = _in_words_of_the_command_line(" ".join(message.split()), options)
    print(f"error: {said or 'out of memory'}", file=sys.stderr)
    return BAD_INPUT


def _sentence(error: Exception) -> str:
    """Return what an error says; one of the system begins with the file, as ours do, not with a number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return str(error)


def _what_came(error: Exception) -> str:
    """Return the word that is no value of an option, where typer does not repeat it."""
    faults = getattr(error.__cause__, "errors", None)
    return f", got {faults()[0]['input']!r}" if callable(faults) else ""


def _options(verb: Any) -> set[str]:
    """Return the options of a verb, or of the verbs of a group, that are arguments of the library, not columns."""
    verbs = [verb, *getattr(verb, "commands", {}).values()]
    return {
        word
        for one in verbs
        for option in getattr(one, "params", ())
        if getattr(option, "metavar", None) != "COLUMN"
        for word in option.opts
    }


def _in_words_of_the_command_line(message: str, options: Collection[str] = ()) -> str:
    """Write an argument that a message of the library names, such as ``weight_key=``, as the option that it is here.

    >>> _in_words_of_the_command_line("a column named by labels=: say which with weight_key= (rule='topk')")
    "a column named by --labels: say which with --weight-key (rule='topk')"
    >>> _in_words_of_the_command_line("n_jobs must be a positive number of threads, got 0", {"--jobs"})
    '--jobs must be a positive number of threads, got 0'
    """
    said = _KEYWORD.sub(lambda found: _option(found[1]), message)
    if options and "--format" not in options:
        said = said.removesuffix(_OR_FORMAT)
    begins = _SUBJECT.match(said)
    if begins is not None and _option(begins[1]) in options:
        said = _option(begins[1]) + said[begins.end(1) :]
    return said


def _option(argument: str) -> str:
    return f"--{_OTHERWISE.get(argument, argument).replace('_', '-')}"


@contextmanager
def _guesses_told() -> Iterator[None]:
    """Let a warning that something was guessed be a note for people; others are shown as ever."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], filename: str, *where: Any, **more: Any) -> None:
            if category.__name__ == "SeparatorGuess":
                print(f"note: {_in_words_of_the_command_line(str(message))}.", file=sys.stderr)
            else:
                usual(message, category, filename, *where, **more)

        warnings.showwarning = show
        warnings.filterwarnings("always", message="labels are split at")
        yield


def _stop_writing() -> int:
    """Let what is still to be written go nowhere, as after ``| head``."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return NO_READER


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave with an exit code that is none of our own."""
        sys.exit(_stop_writing())


def console(*, stderr: bool = False) -> Console:
    """Return where results are printed, or notes beside them."""
    return _Console(highlight=False, markup=False, emoji=False, stderr=stderr)


def print_json(data: Any) -> None:
    """Print one JSON object, the only thing that ``--json`` writes to standard output."""
    print(json.dumps(data, indent=2, allow_nan=False))


def print_saved_audit(folder: Path, proofs: str, layer: str) -> None:
    """Say where the report of an audit is, and which command proves its verdicts again."""
    command = shlex.join(["labelproof", "check", str(folder / proofs), "--weights", str(folder / layer)])
    console().print(f"Report: {folder / 'report.html'}. To prove the verdicts again:\n  {command}", soft_wrap=True)


def progress_wanted() -> bool:
    """Whether somebody is there to watch a progress bar."""
    return sys.stderr.isatty()


def table(*columns: str, words: bool = False) -> Table:
    """Return an empty table; all columns but the first hold numbers, unless they are all words."""
    empty = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, column in enumerate(columns):
        empty.add_column(column, justify="right" if place and not words else "left")
    return empty


def printable(text: str) -> str:
    r"""Write a text from a file so that it cannot command the terminal.

    >>> printable("cat\x1b[2J")
    'cat�[2J'
    """
    return "".join(c if c.isprintable() else "�" for c in text)
