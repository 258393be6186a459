"""Another decision rule for a model that is on disk: nothing else of its folder changes, and it changes in one step."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelproof.decisions import Rule
from labelproof.models.card import model_card
from labelproof.models.directory import is_model, load_model, model_folder, write_json
from labelproof.models.model import Model
from labelproof.models.writing import write_folder

__all__ = ["replace_rule"]

CHANGED = ("rule.json", "metrics.json", "README.md")


def replace_rule(directory: str | Path, rule: Rule, metric: str, tuned: dict[str, Any]) -> Model:
    """Make a fitted rule the one of a model folder, and its rule for a metric.

    Parameters
    ----------
    directory
        Of the model, or of its run.
    rule
        Which decides on logits.
    metric
        That it serves, under whose name `Model.for_metric` finds it.
    tuned
        What the model card and metrics.json shall say of it: "metric", "held out", "examples", "data".

    Returns
    -------
    Model
        As the folder now holds it.
    """
    folder = model_folder(directory).resolve()
    model = load_model(folder)
    model = replace(
        model, rule=rule, rules={**model.rules, metric: rule}, metrics={**model.metrics, "tuned": dict(tuned)}
    )

    def write(draft: Path) -> None:
        _link_all(folder, draft, but={*CHANGED, f"rules/{metric}.json"})
        rule.save(draft / "rule.json")
        (draft / "rules").mkdir(exist_ok=True)
        rule.save(draft / "rules" / f"{metric}.json")
        write_json(draft / "metrics.json", model.metrics)
        (draft / "README.md").write_text(model_card(model), encoding="utf-8", errors="backslashreplace")

    write_folder(folder, write, may_replace=is_model)
    return model


def _link_all(folder: Path, draft: Path, *, but: set[str]) -> None:
    """Let the draft have the files of a folder, without copying weights where the file system can link."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_dir():
            (draft / name).mkdir()
        elif name.as_posix() not in but:
            try:
                os.link(path, draft / name)
            except OSError:
                shutil.copy2(path, draft / name)
