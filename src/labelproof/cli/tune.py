"""labelproof tune: which decision rule suits these scores? Compare rules on held-out folds, fit the best, save it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelproof.cli.console import console, plural, print_json, progress_wanted, table
from labelproof.cli.evaluate import ScoreKindOption, Scores, TrueLabels
from labelproof.cli.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from labelproof.decisions import Comparison

__all__ = ["tune"]


def tune(
    scores: Scores,
    labels: TrueLabels,
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the fitted rule here.", show_default=False)],
    metric: Annotated[str, typer.Option(metavar="NAME", help="What to tune for: micro-f1, macro-f1, …")] = "micro-f1",
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Fit this rule, as in 'per-label thresholds' or 'promised recall'; by default the best held-out one.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="What 'promised recall' or 'promised precision' promises.")] = 0.9,
    confidence: Annotated[float, typer.Option(help="How surely; 0: recall in expectation.")] = 0.95,
    score_kind: ScoreKindOption = None,
    folds: Annotated[int, typer.Option(help="Folds of the comparison.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the comparison here (.png, .svg, .pdf).", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare decision rules on held-out folds, fit one to all examples and write it to a file.

    'promised recall' and 'promised precision' keep a promise instead of a metric, and are not compared.
    The scores must belong to examples that the model was not trained on.
    """
    from labelproof.cli.scores import read_scores, read_true_labels, require_free_output
    from labelproof.decisions import default_rules, evaluate_rules, promised_rules
    from labelproof.decisions.inputs import read_pair

    for path, name in ((output, "--output"), (plot, "--plot")):
        require_free_output(path, [scores, Path(labels)], name)
    y_score, names = read_scores(scores)
    pair = read_pair(read_true_labels(labels, y_score.shape, scores, names), y_score)
    rules = default_rules(pair[0], metric=metric, scores=score_kind)  # type: ignore[arg-type] # it says which there are
    promised = promised_rules(level=level, confidence=confidence or None, scores=score_kind)  # type: ignore[arg-type]
    if rule is not None and rule not in rules | promised:
        raise ValueError(f"--rule must be one of {', '.join(rules | promised)}, got {rule!r}")
    start = time.perf_counter()
    compared = evaluate_rules(*pair, rules, metric=metric, cv=folds, random_state=seed, progress=progress_wanted())
    name = rule or next(row.name for row in compared.rows if row.name in rules)
    fitted = (rules | promised)[name].fit(*pair)
    fitted.save(output)
    if plot is not None:
        compared.plot(plot)
    seconds = time.perf_counter() - start
    if as_json:
        print_json({**compared.to_dict(), "rule": name, "saved": str(output), "seconds": round(seconds, 3)})
        return
    out, (n, n_labels) = console(), y_score.shape
    out.print(f"{scores.name}: {plural(n, 'example')} × {plural(n_labels, 'label')}; {metric}, {folds} folds\n")
    out.print(_lines(compared))
    out.print(f"\nFitted '{name}' to all examples in {seconds:.1f} s and saved it to {output}.", soft_wrap=True)


def _lines(compared: "Comparison") -> "Table":
    lines = table("rule", "in-sample", "held-out", "± folds", "optimism")
    for row in compared.rows:
        lines.add_row(
            row.name, f"{row.in_sample:.4f}", f"{row.held_out:.4f}", f"{row.spread:.4f}", f"{row.optimism:+.4f}"
        )
    return lines
