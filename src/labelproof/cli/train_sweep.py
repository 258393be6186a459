"""labelproof train with --seeds or --sweep: many runs of one configuration, their mean, deviation and box plot."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelproof.cli.console import console, print_json, printable, progress_wanted, table
from labelproof.foundation.figures import can_draw
from labelproof.foundation.wording import plural

if TYPE_CHECKING:
    from labelproof.data import Dataset
    from labelproof.training import RunRecord, TrainConfig

__all__ = ["require_sweep_place", "run_sweep"]

RECORDS = "runs.jsonl"
BOXES = "boxes.png"
SHOWN = ("micro-f1", "macro-f1", "samples-f1", "precision@1")


def require_sweep_place(output: Path, *, resume: bool) -> None:
    """Refuse to add to runs that are there, unless asked, and to resume none."""
    exists = (output / RECORDS).exists() or (output / "unfinished").exists()
    if exists and not resume:
        raise ValueError(f"{output} holds runs already: --resume does those that are missing, or give another folder")
    if resume and not exists:
        raise ValueError(f"--resume needs runs that were started in {output}, got none: leave it out to start them")


def run_sweep(
    settings: "TrainConfig",
    dataset: "Dataset",
    axes: list[str],
    n_seeds: int,
    output: Path,
    *,
    metric: str,
    as_json: bool,
) -> None:
    """Do the runs that are missing, and print what all of them say."""
    from labelproof.training import grid, sweep
    from labelproof.training.run_summaries import best_variant, by_variant
    from labelproof.training.sweeping import read_axis

    variants = grid(_distinct(read_axis(word) for word in axes))
    first = settings.trainer.seed
    seeds = range(first, first + n_seeds)
    n_runs, done = len(variants) * n_seeds, 0

    def tell(record: "RunRecord") -> None:
        nonlocal done
        done += 1
        if not as_json and progress_wanted():
            console(stderr=True).print(f"{done} of {n_runs}: {_name(record)}, {record.seconds:.1f} s", soft_wrap=True)

    try:
        records = sweep(settings, dataset, variants=variants, seeds=seeds, out=output / RECORDS, each=tell)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command with --resume does the runs that are missing") from None
    picture = _draw(records, output)
    best = best_variant(records, metric)
    if as_json:
        rows = {name: _row(runs) for name, runs in by_variant(records).items()}
        found = {"output": str(output), "runs": len(records), "variants": rows, "best": best, "picture": picture}
        print_json(found)
    else:
        _print(records, output, best, metric, picture)


def _distinct(axes: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for key, values in axes:
        if key in found:
            raise ValueError(f"--sweep must name a key once, got {key} twice")
        found[key] = values
    return found


def _name(record: "RunRecord") -> str:
    from labelproof.training.run_summaries import variant_name

    return printable(f"{variant_name(record.changes)}, seed {record.seed}")


def _part(records: list["RunRecord"]) -> str:
    return "test" if any("test" in record.metrics for record in records) else "validation"


def _row(runs: list["RunRecord"]) -> dict[str, Any]:
    from labelproof.training.run_summaries import spread

    values = {}
    for part in ("validation", "test"):
        for name in runs[0].metrics.get(part, {}):
            found = spread(runs, f"{part}/{name}")
            if found is not None:
                values[f"{part}/{name}"] = {"mean": found.mean, "deviation": found.deviation}
    return {"runs": len(runs), "failed": sum(run.failure is not None for run in runs), "metrics": values}


def _draw(records: list["RunRecord"], output: Path) -> str | None:
    """Draw the boxes where matplotlib is there and any run has come to an end; return the file's name."""
    from labelproof.training.run_summaries import draw_boxes

    if not can_draw() or not any(record.metrics for record in records):
        return None
    draw_boxes(records, output / BOXES, [f"{_part(records)}/{name}" for name in SHOWN[:2]])
    return BOXES


def _print(records: list["RunRecord"], output: Path, best: str | None, metric: str, picture: str | None) -> None:
    from labelproof.training.run_summaries import by_variant, spread

    out, part = console(), _part(records)
    out.print(f"{plural(len(records), 'run')}; metrics of the {part} part, mean ± deviation over seeds")
    lines = table("variant", "runs", *SHOWN)
    for name, runs in by_variant(records).items():
        values = (spread(runs, f"{part}/{shown}") for shown in SHOWN)
        lines.add_row(printable(name), str(len(runs)), *("–" if value is None else str(value) for value in values))
    out.print(lines)
    failed = [record for record in records if record.failure is not None]
    for record in failed:
        out.print(f"no result: {_name(record)}: {record.failure}", soft_wrap=True)
    if best is not None and len(by_variant(records)) > 1:
        out.print(f"\nBest {metric} on validation data: {printable(best)}", soft_wrap=True)
    drawn = f", drawn in {picture}" if picture else ""
    out.print(f"\nWritten to {output}: every run in {RECORDS}{drawn}.", soft_wrap=True)
