"""labelproof evaluate: how good are these scores, and the label sets that a rule makes of them?"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelproof.cli.console import console, print_json, table
from labelproof.cli.grouped import grouped
from labelproof.cli.options import AsJson
from labelproof.errors import DataFormatError
from labelproof.foundation.wording import plural

if TYPE_CHECKING:
    from labelproof.decisions import Rule

__all__ = ["SCORES", "TRUE_LABELS", "ScoreKindOption", "evaluate"]

SCORES = typer.Option(
    "--scores",
    "-s",
    help="Scores of shape (examples, labels): .npy, .npz (array 'scores'), .csv, .tsv or .parquet.",
    show_default=False,
)
TRUE_LABELS = typer.Option(
    "--labels",
    "-l",
    metavar="DATA",
    help="True labels of the same examples, in any form that labelproof verify takes; "
    "matched by name if the scores have names.",
    show_default=False,
)
ScoreKindOption = Annotated[
    str | None,
    typer.Option(
        metavar="logits|probabilities",
        help="What the scores are; without it, rules that need to know are left out.",
        show_default=False,
    ),
]

SHOWN = (
    "micro-f1", "macro-f1", "samples-f1", "micro-precision", "micro-recall", "hamming-loss", "exact-match",
    "never-predicted-share", "label-set-coverage", "precision@1", "precision@5", "ndcg@5", "lrap",
    "macro-average-precision", "macro-auroc", "micro-ece", "brier-loss",
)  # fmt: skip


@dataclass(frozen=True)
class Deciding:
    """How scores become label sets."""

    rule: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Decision rule that labelproof tune wrote; with --model also the name of one of its rules, such as "
            "macro-f1, or 'fixed' (at ½) or 'expected-f'.",
            show_default=False,
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(help="Predict labels with a larger score, instead of using a rule.", show_default=False),
    ] = None
    score_kind: ScoreKindOption = None

    def read(self) -> "Rule | None":
        """Return the rule for scores, where there is one."""
        from labelproof.cli.files import existing
        from labelproof.decisions import Threshold, load_rule

        if self.rule is not None and self.threshold is not None:
            raise ValueError("one of --rule and --threshold may be given, got both")
        if self.rule is not None:
            return load_rule(existing(Path(self.rule)))
        return None if self.threshold is None else Threshold(self.threshold)


@dataclass(frozen=True)
class Judged:
    """What is evaluated: scores with their labels, or a model with its data."""

    scores: Annotated[Path | None, SCORES] = None
    labels: Annotated[str | None, TRUE_LABELS] = None
    model: Annotated[
        Path | None,
        typer.Option(help="Model folder, instead of scores; its own rule decides.", show_default=False),
    ] = None
    data: Annotated[
        Path | None,
        typer.Option(help="Examples with labels, for --model; if they are split, the part test.", show_default=False),
    ] = None
    drop_unknown: Annotated[
        bool, typer.Option("--drop-unknown", help="Leave out labels of --data that the model does not know.")
    ] = False
    part: Annotated[
        str | None, typer.Option(help="Part of --data; by default test, if it has one.", show_default=False)
    ] = None

    def sources(self, deciding: Deciding) -> tuple[Path | None, str | None, Path | None, Path | None]:
        """Return scores and labels, or model and data; refuse what goes with the others."""
        from labelproof.cli.scores import require_one_source

        require_one_source(scores=self.scores, labels=self.labels, model=self.model, data=self.data)
        if self.model is not None and (deciding.threshold, deciding.score_kind) != (None, None):
            raise ValueError("--threshold and --score-kind go with --scores: a model has its own rule (see --rule)")
        if self.scores is not None and (self.drop_unknown or self.part is not None):
            raise ValueError(f"{'--drop-unknown' if self.drop_unknown else '--part'} goes with --model and --data")
        return self.scores, self.labels, self.model, self.data


@grouped
def evaluate(
    *,
    judged: Judged,
    deciding: Deciding,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The metric that --fail-under compares, by default micro-f1; a model decides by its rule for this "
            "metric, if it has one.",
            show_default=False,
        ),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(metavar="VALUE", help="Exit with code 1 if the metric is worse than this.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute all metrics of a model, or of scores, on labelled examples."""
    from labelproof import metrics
    from labelproof.cli.scores import read_score_kind

    asked, metric = metric, metric or "micro-f1"
    measure = metrics.by_name(metric)
    scores, labels, model, data = judged.sources(deciding)
    if model is not None and data is not None:
        found = _of_model(model, data, judged.part, deciding.rule, asked, drop_unknown=judged.drop_unknown)
    elif scores is not None and labels is not None:
        score_kind, chosen = deciding.score_kind or read_score_kind(scores), deciding.read()
        if fail_under is not None and chosen is None and measure.kind == "set":
            raise ValueError(f"--fail-under with {metric} needs --rule or --threshold, got neither")
        found = _of_scores(scores, labels, chosen, score_kind, None if fail_under is None else metric)
    if fail_under is not None and metric not in found.values:
        raise ValueError(f"--metric must be one that a model's evaluation has, got {metric}")
    passed = fail_under is None or _is_as_good(found.values[metric], fail_under, measure.greater_is_better)
    if as_json:
        plain = {name: None if math.isnan(value) else value for name, value in found.values.items()}
        shape = {"examples": found.n_examples, "labels": found.n_labels}
        print_json({**shape, "rule": _words(found.rule), "metrics": plain, "passed": passed})
    else:
        size = f"{plural(found.n_examples, 'example')} × {plural(found.n_labels, 'label')}"
        _print_values(found.values, f"{found.name}: {size}", found.rule)
        if not passed:
            console().print(f"Not passed: {metric} is {found.values[metric]:.4f}, {fail_under} was required.")
    if not passed:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Evaluation:
    name: str
    n_examples: int
    n_labels: int
    rule: "Rule | None"
    values: dict[str, float]


def _of_model(
    model: Path, data: Path, part: str | None, rule: str | None, metric: str | None, *, drop_unknown: bool
) -> _Evaluation:
    """Evaluate a model with the rule that was asked for, else that of the metric, else its own."""
    from labelproof.cli.model_data import read_examples, require_known_labels, with_rule
    from labelproof.models import load_model

    loaded = load_model(model)
    if rule is not None:
        loaded = with_rule(loaded, rule)
    elif metric in loaded.rules:
        loaded = loaded.for_metric(metric)
    examples, name = read_examples(loaded, data, part=part, usual="test", drop_unknown=drop_unknown)
    known = require_known_labels(loaded, examples, name)
    try:
        measured = loaded.evaluate(known).items()
    except ValueError as error:
        raise DataFormatError(f"{name}: {error}") from error
    values = {metric: math.nan if value is None else value for metric, value in measured}
    return _Evaluation(name, len(examples), len(loaded.label_names), loaded.rule, values)


def _of_scores(
    scores: Path, labels: str, rule: "Rule | None", score_kind: str | None, metric: str | None
) -> _Evaluation:
    """Evaluate scores, with the named metric beside the usual ones."""
    from labelproof import metrics
    from labelproof.cli.scores import read_scores, read_true_labels
    from labelproof.decisions.inputs import read_finite

    read, names = read_scores(scores)
    y_score = read_finite(read)
    y_true = read_true_labels(labels, y_score.shape, scores, names)
    y_pred = None if rule is None else rule.decide(y_score, sparse=True)
    values = metrics.evaluate(y_true, y_score, y_pred, scores=score_kind)
    if metric is not None and metric not in values:
        measure = metrics.by_name(metric)
        values[metric] = measure(y_true, y_pred if measure.kind == "set" else y_score)
    n_examples, n_labels = y_score.shape
    return _Evaluation(scores.name, n_examples, n_labels, rule, values)


def _is_as_good(value: float, wanted: float, greater_is_better: bool) -> bool:
    return value >= wanted if greater_is_better else value <= wanted


def _words(rule: "Rule | None") -> str | None:
    return None if rule is None else repr(rule)


def _print_values(values: dict[str, float], head: str, rule: "Rule | None") -> None:
    out, lines = console(), table("metric", "value")
    out.print(f"{head}; {'no decision rule' if rule is None else rule}\n", soft_wrap=True)
    for name in SHOWN:
        if name in values:
            lines.add_row(name, f"{values[name]:.4f}")
    out.print(lines)
    out.print(f"\n{len(values)} metrics in all with --json.")
