"""labelproof audit: which label combinations can a trained model never predict, and does it matter?"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from labelproof.cli.console import console, print_json, progress_wanted
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
    AsJson,
    Bias,
    Jobs,
    LabelColumn,
    LabelNames,
    Part,
    WeightKey,
)

if TYPE_CHECKING:
    from labelproof.importers import ImportedLayer

__all__ = ["audit"]

T = TypeVar("T")


def audit(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help=f"{FORMATS[0].upper()}{FORMATS[1:]}.", show_default=False)
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option("--labels", "-l", metavar="DATA", help=f"Label sets: {LABEL_FORMATS}", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the report and the proofs.", show_default=False),
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
    radius: Annotated[bool, typer.Option("--radius", help="Also measure how much room each set has.")] = False,
    box: Annotated[float, typer.Option(help="Bound on the features for the radius.")] = 1e4,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Features of real examples before the layer, .npy (examples, features): measure the reach.",
            show_default=False,
        ),
    ] = None,
    reach: Annotated[
        bool, typer.Option("--reach", help="Let the model compute these features on the data set.")
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
        typer.Option(metavar="SHARE", help="Least share of the sets that must be predictable.", show_default=False),
    ] = None,
    explain: Annotated[int, typer.Option(min=0, help="How many unpredictable sets to explain.")] = 20,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Time for one label set; by default 60, inf for no limit.", show_default=False
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    vocabulary: Annotated[
        bool,
        typer.Option("--vocabulary", help="MODEL is a language model: which tokens can it never rank first?"),
    ] = False,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="In place of MODEL: vectors of documents (.npy, .npz, .csv), one a row. Which relevant documents can "
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
        typer.Option(help="With --index: names of its rows, one a line, or .jsonl with _id.", show_default=False),
    ] = None,
    cosine: Annotated[bool, typer.Option("--cosine", help="With --index: rank by cosine, not by dot product.")] = False,
    widths: Annotated[
        str | None,
        typer.Option(metavar="N,N,…", help="With --index: cut vectors to so many numbers.", show_default=False),
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
    """Find out, with proofs, which label combinations of the data a trained model can never predict.

    With --vocabulary, which tokens a language model never ranks first; with --index, which relevant documents no query
    vector returns together.

    Exit code 1 if a set of --require, or a larger share than --fail-under allows, cannot be predicted.
    """
    if index is None:
        of_index = {"--qrels": qrels, "--documents": documents, "--widths": widths, "--k": depths, "--cosine": cosine}
        _refuse(of_index, "--index")
    if vocabulary or index is not None:
        alone: dict[str, Any] = {"--part": part, "--label-column": label_column, "--rule": rule, "--domain": domain}
        alone |= {"--labels": labels, "--thresholds": thresholds, "--radius": radius, "--features": features}
        alone |= {"--reach": reach, "--predicted": predicted, "--pairs": pairs, "--triples": triples}
        alone |= {"--require": require, "--serving-dtype": serving_dtype}
        _refuse(alone, "the audit of label sets")
        _require_room(output)
        shared: dict[str, Any] = {"output": output, "explain": explain, "fail_under": fail_under, "jobs": jobs}
        shared |= {"as_json": as_json, "time_limit": {} if time_limit is None else {"time_limit": time_limit}}
        if index is None:
            from labelproof.cli.audit_vocabulary import audit_vocabulary_of

            named: dict[str, Any] = {"weight_key": weight_key, "bias": bias, "token_names": label_names}
            passed = audit_vocabulary_of(_required("argument 'MODEL'", model), **named, **shared)
        else:
            from labelproof.cli.audit_index import audit_index_of

            of_model = {"MODEL": model, "--vocabulary": vocabulary, "--weight-key": weight_key, "--bias": bias}
            _refuse({**of_model, "--label-names": label_names}, "an audit without --index")
            how: dict[str, Any] = {"documents": documents, "cosine": cosine, "widths": widths, "depths": depths}
            passed = audit_index_of(index, qrels, **how, **shared)
        raise typer.Exit(0 if passed else 1)
    model, labels = _required("argument 'MODEL'", model), _required("option '--labels' / '-l'", labels)
    from labelproof.auditing import audit as run
    from labelproof.cli.audit_inputs import read_required
    from labelproof.cli.audit_summary import print_audit, summary_of
    from labelproof.data.label_files import read_label_file

    if features is not None and reach:
        raise ValueError("either --features or --reach can be given, got both")
    _require_room(output)
    layer, names = read_model(model, weight_key, bias, label_names)
    columns = label_column or ()
    limits: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}  # else that of `audit`
    data = read_label_file(labels, label_names=names, n_labels=layer.n_labels, part=part, columns=columns)
    names = data.names
    found = run(
        layer,
        data,
        **as_asked(rule, thresholds, domain),
        ties=ties,  # type: ignore[arg-type] # verify says which there are
        radius=radius,
        box=box,
        features=_features(features, layer, labels, part, columns) if reach or features is not None else None,
        required=None if require is None else read_required(require, names, layer.n_labels),
        predicted=None
        if predicted is None
        else read_label_file(predicted, label_names=names, n_labels=layer.n_labels).sets,
        pairs=pairs,
        triples=triples,
        serving_dtype=serving_dtype,
        n_explained=explain,
        fail_under=fail_under,
        data_name=Path(labels).name,
        n_jobs=jobs,
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
        print_audit(found.document)
        if output is not None:
            console().print(f"\nReport: {output / 'report.html'}. To prove the verdicts again:", soft_wrap=True)
            console().print(
                f"  labelproof check {output / 'proofs-data.npz'} --weights {output / 'layer.npz'}", soft_wrap=True
            )
    if not found.passed:
        raise typer.Exit(1)


def _required(what: str, value: T | None) -> T:
    if value is None:
        raise ValueError(f"Missing {what} (see --help)")
    return value


def _refuse(options: dict[str, Any], what: str) -> None:
    """Refuse options that go with something else."""
    given = next((name for name, value in options.items() if value), None)
    if given is not None:
        raise ValueError(f"{given} goes with {what} only")


def _require_room(output: Path | None) -> None:
    """Refuse a folder that could not be written, before the work is done."""
    if output is None:
        return
    if output.exists() and not (output / "audit.json").is_file() and (not output.is_dir() or any(output.iterdir())):
        raise ValueError(f"--output must be a new or empty folder, or one with an earlier audit, got {output}")
    above = next(parent for parent in [output.resolve(), *output.resolve().parents] if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ValueError(f"--output must be a folder that can be written, got {output}")


def _features(file: Path | None, layer: "ImportedLayer", labels: str, part: str | None, columns: Sequence[str]) -> Any:
    """Read the features of real examples, or have the model compute them."""
    from labelproof.cli.audit_inputs import read_inputs
    from labelproof.cli.files import read_numbers

    if file is not None:
        return read_numbers(file)
    if layer.features is None:
        raise ValueError(f"--reach needs a model that computes its features here, got a {layer.kind}: use --features")
    return layer.features(read_inputs(labels, part, columns))
