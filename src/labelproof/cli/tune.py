"""labelproof tune: which decision rule suits these scores, or this model? Compare on held-out folds, fit, save."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, print_json, progress_wanted, table
from labelproof.cli.evaluate import SCORES, TRUE_LABELS, ScoreKindOption
from labelproof.cli.options import AsJson
from labelproof.foundation.wording import plural

if TYPE_CHECKING:
    from rich.table import Table

    from labelproof.decisions import Comparison, Rule
    from labelproof.models import Model

__all__ = ["tune"]


def tune(
    scores: Annotated[Path | None, SCORES] = None,
    labels: Annotated[str | None, TRUE_LABELS] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Model folder, instead of scores; the rule is stored in it.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Examples with labels, for --model, that it was not trained on; if they are split, the part valid.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[str | None, typer.Option(help="Part of --data.", show_default=False)] = None,
    drop_unknown: Annotated[
        bool, typer.Option("--drop-unknown", help="Leave out labels of --data that the model does not know.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the fitted rule here; with --model, not into it.", show_default=False
        ),
    ] = None,
    metric: Annotated[str, typer.Option(metavar="NAME", help="Metric to tune for: micro-f1, macro-f1, …")] = "micro-f1",
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Rule to fit, such as 'per-label thresholds' or 'promised recall'; by default the best one held out.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Recall or precision that is promised.")] = 0.9,
    confidence: Annotated[float, typer.Option(help="Confidence of the promise; 0 means recall in expectation.")] = 0.95,
    score_kind: ScoreKindOption = None,
    folds: Annotated[int, typer.Option(help="Folds of the comparison.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the comparison here (.png, .svg, .pdf).", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tune thresholds and other decision rules: compare them on held-out folds, and save the best.

    The examples must be some that the model was not trained on. A model keeps one rule for each metric, which
    predict --metric and evaluate --metric choose; the one that was tuned last is what it decides by without them. The
    rules 'promised recall' and 'promised precision' keep a promise instead of serving a metric: --rule alone chooses
    them, and a model keeps them under these names.
    """
    from labelproof.cli.outputs import require_free_file
    from labelproof.cli.scores import require_one_source
    from labelproof.decisions import default_rules, evaluate_rules, promised_rules

    require_one_source(scores=scores, labels=labels, model=model, data=data)
    if scores is not None and output is None:
        raise ValueError("--output must name a file for the rule, got none")
    inputs = [scores, data, Path(labels) if labels else None]
    for path, name in ((output, "--output"), (plot, "--plot")):
        require_free_file(path, inputs, name)
    if scores is not None and labels is not None:
        if part is not None or drop_unknown:
            raise ValueError(f"{'--drop-unknown' if drop_unknown else '--part'} goes with --model and --data")
        given = _of_scores(scores, labels, score_kind)
    elif model is not None and data is not None:
        if score_kind is not None:
            raise ValueError("--score-kind goes with --scores: a model gives logits")
        given = _of_model(model, data, part, drop_unknown=drop_unknown)
    rules = default_rules(given.pair[0], metric=metric, scores=given.kind)  # type: ignore[arg-type] # it says which there are
    promised = promised_rules(level=level, confidence=confidence or None, scores=given.kind)  # type: ignore[arg-type]
    if rule is not None and rule not in rules | promised:
        raise ValueError(f"--rule must be one of {', '.join(map(repr, rules | promised))}, got {rule!r}")
    start = time.perf_counter()
    chosen = {name: one for name, one in promised.items() if name == rule}
    rules |= chosen
    compared = evaluate_rules(
        *given.pair, rules, metric=metric, cv=folds, random_state=seed, progress=progress_wanted()
    )
    name = rule or next(row.name for row in compared.rows if row.name in rules)
    fitted = rules[name].fit(*given.pair)
    if plot is not None:
        compared.plot(plot)
    held_out = next(row.held_out for row in compared.rows if row.name == name)
    change = None if given.model is None else _change(given, fitted, name, metric, held_out)
    if output is not None:
        fitted.save(output)
    elif change is not None and model is not None:
        _write_into(model, fitted, name if chosen else metric, held_out, given)
    seconds = time.perf_counter() - start
    saved = str(output or model)
    if as_json:
        told = {"rule": name, "saved": saved, "seconds": round(seconds, 3), **(change or {})}
        print_json({**compared.to_dict(), **told})
        return
    _print(given, compared, metric, folds)
    console().print(f"\nFitted '{name}' to all examples in {seconds:.1f} s and saved it to {saved}.", soft_wrap=True)
    if change is not None:
        _print_change(change, metric, kept=output is not None)


@dataclass(frozen=True, eq=False)
class _Given:
    """What rules are tuned on: labels and scores, what these are, and the model that they come from."""

    name: str
    pair: tuple[Any, Any]
    kind: str | None
    model: "Model | None" = None


def _of_scores(scores: Path, labels: str, score_kind: str | None) -> _Given:
    from labelproof.cli.scores import read_score_kind, read_scores, read_true_labels
    from labelproof.decisions.inputs import read_pair

    y_score, names = read_scores(scores)
    pair = read_pair(read_true_labels(labels, y_score.shape, scores, names), y_score)
    return _Given(scores.name, pair, score_kind or read_score_kind(scores))


def _of_model(model: Path, data: Path, part: str | None, *, drop_unknown: bool) -> _Given:
    from labelproof.cli.model_data import read_examples, require_known_labels
    from labelproof.decisions.inputs import read_pair
    from labelproof.errors import DataFormatError
    from labelproof.models import load_model
    from labelproof.training.data_parts import inputs_of

    loaded = load_model(model)
    examples, name = read_examples(loaded, data, part=part, usual="valid", drop_unknown=drop_unknown)
    if len(examples.parts) > 1:
        raise DataFormatError(
            f"{name}: expected a part 'valid' to tune on, got {' and '.join(examples.parts)}: --part names one"
        )
    _warn_of_training_data(loaded, data, examples.parts)
    known = require_known_labels(loaded, examples, name)
    try:
        logits = loaded.logits(inputs_of(known, loaded.encoder.input_kind))
    except ValueError as error:
        raise DataFormatError(f"{name}: {error}") from error
    return _Given(name, read_pair(known.labels, logits), "logits", loaded)


def _warn_of_training_data(model: "Model", data: Path, parts: Any) -> None:
    trained = model.config.data.path
    if isinstance(trained, str) and Path(trained).exists() and Path(trained).resolve() == data.resolve() and not parts:
        print(
            f"note: the model was trained on {data.name}, whose scores are better than those of new examples: do "
            "not trust a rule that is tuned on them.",
            file=sys.stderr,
        )


def _change(given: _Given, fitted: "Rule", name: str, metric: str, held_out: float) -> dict[str, Any]:
    """Return what the model's rule for the metric was, and what it is now, with the values of both."""
    from labelproof.decisions.inputs import csr
    from labelproof.decisions.tuning import set_metric

    model = given.model
    if model is None:
        raise TypeError("a model must be given")
    before = model.rules.get(metric, model.rule)
    labels, logits = given.pair
    value = set_metric(metric)(csr(labels), before.decide(logits, sparse=True))
    return {
        "before": {"rule": str(before), metric: float(value)},
        "now": {"rule": str(fitted), "name": name, metric: held_out},
    }


def _write_into(model: Path, fitted: "Rule", metric: str, held_out: float, given: _Given) -> None:
    from labelproof.models.retuning import replace_rule

    n = len(given.pair[1])
    replace_rule(model, fitted, metric, {"metric": metric, "held out": held_out, "examples": n, "data": given.name})


def _print_change(change: dict[str, Any], metric: str, *, kept: bool) -> None:
    out, before, now = console(), change["before"], change["now"]
    out.print(
        f"The model's rule was {before['rule']}: {metric} {before[metric]:.4f} on these examples.", soft_wrap=True
    )
    if kept:
        out.print(f"It is unchanged; {now['rule']} has {now[metric]:.4f} held out.", soft_wrap=True)
    else:
        out.print(f"It is now {now['rule']}: {now[metric]:.4f} held out.", soft_wrap=True)


def _print(given: _Given, compared: "Comparison", metric: str, folds: int) -> None:
    out, (n, n_labels) = console(), given.pair[1].shape
    out.print(f"{given.name}: {plural(n, 'example')} × {plural(n_labels, 'label')}; {metric}, {folds} folds\n")
    out.print(_lines(compared))


def _lines(compared: "Comparison") -> "Table":
    lines = table("rule", "in-sample", "held-out", "± folds", "optimism")
    for row in compared.rows:
        lines.add_row(
            row.name, f"{row.in_sample:.4f}", f"{row.held_out:.4f}", f"{row.spread:.4f}", f"{row.optimism:+.4f}"
        )
    return lines
