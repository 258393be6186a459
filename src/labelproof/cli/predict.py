"""labelproof predict: the labels of new examples, read and answered one batch at a time."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from labelproof.cli.console import console, print_json, progress_wanted
from labelproof.cli.grouped import grouped
from labelproof.cli.options import AsJson
from labelproof.foundation.wording import plural
from labelproof.foundation.writing import replacing

if TYPE_CHECKING:
    from labelproof.models import Model

__all__ = ["predict"]


@dataclass(frozen=True)
class Outputs:
    """Where predictions and scores go, and what they hold."""

    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSON lines; by default standard output.", show_default=False),
    ] = None
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Write the scores of all labels here: .npy, or .npz with label names; (examples, labels), float32.",
            show_default=False,
        ),
    ] = None
    score_kind: Annotated[
        str,
        typer.Option(
            metavar="probabilities|logits", help="Kind of --scores: calibrated probabilities, or their logits."
        ),
    ] = "probabilities"
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Use the model's rule for this metric, such as macro-f1; by default its main rule.",
            show_default=False,
        ),
    ] = None
    top: Annotated[int, typer.Option(min=0, help="Most probable labels to list, with probabilities.")] = 5


@dataclass(frozen=True)
class Reading:
    """Which columns of the input are read, and how many examples at a time."""

    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            "-c",
            metavar="COLUMN",
            help="Column of a table to read, may be repeated; by default those of training.",
            show_default=False,
        ),
    ] = None
    batch_size: Annotated[int, typer.Option(min=1, help="Examples at a time.")] = 256


@grouped
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Folder of the model, or of its run.", show_default=False)
    ],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="Examples: .csv, .tsv, .jsonl (column 'text'), .txt (one text per line), .npy, .npz and others; "
            "'-' reads one text per line from standard input.",
            show_default=False,
        ),
    ],
    *,
    to: Outputs,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Predict the labels of examples: one JSON object per line, in the order of the input.

    With --scores and without --output, only the scores are written.
    """
    from labelproof.cli.outputs import require_free_file
    from labelproof.models import load_model

    output, scores = to.output, to.scores
    if as_json and output is None and scores is None:
        raise ValueError("--json prints a summary and needs --output for the predictions")
    require_free_file(output, [source])
    _require_score_file(scores, to.score_kind, [source, output])
    loaded = load_model(model)
    loaded = loaded if to.metric is None else loaded.for_metric(to.metric)
    start = time.perf_counter()
    done = labels = 0
    quiet = output is None and scores is None
    with (
        _scores_to(scores, loaded, to.score_kind) as keep,
        _writer(output, nowhere=scores is not None) as stream,
        _counter(show=not quiet and progress_wanted()) as advance,
    ):
        for logits in _logits(loaded, source, reading.column or [], reading.batch_size):
            keep(logits)
            for line in _lines(loaded, logits, to.top):
                if stream is not None:  # no name is ever garbled
                    stream.write(json.dumps(line, ensure_ascii=stream.encoding != "utf-8") + "\n")
                labels += len(line["labels"])
            done += len(logits)
            advance(len(logits))
    seconds = time.perf_counter() - start
    if as_json:
        per_example = labels / done if done else 0.0
        told = {} if scores is None else {"scores": str(scores), "score_kind": to.score_kind}
        print_json({"examples": done, "labels_per_example": per_example, "seconds": round(seconds, 3), **told})
    elif not quiet:
        written = [] if output is None else [str(output)]
        written += [] if scores is None else [f"{scores} ({_words(loaded, to.score_kind)})"]
        console().print(
            f"{plural(done, 'example')} in {seconds:.1f} s, written to {' and '.join(written)}", soft_wrap=True
        )


def _words(model: "Model", kind: str) -> str:
    """Say what scores are."""
    calibrated = "calibrated" if model.config.head.kind == "auto" else "not calibrated"
    return f"{kind}, {calibrated}, of {plural(model.n_labels, 'label')}"


def _require_score_file(scores: Path | None, kind: str, others: list[Path | None]) -> None:
    from labelproof.cli.outputs import require_free_file
    from labelproof.cli.score_files import ENDINGS
    from labelproof.foundation.arguments import check_choice

    check_choice("--score-kind", kind, ("probabilities", "logits"))
    if scores is not None and scores.suffix not in ENDINGS:
        raise ValueError(f"--scores must be a file {' or '.join(ENDINGS)}, got {scores}")
    require_free_file(scores, others, "--scores")
    if scores is not None and any(path is not None and path.resolve() == scores.resolve() for path in others):
        raise ValueError(f"--scores must not be the file of --output, got {scores}")


@contextmanager
def _scores_to(path: Path | None, model: "Model", kind: str) -> Iterator[Callable[[Any], None]]:
    """Give a function that is told the logits of each batch."""
    if path is None:
        yield lambda _: None
        return
    from labelproof.cli.score_files import score_file

    with score_file(path, model.label_names, kind) as file:
        yield lambda logits: file.add(logits if kind == "logits" else model.to_probabilities(logits))


def _logits(model: "Model", source: Path, columns: list[str], batch_size: int) -> Iterator[Any]:
    from labelproof.models.new_inputs import columns_for, iter_batches, iter_inputs

    kind, width = model.encoder.input_kind, getattr(model.encoder, "n_features", None)
    if str(source) == "-":
        inputs = _lines_of_standard_input()
    else:
        named, missing = columns_for(kind, model.config.data, columns), model.config.head.kind == "auto"
        inputs = iter_inputs(source, kind, columns=named, n_features=width, missing=missing)
    for batch in iter_batches(inputs, batch_size, n_features=width):
        yield from model.iter_logits(batch, batch_size=batch_size)


def _lines(model: "Model", logits: Any, top: int) -> Iterator[dict[str, Any]]:
    for prediction in model.describe(logits, top=top):
        probabilities = {name: round(p, 6) for name, p in prediction.top}
        yield {"labels": list(prediction.labels)} | ({"top": probabilities} if top else {})


def _lines_of_standard_input() -> Iterator[str]:
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", newline="\n")  # as files are read
    return (line.removesuffix("\n").removesuffix("\r") for line in sys.stdin)


@contextmanager
def _writer(output: Path | None, *, nowhere: bool) -> Iterator[TextIO | None]:
    """Give a stream whose file takes its name once it is complete; without one standard output, or nothing."""
    if output is None:
        yield None if nowhere else sys.stdout
        return
    with replacing(output) as file:
        stream = TextIOWrapper(file, encoding="utf-8", errors="backslashreplace")  # half characters, as in JSON
        yield stream
        stream.detach()


@contextmanager
def _counter(*, show: bool) -> Iterator[Any]:
    """Give a function that is told how many more examples are done; how many there are is not known."""
    if not show:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("predicting"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda n: bar.advance(task, n)
