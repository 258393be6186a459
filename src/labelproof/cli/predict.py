"""labelproof predict: the labels of new examples, read and answered one batch at a time."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from labelproof.cli.console import console, plural, print_json, progress_wanted
from labelproof.cli.options import AsJson

if TYPE_CHECKING:
    from labelproof.models import Model

__all__ = ["predict"]


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of the model, or of its run.", show_default=False)],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="Examples: .csv, .tsv, .jsonl (column 'text'), .txt (one text a line), .npy, .npz and others; "
            "'-' reads one text a line from standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSON lines; by default standard output.", show_default=False),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Most probable labels to list, with probabilities.")] = 5,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            "-c",
            help="Column of a table to read, may be repeated; by default those of training.",
            show_default=False,
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Examples at a time.")] = 256,
    as_json: AsJson = False,
) -> None:
    """Predict the labels of examples: one JSON object a line, in the order of the input."""
    from labelproof.cli.scores import require_free_output
    from labelproof.models import load_model

    if as_json and output is None:
        raise ValueError("--json prints a summary and needs --output for the predictions")
    require_free_output(output, [source])
    loaded = load_model(model)
    start = time.perf_counter()
    done = labels = 0
    with _writer(output) as stream, _counter(show=output is not None and progress_wanted()) as advance:
        for line in _predictions(loaded, source, column or [], top, batch_size):
            stream.write(json.dumps(line, ensure_ascii=stream.encoding != "utf-8") + "\n")  # no name is ever garbled
            done += 1
            labels += len(line["labels"])
            advance(1)
    seconds = time.perf_counter() - start
    if as_json:
        per_example = labels / done if done else 0.0
        print_json({"examples": done, "labels_per_example": per_example, "seconds": round(seconds, 3)})
    elif output is not None:
        console().print(f"{plural(done, 'example')} in {seconds:.1f} s, written to {output}", soft_wrap=True)


def _predictions(
    model: "Model", source: Path, columns: list[str], top: int, batch_size: int
) -> Iterator[dict[str, Any]]:
    from labelproof.models.inputs import columns_for, iter_batches, iter_inputs

    kind, width = model.encoder.input_kind, getattr(model.encoder, "n_features", None)
    if str(source) == "-":
        inputs = _lines_of_standard_input()
    else:
        inputs = iter_inputs(source, kind, columns=columns_for(kind, model.config.data, columns), n_features=width)
    for batch in iter_batches(inputs, batch_size, n_features=width):
        for logits in model.iter_logits(batch, batch_size=batch_size):
            for prediction in model.describe(logits, top=top):
                probabilities = {name: round(p, 6) for name, p in prediction.top}
                yield {"labels": list(prediction.labels)} | ({"top": probabilities} if top else {})


def _lines_of_standard_input() -> Iterator[str]:
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", newline="\n")  # as files are read
    return (line.removesuffix("\n").removesuffix("\r") for line in sys.stdin)


@contextmanager
def _writer(output: Path | None) -> Iterator[TextIO]:
    """Give a stream whose file takes its name once it is complete."""
    if output is None:
        yield sys.stdout
        return
    draft = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with open(draft, "w", encoding="utf-8", errors="backslashreplace") as stream:  # half characters, as in JSON
            yield stream
        os.replace(draft, output)
    finally:
        draft.unlink(missing_ok=True)


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
