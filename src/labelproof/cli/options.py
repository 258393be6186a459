"""The options that several verbs share, with one help text for each."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "Bias",
    "Domain",
    "Jobs",
    "LabelNames",
    "Labels",
    "Rule",
    "Thresholds",
    "Ties",
    "TimeLimit",
    "Weights",
]

Weights = Annotated[
    Path,
    typer.Argument(
        metavar="WEIGHTS",
        help="Output layer of shape (labels, features): .npy, .npz (array 'weight' or 'W'), .csv, .tsv or .txt.",
        show_default=False,
    ),
]
Labels = Annotated[
    Path,
    typer.Option(
        "--labels",
        "-l",
        help="Label sets: a 0/1 matrix (.npy, .npz, .csv), a sparse matrix (.npz), "
        "or one set a line (.txt, .jsonl: indices or names).",
        show_default=False,
    ),
]
Bias = Annotated[
    Path | None,
    typer.Option(help="Bias of each label; by default that in the file of weights, if it has one.", show_default=False),
]
Thresholds = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|NUMBER", help="Probabilities at which labels switch on; by default ½.", show_default=False
    ),
]
Rule = Annotated[str, typer.Option(metavar="sigmoid|topk|sparsemax", help="How logits become a label set.")]
Ties = Annotated[
    str, typer.Option(metavar="open|inactive", help="Whether an inactive label may sit on the boundary ('inactive').")
]
Domain = Annotated[
    str | None,
    typer.Option(metavar="nonnegative|LOW,HIGH", help="Which features occur; by default all.", show_default=False),
]
LabelNames = Annotated[Path | None, typer.Option(help="Text file of label names, one a line.", show_default=False)]
TimeLimit = Annotated[float | None, typer.Option(metavar="SECONDS", help="Time for one label set.", show_default=False)]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default all cores.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
