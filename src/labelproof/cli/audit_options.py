"""The options of an audit, in groups: what is judged, on which inputs, what else is asked, and where results go."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from labelproof.cli.console import progress_wanted
from labelproof.cli.engine_options import EngineOptions
from labelproof.cli.feature_files import CALIBRATION
from labelproof.cli.options import LABEL_FORMATS, Address, AsJson, EngineName, Jobs, LabelColumn, Part
from labelproof.cli.outputs import require_writable_folder
from labelproof.foundation.optional_packages import need

__all__ = ["OTHERS", "Data", "Further", "Inputs", "Running", "Searching"]

ON_INPUTS = "How near real inputs come"
FURTHER = "What else to find out"
REQUIRED = "Requirements (exit code 1 if they are not met)"
OTHERS = "Other audits: tokens of a language model, documents of an index"


@dataclass(frozen=True)
class Data:
    """Where the label sets are: in a file of them, or in a data set on whose inputs the model is run."""

    labels: Annotated[
        str | None,
        typer.Option("--labels", "-l", metavar="DATA", help=f"Label sets: {LABEL_FORMATS}", show_default=False),
    ] = None
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="Instead of --labels: a data set with texts, images or features to run the model on. Says "
            "which label sets it could predict on inputs like these.",
            show_default=False,
        ),
    ] = None
    part: Part = None
    label_column: LabelColumn = None
    drop_unknown: Annotated[
        bool,
        typer.Option("--drop-unknown", help="Sets with labels that the model does not know count as never predicted."),
    ] = False

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the labels, none where that is to be found out."""
        return self.label_column or ()

    @property
    def source(self) -> str:
        """What was named, by either option."""
        if self.data is not None and self.labels is not None:
            raise ValueError("either --data or --labels can be given, got both")
        source = self.data or self.labels
        if source is None:
            raise ValueError("Missing option '--data', or '--labels' / '-l' (see --help)")
        return source


@dataclass(frozen=True)
class Inputs:
    """Real inputs, by which stretch and reach are measured."""

    features: Annotated[
        Path | None,
        typer.Option(
            help="Features of real inputs, .npy (inputs, features) or a sparse .npz, if the model cannot be "
            "run here; measures the stretch.",
            show_default=False,
            rich_help_panel=ON_INPUTS,
        ),
    ] = None
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=CALIBRATION, show_default=False, rich_help_panel=ON_INPUTS),
    ] = None
    alpha: Annotated[
        float, typer.Option(help="Share of the predictions that may lie beyond the bar.", rich_help_panel=ON_INPUTS)
    ] = 0.01
    most_inputs: Annotated[
        int,
        typer.Option(
            min=2, help="With --data: how many examples the model is run on at most.", rich_help_panel=ON_INPUTS
        ),
    ] = 10_000
    reach: Annotated[
        bool,
        typer.Option(
            "--reach",
            help="Also measure how far from the mean of the features each set is first predicted.",
            rich_help_panel=ON_INPUTS,
        ),
    ] = False

    def require_known(self, *, by_data: bool) -> None:
        """Refuse what is measured on real inputs where there are none."""
        if self.features is None and not by_data and self.reach:
            raise ValueError("--reach needs features of real inputs: use --data, or --features")
        if self.features is None and not by_data and self.calibration is not None:
            raise ValueError("--calibration goes with --features or --data, got it alone")


@dataclass(frozen=True)
class Further:
    """What else is asked of the layer."""

    radius: Annotated[
        bool,
        typer.Option(
            "--radius",
            help="Also measure how far the features of each set can move (the radius).",
            rich_help_panel=FURTHER,
        ),
    ] = False
    box: Annotated[float, typer.Option(help="Bound on the features for the radius.", rich_help_panel=FURTHER)] = 1e4
    predicted: Annotated[
        Path | None,
        typer.Option(help="The model's own predictions, as label sets.", show_default=False, rich_help_panel=FURTHER),
    ] = None
    pairs: Annotated[
        int,
        typer.Option(min=0, help="Pairs of labels to verify (a sample if there are more).", rich_help_panel=FURTHER),
    ] = 0
    triples: Annotated[int, typer.Option(min=0, help="Triples of labels to verify.", rich_help_panel=FURTHER)] = 0
    serving_dtype: Annotated[
        str | None,
        typer.Option(
            metavar="float32|bfloat16|float16|float64",
            help="Numbers that the model is served in: which sets survive their rounding? By default as stored.",
            show_default=False,
            rich_help_panel=FURTHER,
        ),
    ] = None
    require: Annotated[
        Path | None,
        typer.Option(
            help="Sets that must be predictable (.csv: name,labels; .jsonl; .txt).",
            show_default=False,
            rich_help_panel=REQUIRED,
        ),
    ] = None

    def options(self, names: Sequence[str] | None, n_labels: int) -> dict[str, Any]:
        """Return it as keywords of `labelproof.audit`, with its files read."""
        from labelproof.cli.audit_inputs import read_required
        from labelproof.data.label_files import read_label_file

        predicted = None
        if self.predicted is not None:
            predicted = read_label_file(self.predicted, label_names=names, n_labels=n_labels).sets
        return {
            "radius": self.radius,
            "box": self.box,
            "predicted": predicted,
            "pairs": self.pairs,
            "triples": self.triples,
            "serving_dtype": self.serving_dtype,
            "required": None if self.require is None else read_required(self.require, names, n_labels),
        }


@dataclass(frozen=True)
class Searching:
    """How an index is searched: for which documents, by which measure, and cut to which widths."""

    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of MODEL: vectors of documents (.npy, .npz, .csv), one per row. Which relevant documents can "
            "no query vector return together?",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None
    qrels: Annotated[
        Path | None,
        typer.Option(
            help="With --index: query, 0, document, relevance (TREC), or BEIR's.",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None
    documents: Annotated[
        Path | None,
        typer.Option(
            help="With --index: names of its rows, one per line, or .jsonl with _id.",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None
    cosine: Annotated[
        bool, typer.Option("--cosine", help="With --index: rank by cosine, not by dot product.", rich_help_panel=OTHERS)
    ] = False
    widths: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="With --index: widths to which vectors are truncated.",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None
    depths: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="K,K,…",
            help="With --index: also ask whether all relevant documents can be among the best K; by default 5,10.",
            show_default=False,
            rich_help_panel=OTHERS,
        ),
    ] = None


@dataclass(frozen=True)
class Running:
    """The options that go with every audit: what to require and explain, where to run, and where results go."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for the report and the proofs; after an interruption the same command goes on where it was.",
            show_default=False,
        ),
    ] = None
    fail_under: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Smallest share of the sets that must be predictable.",
            show_default=False,
            rich_help_panel=REQUIRED,
        ),
    ] = None
    explain: Annotated[int, typer.Option(min=0, help="How many unpredictable sets to explain.")] = 20
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Time for one label set; by default 60, inf for no limit.", show_default=False
        ),
    ] = None
    jobs: Jobs = None
    engine: EngineName = "local"
    address: Address = None
    as_json: AsJson = False

    def options(self) -> dict[str, Any]:
        """Return what all functions of `labelproof.auditing` take, once the cluster of a Ray engine is connected."""
        limit = {} if self.time_limit is None else {"time_limit": self.time_limit}  # else that of the function
        engine = EngineOptions(self.engine, self.address).connected()
        where = {"n_jobs": self.jobs, "engine": engine, "progress": progress_wanted()}
        return {"fail_under": self.fail_under, **where, **limit}

    def require_room(self) -> None:
        """Refuse a folder or a report that could not be written, before the work is done."""
        if self.output is None:
            return
        need("jinja2", "a report")
        place = self.output
        if place.exists() and not (place / "audit.json").is_file() and (not place.is_dir() or any(place.iterdir())):
            raise ValueError(f"--output must be a new or empty folder, or one with an earlier audit, got {place}")
        require_writable_folder(place)

    @property
    def saved(self) -> str | None:
        """The folder as ``--json`` names it."""
        return None if self.output is None else str(self.output)
