"""labelproof audit: which label combinations can a trained model never predict, and does it matter?"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from labelproof.cli.console import console, print_json, print_saved_audit, progress_wanted
from labelproof.cli.engines import connected
from labelproof.cli.feature_files import Calibration, read_features
from labelproof.cli.kept_parts import kept_beside
from labelproof.cli.models import (
    FoundDomain,
    FoundRule,
    FoundThresholds,
    InactiveTies,
    as_asked,
    read_model,
)
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
from labelproof.cli.outputs import require_writable_folder
from labelproof.foundation.optional_packages import need

__all__ = ["audit"]

T = TypeVar("T")
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
    label_names: LabelNames = None,
    weight_key: WeightKey = None,
    bias: Bias = None,
    rule: FoundRule = None,
    thresholds: FoundThresholds = None,
    ties: InactiveTies = "inactive",
    domain: FoundDomain = None,
    radius: Annotated[
        bool, typer.Option("--radius", help="Also measure how far the features of each set can move (the radius).")
    ] = False,
    box: Annotated[float, typer.Option(help="Bound on the features for the radius.")] = 1e4,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Features of real inputs, .npy (inputs, features) or a sparse .npz, if the model cannot be "
            "run here; measures the stretch.",
            show_default=False,
        ),
    ] = None,
    calibration: Calibration = None,
    alpha: Annotated[float, typer.Option(help="Share of the predictions that may lie beyond the bar.")] = 0.01,
    most_inputs: Annotated[
        int, typer.Option(min=2, help="With --data: how many examples the model is run on at most.")
    ] = 10_000,
    drop_unknown: Annotated[
        bool,
        typer.Option("--drop-unknown", help="Sets with labels that the model does not know count as never predicted."),
    ] = False,
    reach: Annotated[
        bool,
        typer.Option("--reach", help="Also measure how far from the mean of the features each set is first predicted."),
    ] = False,
    predicted: Annotated[
        Path | None, typer.Option(help="The model's own predictions, as label sets.", show_default=False)
    ] = None,
    pairs: Annotated[int, typer.Option(min=0, help="Pairs of labels to verify (a sample if there are more).")] = 0,
    triples: Annotated[int, typer.Option(min=0, help="Triples of labels to verify.")] = 0,
    serving_dtype: Annotated[
        str | None,
        typer.Option(metavar="float32|bfloat16|float16|float64", help="By default as stored.", show_default=False),
    ] = None,
    require: Annotated[
        Path | None,
        typer.Option(help="Sets that must be predictable (.csv: name,labels; .jsonl; .txt).", show_default=False),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Smallest share of the sets that must be predictable.", show_default=False),
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
        typer.Option("--vocabulary", help="MODEL is a language model: which tokens can it never rank first?"),
    ] = False,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of MODEL: vectors of documents (.npy, .npz, .csv), one per row. Which relevant documents can "
            "no query vector return together?",
            show_default=False,
        ),
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(help="With --index: query, 0, document, relevance (TREC), or BEIR's.", show_default=False),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(help="With --index: names of its rows, one per line, or .jsonl with _id.", show_default=False),
    ] = None,
    cosine: Annotated[bool, typer.Option("--cosine", help="With --index: rank by cosine, not by dot product.")] = False,
    widths: Annotated[
        str | None,
        typer.Option(metavar="N,N,…", help="With --index: widths to which vectors are truncated.", show_default=False),
    ] = None,
    depths: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="K,K,…",
            help="With --index: also ask whether all relevant documents can be among the best K; by default 5,10.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Prove which label combinations of the data a trained model can never predict.

    With --vocabulary, which tokens a language model never ranks first; with --index, which relevant documents no query
    vector returns together.

    Exit code 1 if a set of --require, or a larger share than --fail-under allows, cannot be predicted.
    """
    _refuse_others(context, of_index=index is not None, of_vocabulary=vocabulary)
    if vocabulary or index is not None:
        _require_room(output)
        shared: dict[str, Any] = {"output": output, "explain": explain, "fail_under": fail_under, "as_json": as_json}
        options: dict[str, Any] = {"n_jobs": jobs, "engine": connected(engine, address)}
        shared["options"] = options | ({} if time_limit is None else {"time_limit": time_limit})
        if index is None:
            from labelproof.cli.audit_vocabulary import audit_vocabulary_of

            named: dict[str, Any] = {"weight_key": weight_key, "bias": bias, "token_names": label_names}
            passed = audit_vocabulary_of(_required("argument 'MODEL'", model), **named, **shared)
        else:
            from labelproof.cli.audit_index import audit_index_of

            how: dict[str, Any] = {"documents": documents, "cosine": cosine, "widths": widths, "depths": depths}
            passed = audit_index_of(index, qrels, **how, **shared)
        raise typer.Exit(0 if passed else 1)
    model = _required("argument 'MODEL'", model)
    if data is not None and labels is not None:
        raise ValueError("either --data or --labels can be given, got both")
    if data is None and reach and features is None:
        raise ValueError("--reach needs features of real inputs: use --data, or --features")
    source = _required("option '--data', or '--labels' / '-l'", data or labels)
    from labelproof.auditing import audit as run
    from labelproof.auditing.feature_cache import FeatureCache, model_key
    from labelproof.cli.audit_inputs import read_data, read_required
    from labelproof.cli.audit_summary import print_audit, summary_of
    from labelproof.data.label_files import read_label_file

    if calibration is not None and features is None and data is None:
        raise ValueError("--calibration goes with --features or --data, got it alone")
    _require_room(output)
    layer, names = read_model(model, weight_key, bias, label_names, data=source)
    columns = label_column or ()
    limits: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}  # else that of `audit`
    judged: Any
    held_out: Any = read_features
    if data is not None and features is None:
        judged = read_data(layer, source, columns)
        held_out = partial(read_data, layer, columns=columns)
    else:
        judged = read_label_file(
            source, label_names=names, n_labels=layer.n_labels, part=part, columns=columns, apart=drop_unknown or None
        )
        names, part = judged.names, None
    where = connected(engine, address)
    with kept_beside(output) as parts:
        found = run(
            layer,
            judged,
            part=part,
            label_names=None if names == layer.label_names else names,
            drop_unknown=drop_unknown,
            **as_asked(rule, thresholds, domain),
            ties=ties,  # type: ignore[arg-type] # verify says which there are
            radius=radius,
            box=box,
            features=None if features is None else read_features(features),
            calibration=None if calibration is None else held_out(calibration),
            alpha=alpha,
            most_inputs=most_inputs,
            cache=None if output is None or data is None else FeatureCache(output, model_key(model)),
            reach=reach,
            required=None if require is None else read_required(require, names, layer.n_labels),
            predicted=None
            if predicted is None
            else read_label_file(predicted, label_names=names, n_labels=layer.n_labels).sets,
            pairs=pairs,
            triples=triples,
            serving_dtype=serving_dtype,
            n_explained=explain,
            fail_under=fail_under,
            data_name=Path(source).name,
            n_jobs=jobs,
            engine=where,
            keep=parts,
            **limits,
            progress=progress_wanted(),
        )
        if output is not None:
            from labelproof.report import write_report

            found.save(output)
            write_report(output / "report.html", [found.document])
    if as_json:
        print_json(summary_of(found, output))
    else:
        print_audit(found.document, model=str(model), source=source)
        if output is not None:
            console().print()
            print_saved_audit(output, "proofs-data.npz", "layer.npz")
    if not found.passed:
        raise typer.Exit(1)


def _required(what: str, value: T | None) -> T:
    if value is None:
        raise ValueError(f"Missing {what} (see --help)")
    return value


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


def _require_room(output: Path | None) -> None:
    """Refuse a folder or a report that could not be written, before the work is done."""
    if output is None:
        return
    need("jinja2", "a report")
    if output.exists() and not (output / "audit.json").is_file() and (not output.is_dir() or any(output.iterdir())):
        raise ValueError(f"--output must be a new or empty folder, or one with an earlier audit, got {output}")
    require_writable_folder(output)
