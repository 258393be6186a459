"""The options that several verbs share, with one help text for each."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "FORMATS",
    "LABEL_FORMATS",
    "Address",
    "AsJson",
    "Bias",
    "Domain",
    "EngineName",
    "Jobs",
    "LabelColumn",
    "LabelNames",
    "Labels",
    "Part",
    "Rule",
    "SomeLabels",
    "Thresholds",
    "Ties",
    "TimeLimit",
    "WeightKey",
    "Weights",
]

FORMATS = (
    "a model folder (labelproof, Hugging Face, PECOS, an audit), or a file: .npz, .npy, .csv, .safetensors, .pt, "
    ".ckpt, .bin, .skops, .onnx, .keras"
)
Weights = Annotated[
    Path,
    typer.Argument(metavar="WEIGHTS", help=f"Output layer of shape (labels, features): {FORMATS}.", show_default=False),
]
WeightKey = Annotated[str | None, typer.Option(help="Name of the tensor that is the output layer.", show_default=False)]
LABEL_FORMATS = (
    "a 0/1 matrix (.npy, .npz, .csv, .parquet; with label names or without), a sparse one (.npz), a table with a "
    "column 'labels' (.csv, .jsonl, .parquet), one set per line (.txt, .jsonl: indices or names), or a data set."
)
Labels = Annotated[
    str,
    typer.Option("--labels", "-l", metavar="DATA", help=f"Label sets: {LABEL_FORMATS}", show_default=False),
]
SomeLabels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        "-l",
        metavar="DATA",
        help=f"Where to look for similar sets: {LABEL_FORMATS}",
        show_default=False,
    ),
]
Part = Annotated[
    str | None, typer.Option(help="Part of the data set, such as test; by default all.", show_default=False)
]
LabelColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="Column of the labels in a table, or (repeated) columns of 0 and 1.", show_default=False
    ),
]
Bias = Annotated[
    Path | None,
    typer.Option(help="Bias of each label, from a file; by default that of the model.", show_default=False),
]
Thresholds = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|NUMBER", help="Probabilities at which labels switch on; by default ½.", show_default=False
    ),
]
Rule = Annotated[str, typer.Option(metavar="sigmoid|topk|sparsemax", help="How logits become a label set.")]
Ties = Annotated[
    str, typer.Option(metavar="open|inactive", help="Whether an inactive label may lie on the boundary ('inactive').")
]
Domain = Annotated[
    str | None,
    typer.Option(
        metavar="nonnegative|unit|ball,RADIUS|LOW,HIGH",
        help="Which feature vectors are possible; by default all.",
        show_default=False,
    ),
]
LabelNames = Annotated[
    Path | None,
    typer.Option(help="Text file of label names, one per line; by default the model's own.", show_default=False),
]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Time limit for each label set.", show_default=False)
]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default all cores.", show_default=False)]
EngineName = Annotated[
    str, typer.Option("--engine", metavar="local|ray", help="Where to run: on threads, or on a Ray cluster.")
]
Address = Annotated[
    str | None,
    typer.Option(help="Address of the Ray cluster, such as auto; by default one is started.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
