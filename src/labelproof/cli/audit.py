"""labelproof audit: which label combinations can a trained model never predict, and does it matter?"""

from pathlib import Path
from typing import Annotated

import typer

from labelproof.cli.audit_running import Running
from labelproof.cli.feature_files import CALIBRATION
from labelproof.cli.models import FoundDomain, FoundRule, FoundThresholds, InactiveTies
from labelproof.cli.options import (
    FORMATS,
    LABEL_FORMATS,
    Address,
    AsJson,
    Bias,
    EngineName,
    Jobs,
    LabelColumn,
    LabelNames,
    Part,
    WeightKey,
)

__all__ = ["audit"]

ON_INPUTS = "How near real inputs come"
FURTHER = "What else to find out"
REQUIRED = "Requirements (exit code 1 if they are not met)"
OTHERS = "Other audits: tokens of a language model, documents of an index"
OF_INDEX = {"index", "qrels", "documents", "cosine", "widths", "depths"}
OF_MODELS = {"model", "vocabulary", "weight_key", "bias", "label_names"}
OF_ALL = {"output", "explain", "fail_under", "time_limit", "jobs", "engine", "address", "as_json"}
"""Parameters that an audit of an index, of any model, and of anything has; the others go with label sets."""


def audit(
    context: typer.Context,
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help=f"{FORMATS[0].upper()}{FORMATS[1:]}.", show_default=False)
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option("--labels", "-l", metavar="DATA", help=f"Label sets: {LABEL_FORMATS}", show_default=False),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="Instead of --labels: a data set with texts, images or features to run the model on. Says "
            "which label sets it could predict on inputs like these.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for the report and the proofs; after an interruption the same command goes on where it was.",
            show_default=False,
        ),
    ] = None,
    part: Part = None,
    label_column: LabelColumn = None,
    drop_unknown: Annotated[
        bool,
        typer.Option("--drop-unknown", help="Sets with labels that the model does not know count as never predicted."),
    ] = False,
    label_names: LabelNames = None,
    weight_key: WeightKey = None,
    bias: Bias = None,
    rule: FoundRule = None,
    thresholds: FoundThresholds = None,
    ties: InactiveTies = "inactive",
    domain: FoundDomain = None,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Features of real inputs, .npy (inputs, features) or a sparse .npz, if the model cannot be "
            "run here; measures the stretch.",
            show_default=False,
            rich_help_panel=ON_INPUTS,
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=CALIBRATION, show_default=False, rich_help_panel=ON_INPUTS),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Share of the predictions that may lie beyond the bar.", rich_help_panel=ON_INPUTS)
    ] = 0.01,
    most_inputs: Annotated[
        int,
        typer.Option(
            min=2, help="With --data: how many examples the model is run on at most.", rich_help_panel=ON_INPUTS
        ),
    ] = 10_000,
    reach: Annotated[
        bool,
        typer.Option(
            "--reach",
            help="Also measure how far from the mean of the features each set is first predicted.",
            rich_help_panel=ON_INPUTS,
        ),
    ] = False,
    radius: Annotated[
        bool,
        typer.Option(
            "--radius",
            help="Also measure how far the features of each set can move (the radius).",
            rich_help_panel=FURTHER,
        ),
    ] = False,
    box: Annotated[float, typer.Option(help="Bound on the features for the radius.", rich_help_panel=FURTHER)] = 1e4,
    predicted: Annotated[
        Path | None,
        typer.Option(help="The model's own predictions, as label sets.", show_default=False, rich_help_panel=FURTHER),
    ] = None,
    pairs: Annotated[
        int,
        typer.Option(min=0, help="Pairs of labels to verify (a sample if there are more).", rich_help_panel=FURTHER),
    ] = 0,
    triples: Annotated[int, typer.Option(min=0, help="Triples of labels to verify.", rich_help_panel=FURTHER)] = 0,
    serving_dtype: Annotated[
        str | None,
        typer.Option(
            metavar="float32|bfloat16|float16|float64",
            help="Numbers that the model is served in: which sets survive their rounding? By default as stored.",
            show_default=False,
            rich_help_panel=FURTHER,
        ),
    ] = None,
    require: Annotated[
        Path | None,
        typer.Option(
            help="Sets that must be predictable (.csv: name,labels; .jsonl; .txt).",
            show_default=False,
            rich_help_panel=REQUIRED,
        ),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Smallest share of the sets that must be predictable.",
            show_default=False,
            rich_help_panel=REQUIRED,
        ),
    ] = None,
    explain: Annotated[int, typer.Option(min=0, help="How many unpredictable sets to explain.")] = 20,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Time for one label set; by default 60, inf for no limit.", show_default=False
        ),
    ] = None,
    jobs: Jobs = None,
    engine: EngineName = "local",
    address: Address = None,
    as_json: AsJson = False,
    vocabulary: Annotated[
        bool,
        typer.Option(
            "--vocabulary",
            help="MODEL is a language model: which tokens can it never rank first?",
            rich_help_panel=OTHERS,
        ),
    ] = False,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of MODEL: vectors of documents (.npy, .npz, .csv), one per row. Which relevant documents can "
            "no query vector return together?",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(
            help="With --index: query, 0, document, relevance (TREC), or BEIR's.",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            help="With --index: names of its rows, one per line, or .jsonl with _id.",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None,
    cosine: Annotated[
        bool, typer.Option("--cosine", help="With --index: rank by cosine, not by dot product.", rich_help_panel=OTHERS)
    ] = False,
    widths: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="With --index: widths to which vectors are truncated.",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None,
    depths: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="K,K,…",
            help="With --index: also ask whether all relevant documents can be among the best K; by default 5,10.",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None,
) -> None:
    """Prove which label combinations of the data a trained model can never predict.

    With --vocabulary, which tokens a language model never ranks first; with --index, which relevant documents no query
    vector returns together.

    Exit code 1 if a set of --require, or a larger share than --fail-under allows, cannot be predicted.
    """
    _refuse_others(context, of_index=index is not None, of_vocabulary=vocabulary)
    running = Running(output, explain, fail_under, time_limit, jobs, engine, address, as_json)
    if index is not None:
        from labelproof.cli.audit_index import Searching, audit_index_of

        passed = audit_index_of(index, Searching(qrels, documents, cosine, widths, depths), running)
    elif model is None:
        raise ValueError("Missing argument 'MODEL' (see --help)")
    elif vocabulary:
        from labelproof.cli.audit_vocabulary import audit_vocabulary_of

        passed = audit_vocabulary_of(model, weight_key, bias, label_names, running)
    else:
        from labelproof.cli.audit_label_sets import Data, Further, Inputs, Layer, audit_label_sets_of

        passed = audit_label_sets_of(
            Layer(model, weight_key, bias, label_names, rule, thresholds, ties, domain),
            Data(labels, data, part, label_column or (), drop_unknown),
            Inputs(features, calibration, alpha, most_inputs, reach),
            Further(radius, box, predicted, pairs, triples, serving_dtype, require),
            running,
        )
    if not passed:
        raise typer.Exit(1)


def _refuse_others(context: typer.Context, *, of_index: bool, of_vocabulary: bool) -> None:
    """Refuse parameters that were given and go with an audit of something else."""
    for one in context.command.params:
        name = str(one.name)
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        fitting = None
        if of_index and name in OF_MODELS:
            fitting = "an audit without --index"
        elif not of_index and name in OF_INDEX:
            fitting = "--index"
        elif (of_index or of_vocabulary) and name not in OF_INDEX | OF_MODELS | OF_ALL:
            fitting = "the audit of label sets"
        if fitting is not None:
            given = one.opts[0] if one.opts[0].startswith("-") else name.upper()
            raise ValueError(f"{given} goes with {fitting} only")
