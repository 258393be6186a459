"""labelproof train: from a configuration and data to a model folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, print_json, progress_wanted, table
from labelproof.cli.data_options import ColumnOptions, DataPath, TimeColumn
from labelproof.cli.grouped import grouped
from labelproof.cli.options import AsJson
from labelproof.cli.outputs import require_writable_folder
from labelproof.cli.train_sweep import require_sweep_place, run_sweep
from labelproof.foundation.optional_packages import TRAINING, need_all
from labelproof.foundation.wording import plural

if TYPE_CHECKING:
    from labelproof.training import Fitted, TrainConfig

__all__ = ["train"]

DATA_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".npz", ".arff", ".svm")  # of files that are no configuration


@dataclass(frozen=True)
class Recipe:
    """What may be chosen without a configuration."""

    test: Annotated[float, typer.Option(help="Share to hold out as test part, if there is none.", min=0, max=0.9)] = 0
    metric: Annotated[str, typer.Option(help="Metric to tune thresholds for: micro-f1, macro-f1, samples-f1, …")] = (
        "micro-f1"
    )
    budget: Annotated[
        str | None,
        typer.Option(help="Time, such as 10m, or fast; by default ten times a plain SVM grid.", show_default=False),
    ] = None
    time: TimeColumn = None
    seed: Annotated[int, typer.Option(help="Seed of parts, folds and networks.", min=0)] = 0
    require_predictable: Annotated[
        float | None,
        typer.Option(
            help="Share of the training label sets that must stay possible, such as 0.99; moves thresholds if needed."
        ),
    ] = None

    def settings(self, data: dict[str, Any]) -> "TrainConfig":
        """Return the configuration of the recipe for some data; what is wrong is said of the option."""
        from labelproof.training import ConfigError, TrainConfig

        least = {} if self.require_predictable is None else {"require_predictable": self.require_predictable}
        data = {**data, "time": self.time, "test": self.test}
        sections = {
            "data": {name: value for name, value in data.items() if value is not None},
            "head": {"kind": "auto", "metric": self.metric, **({} if self.budget is None else {"budget": self.budget})},
            "decision": least,
            "trainer": {"seed": self.seed},
        }
        try:
            return TrainConfig.from_dict(sections)
        except ConfigError as error:
            where, option = ".".join(error.path), f"--{error.path[-1].replace('_', '-')}" if error.path else ""
            raise ValueError(str(error).replace(where, option, 1) if where else str(error)) from error


@dataclass(frozen=True)
class Runs:
    """Whether there is one run or many, and whether they were begun before."""

    seeds: Annotated[
        int | None,
        typer.Option(help="Train with this many seeds; keeps metrics, not models.", min=1, show_default=False),
    ] = None
    sweep: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=V,V", help="Train with each value, such as loss.beta=1,2,5.", show_default=False),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False

    @property
    def is_sweep(self) -> bool:
        """Whether many runs are compared."""
        return self.seeds is not None or bool(self.sweep)


@grouped
def train(
    config: Annotated[
        Path | None,
        typer.Argument(help="YAML file with your choices; see --template.", show_default=False),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Such as trainer.epochs=3 head.kind=linear.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the run; the model goes into its folder 'model'."),
    ] = None,
    data: DataPath = None,
    *,
    columns: ColumnOptions,
    recipe: Recipe,
    runs: Runs,
    template: Annotated[bool, typer.Option("--template", help="Print a configuration with comments.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on your data; with --data alone there is nothing to choose.

    Several views of the data and several models are tried on held-out folds, blended, calibrated and trained again on
    all examples. A configuration file chooses encoder, head, loss and rule instead. With --seeds or --sweep many runs
    are compared: mean ± deviation, a box plot, and every run as a line of JSON.
    """
    if template:
        from labelproof.training.template import TEMPLATE

        print(TEMPLATE, end="")
        return
    need_all(TRAINING, "labelproof train", "train")
    _require_one_source(config, data)
    if output is None:
        raise ValueError("expected --output with the folder of the run")
    _require_place(output, resume=runs.resume and not runs.is_sweep)
    if runs.is_sweep:
        require_sweep_place(output, resume=runs.resume)
    if config is not None:
        settings = _configured(config, overrides or [])
    else:
        settings = recipe.settings({"path": data, **columns.options()})

    from labelproof.data import load_dataset
    from labelproof.models import Model
    from labelproof.models.new_inputs import with_feature_columns
    from labelproof.training import fit
    from labelproof.training.fitting import CONFIG

    dataset = load_dataset(settings.data.path, **settings.data.reading)
    if settings.head.kind == "auto" and dataset.texts is None and dataset.features is None:
        what = "labels alone" if dataset.image_paths is None else "images, which need a configuration with an encoder"
        raise ValueError(f"{settings.data.path}: expected texts or features to learn from, got {what}")
    settings = with_feature_columns(settings, dataset)
    if runs.is_sweep:
        axes, n_seeds = runs.sweep or [], runs.seeds or 1
        run_sweep(settings, dataset, axes, n_seeds, output, metric=recipe.metric, as_json=as_json)
        return
    quiet = as_json or (settings.head.kind != "auto" and not progress_wanted())
    is_new = not output.exists()
    try:
        fitted, said = _with_predictable(fit(settings, dataset, out=output, resume=runs.resume, progress=not quiet))
        Model.of(fitted).save(output / "model")
    except KeyboardInterrupt:
        if not (output / CONFIG).exists():
            raise
        raise KeyboardInterrupt("run the same command with --resume to continue") from None
    except ValueError:
        if is_new:
            _remove_if_bare(output)
        raise
    if as_json:
        print_json({"output": str(output), **_summary(fitted)})
    else:
        _print(fitted, output, said)


def _configured(config: Path, overrides: list[str]) -> "TrainConfig":
    """Read a configuration, which must say where the data are."""
    from labelproof.training.config_files import read_config

    if config.suffix.lower() in DATA_ENDINGS:
        raise ValueError(f"CONFIG must be a configuration in YAML, got {config.name}: data go into --data")
    settings = read_config(config, overrides)
    if settings.data.path is None:
        raise ValueError("data.path must say where the data are, got none")
    return settings


def _require_one_source(config: Path | None, data: str | None) -> None:
    """Refuse neither data nor a configuration, and both: often it is a second column after an option that takes one."""
    if config is None and data is None:
        raise ValueError(
            "expected --data with the data, or the file of a configuration (labelproof train --template prints one)"
        )
    if config is not None and data is not None:
        if "=" in str(config):
            raise ValueError(
                f"overrides such as {config} go with the file of a configuration, which names the data in data.path, "
                "not with --data (labelproof train --template prints one)"
            )
        raise ValueError(
            f"expected either --data or a configuration, which names the data in data.path, got both ({config}); "
            "several columns are named by repeating an option (--features a --features b)"
        )


def _with_predictable(fitted: "Fitted") -> tuple["Fitted", str]:
    """Ask which label sets of the training part the model can predict; return it among the metrics, and in words."""
    from dataclasses import asdict, replace

    from labelproof.training.predictability import entering_domain, measure_predictable

    head, known = fitted.head, fitted.training_sets
    if known is None:
        return fitted, ""
    weight, bias = (None if part is None else part.detach().cpu().double().numpy() for part in (head.weight, head.bias))
    found = measure_predictable(weight, bias, fitted.rule, entering_domain(fitted.encoder, head), known.sets)
    if found is None:
        return fitted, ""
    counts = {"training sets": known.total, **asdict(found)}
    return replace(fitted, metrics={**fitted.metrics, "predictable": counts}), found.sentence(known)


def _require_place(output: Path, *, resume: bool) -> None:
    """Refuse a folder that could not be written once the training is done, and a run to resume that is not there."""
    from labelproof.models.directory import is_model
    from labelproof.training.fitting import CONFIG

    require_writable_folder(output)
    model = output / "model"
    if model.exists() and not (model.is_dir() and (is_model(model) or not any(model.iterdir()))):
        raise ValueError(f"--output must have a free place for the model, got {model}, which is something else")
    if resume and not (output / CONFIG).exists():
        raise ValueError(f"--resume needs a run that was started in {output}, got none: leave it out to start one")


def _remove_if_bare(output: Path) -> None:
    """Remove the folder of a run that failed before anything was finished but the copy of its configuration."""
    from labelproof.training.fitting import CONFIG

    if output.is_dir() and [path.name for path in output.rglob("*")] == [CONFIG]:
        (output / CONFIG).unlink()
        output.rmdir()


def _summary(fitted: "Fitted") -> dict[str, Any]:
    metrics = {part: fitted.metrics[part] for part in ("validation", "test") if part in fitted.metrics}
    return {
        "n_labels": len(fitted.label_names),
        "examples": fitted.metrics["sizes"],
        "epochs": len(fitted.history),
        "seconds": round(sum(row["seconds"] for row in fitted.history or fitted.tried), 3),
        "head": {"kind": fitted.config.head.kind, **fitted.config.head.options},
        "metrics": metrics,
        **({"predictable": fitted.metrics["predictable"]} if "predictable" in fitted.metrics else {}),
        **({"tried": fitted.tried} if fitted.tried else {}),
        **({"notes": fitted.notes} if fitted.notes else {}),
    }


def _print(fitted: "Fitted", output: Path, predictable: str) -> None:
    from labelproof.models.card import SHOWN

    summary, out = _summary(fitted), console()
    sizes = ", ".join(f"{size:,} for {name}" for name, size in summary["examples"].items())
    out.print(f"{plural(summary['n_labels'], 'label')}; examples: {sizes}")
    if fitted.tried:
        _print_tried(fitted)
    else:
        how = f"C = {summary['head']['C']:g}, solved" if "C" in summary["head"] else plural(summary["epochs"], "epoch")
        out.print(f"{how} in {summary['seconds']:.1f} s")
    parts = {
        ("out of fold" if fitted.tried and part == "validation" else part): v for part, v in summary["metrics"].items()
    }
    if parts:
        lines = table("metric", *parts)
        for name in SHOWN:
            values = [parts[part].get(name) for part in parts]
            if any(value is not None for value in values):
                lines.add_row(name, *("–" if value is None else f"{value:.4f}" for value in values))
        out.print(lines)
    for note in [*([] if fitted.tried else fitted.notes), *([predictable] if predictable else [])]:
        out.print(note)
    out.print(f"\nWritten to {output}. Next:", soft_wrap=True)
    out.print(f"  labelproof predict {output}/model INPUT -o predictions.jsonl", soft_wrap=True)


def _print_tried(fitted: "Fitted") -> None:
    out = console()
    lines = table("tried, out of fold", "micro-F1", "macro-F1", "P@1", "log loss", "seconds")
    for row in fitted.tried:
        scores = (f"{row[name]:.4f}" for name in ("micro-f1", "macro-f1", "precision@1"))
        lines.add_row(row["member"], *scores, f"{row['log loss']:.5f}", f"{row['seconds']:.1f}")
    out.print(lines)
    metric = fitted.config.head.metric or "micro-f1"
    out.print(f"Each F1 above is with thresholds tuned for it; the metrics below are with those for {metric}.")
    for note in fitted.notes:
        out.print(note)
    out.print()
