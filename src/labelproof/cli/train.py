"""labelproof train: from a configuration and data to a model folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, plural, print_json, progress_wanted, table
from labelproof.cli.options import AsJson

if TYPE_CHECKING:
    from labelproof.training import Fitted

__all__ = ["train"]


def train(
    config: Annotated[
        Path | None,
        typer.Argument(help="YAML file; see --template.", show_default=False),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Such as trainer.epochs=3 head.kind=linear.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the run; the model goes into its folder 'model'."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where this run was interrupted.")] = False,
    template: Annotated[bool, typer.Option("--template", help="Print a configuration with comments.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on your data."""
    if template:
        from labelproof.training.template import TEMPLATE

        print(TEMPLATE, end="")
        return
    if config is None:
        raise ValueError("expected the file of a configuration; labelproof train --template prints one")
    if output is None:
        raise ValueError("expected --output with the folder of the run")
    from labelproof.training.config_files import read_config

    settings = read_config(config, overrides or [])
    if settings.data.path is None:
        raise ValueError("data.path must say where the data are, got none")

    from labelproof.data import load_dataset
    from labelproof.models import Model
    from labelproof.models.inputs import with_feature_columns
    from labelproof.training import fit

    dataset = load_dataset(settings.data.path, **settings.data.reading)
    settings = with_feature_columns(settings, dataset)
    fitted = fit(settings, dataset, out=output, resume=resume, progress=progress_wanted() and not as_json)
    Model.of(fitted).save(output / "model")
    if as_json:
        print_json({"output": str(output), **_summary(fitted)})
    else:
        _print(fitted, output)


def _summary(fitted: "Fitted") -> dict[str, Any]:
    metrics = {part: fitted.metrics[part] for part in ("validation", "test") if part in fitted.metrics}
    return {
        "n_labels": len(fitted.label_names),
        "examples": fitted.metrics["sizes"],
        "epochs": len(fitted.history),
        "seconds": round(sum(row["seconds"] for row in fitted.history), 3),
        "head": {"kind": fitted.config.head.kind, **fitted.config.head.options},
        "metrics": metrics,
    }


def _print(fitted: "Fitted", output: Path) -> None:
    from labelproof.models.card import SHOWN

    summary, out = _summary(fitted), console()
    sizes = ", ".join(f"{size:,} for {name}" for name, size in summary["examples"].items())
    out.print(f"{plural(summary['n_labels'], 'label')}; examples: {sizes}")
    how = f"C = {summary['head']['C']:g}, solved" if "C" in summary["head"] else plural(summary["epochs"], "epoch")
    out.print(f"{how} in {summary['seconds']:.1f} s")
    parts = summary["metrics"]
    if parts:
        lines = table("metric", *parts)
        for name in SHOWN:
            values = [parts[part].get(name) for part in parts]
            if any(value is not None for value in values):
                lines.add_row(name, *("–" if value is None else f"{value:.4f}" for value in values))
        out.print(lines)
    out.print(f"\nWritten to {output}. Next:", soft_wrap=True)
    out.print(f"  labelproof predict {output}/model INPUT -o predictions.jsonl", soft_wrap=True)
