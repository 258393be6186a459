"""The folder of a comparison: the report, the figures, and every model with its audit."""

import json
from collections.abc import Sequence
from pathlib import Path

from labelproof.comparison.outcome import Outcome
from labelproof.comparison.report_opening import open_heads
from labelproof.foundation.writing import write_text
from labelproof.proof.result import Verification
from labelproof.report import Table, write_report

__all__ = ["comparison_tables", "require_free", "save_comparison"]


def comparison_tables(outcomes: Sequence[Outcome]) -> tuple[Table, Table]:
    """Return the figures of all heads as the tables that a report begins with: scores, and label sets.

    Parameters
    ----------
    outcomes
        At least one.

    Returns
    -------
    tuple of Table

    Examples
    --------
    >>> from labelproof.comparison import compare, four_heads, recipe
    >>> from labelproof.data import topic_data
    >>> data = topic_data(200, 12, 60, cardinality=2.0)
    >>> outcomes = list(compare(recipe(data, epochs=1), data, four_heads(data.labels, 2)[:1]))
    >>> [table.title for table in comparison_tables(outcomes)]
    ['Scores on the test data', 'Label combinations that can be predicted']
    """
    k, size = outcomes[0].k, outcomes[0].random_size
    names = (f"f1@{k}", "micro-f1", "macro-f1")
    scores = Table(
        "Scores on the test data",
        ("output layer", "features", "its weights", f"F1@{k}", "micro-F1", "macro-F1", "epochs", "seconds"),
        tuple(
            (
                one.name,
                one.n_features,
                one.head_parameters,
                *(f"{one.scores[name]:.4f}" for name in names),
                one.epochs,
                f"{one.train_seconds:.1f}",
            )
            for one in outcomes
        ),
        note=f"F1 is better the higher it is. F1@{k}: with the {k} highest-scored labels of each example, {k} being "
        "the mean number of labels. Micro-F1 counts every decision alike, macro-F1 every label. Seconds: training.",
    )
    sets = Table(
        "Label combinations that can be predicted",
        ("output layer", "test data", "at threshold ½", f"random, of {size} labels", "smallest margin", "seconds"),
        tuple(
            (
                one.name,
                *map(_share, (one.verification, one.at_half, one.at_random)),
                None if one.smallest_margin is None else f"{one.smallest_margin:.1e}",
                f"{one.verify_seconds:.1f}",
            )
            for one in outcomes
        ),
        note="How many of the combinations can be predicted, with proof. Test data: at the threshold that was tuned "
        "for the model; beside it, where labels are predicted at a probability over ½. Random: combinations that have "
        "nothing to do with the data. The margin is the distance to the nearest label's boundary, relative to the "
        "input's length, of the input that proves a combination of the test data; another input may have a larger "
        "one. Seconds: verifying.",
    )
    return scores, sets


def save_comparison(folder: str | Path, outcomes: Sequence[Outcome], *, title: str | None = None) -> None:
    """Write ``report.html``, ``comparison.json``, and a folder with ``model`` and ``audit`` for each head.

    Parameters
    ----------
    folder
        New, or of an earlier comparison, whose files are replaced.
    outcomes
        At least one.
    title
        Of the report.

    Examples
    --------
    >>> from labelproof.comparison import compare, four_heads, recipe
    >>> from labelproof.data import topic_data
    >>> data = topic_data(200, 12, 60, cardinality=2.0)
    >>> outcomes = list(compare(recipe(data, epochs=1), data, four_heads(data.labels, 2)[:1]))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_comparison(folder, outcomes)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['comparison.json', 'narrow', 'report.html']
    """
    target = require_free(folder)
    target.mkdir(parents=True, exist_ok=True)
    figures = json.dumps([outcome.to_dict() for outcome in outcomes], indent=1, allow_nan=False)
    write_text(target / "comparison.json", figures + "\n")  # first: it marks the folder as ours
    for outcome in outcomes:
        outcome.model.save(target / outcome.contender.folder / "model")
        outcome.audit.save(target / outcome.contender.folder / "audit")
    documents = [outcome.audit.document for outcome in outcomes]
    opening = open_heads(outcomes) if len(outcomes) > 3 else None
    write_report(target / "report.html", documents, title=title, opening=opening, tables=comparison_tables(outcomes))


def require_free(folder: str | Path) -> Path:
    """Refuse a folder that holds something else than an earlier comparison."""
    path = Path(folder)
    if path.exists() and not (path.is_dir() and ((path / "comparison.json").is_file() or not any(path.iterdir()))):
        raise ValueError(f"{path} is in the way: expected a free name, an empty folder or an earlier comparison")
    return path


def _share(verification: Verification) -> str:
    return f"{int((verification.status == 1).sum()):,} of {len(verification):,}"
