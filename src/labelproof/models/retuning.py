"""Another decision rule for a model that is on disk: nothing else of its folder changes, and it changes in one step."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from labelproof.decisions import Rule
from labelproof.foundation.writing import link_files, write_folder
from labelproof.models.card import model_card
from labelproof.models.directory import is_model, load_model, model_folder, write_json, write_text_file
from labelproof.models.model import Model

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
        link_files(folder, draft, but={*CHANGED, f"rules/{metric}.json"}.__contains__)
        rule.save(draft / "rule.json")
        (draft / "rules").mkdir(exist_ok=True)
        rule.save(draft / "rules" / f"{metric}.json")
        write_json(draft / "metrics.json", model.metrics)
        write_text_file(draft / "README.md", model_card(model))

    write_folder(folder, write, may_replace=is_model, what="a model")
    return model
