"""The model card: what a model is, how it was trained and how good it is, for those who find the folder."""

from typing import Any

import yaml

from labelproof.heads import CodeHead, DFTHead, GaussianHead
from labelproof.models.model import Model

__all__ = ["SHOWN", "model_card"]

SHOWN = ("micro-f1", "macro-f1", "samples-f1", "exact-match", "precision@1", "precision@5", "ndcg@5")


def model_card(model: Model) -> str:
    """Return the card in Markdown.

    Parameters
    ----------
    model
        The model.
    """
    head = model.head
    n_weights = sum(p.numel() for part in (model.encoder, head) for p in part.parameters())
    sizes = model.metrics.get("sizes", {})
    lines = [
        "# A labelproof model",
        "",
        f"- Labels: {model.n_labels:,}, named in labels.json",
        f"- Encoder: {model.encoder.kind}, {model.encoder.width:,} features",
        f"- Head: {model.config.head.kind}, {_options(model.config.head.options)}",
        f"- Loss: {_loss(model)}; decision: {type(model.rule).__name__}, in rule.json",
        f"- Parameters: {n_weights:,}",
        *(f"- Examples for {name}: {size:,}" for name, size in sizes.items()),
        "",
        *_guarantee(model),
        *_table(model.metrics),
        "## Use",
        "```python",
        "import labelproof as lp",
        "",
        'model = lp.load_model("this folder")',
        "model.predict_names(inputs)",
        "```",
        "",
        "## Configuration",
        "```yaml",
        yaml.safe_dump(model.config.to_dict(), sort_keys=False, allow_unicode=True).rstrip(),
        "```",
        "",
    ]
    return "\n".join(lines)


def _loss(model: Model) -> str:
    return "squared hinge" if model.config.head.kind == "svm" else model.config.loss.kind


def _guarantee(model: Model) -> list[str]:
    if isinstance(model.head, CodeHead | GaussianHead):
        return [*str(model.head.guarantee()).splitlines(), ""]
    if not isinstance(model.head, DFTHead):
        return [
            "The head gives no guarantee that a label set can be predicted; `labelproof.verify` says which can.",
            "",
        ]
    enough = model.head.features <= model.head.in_features
    reach = "" if enough else " The encoder has fewer features than the head, so that not all of them can be reached."
    return [
        f"Over the real numbers every set of up to {model.head.k} labels can be predicted at the threshold ½.{reach}",
        "Other thresholds shift the regions, and floating point can close small ones: `labelproof.verify` checks both.",
        "",
    ]


def _table(metrics: dict[str, dict[str, Any]]) -> list[str]:
    parts = [name for name in ("validation", "test") if name in metrics]
    if not parts:
        return []
    names = [name for name in SHOWN if any(metrics[part].get(name) is not None for part in parts)]
    rows = [f"| {name} | {' | '.join(_number(metrics[part].get(name)) for part in parts)} |" for name in names]
    note = "The epoch and the decision rule were chosen on the validation data: figures there are optimistic."
    return [
        "## Metrics",
        f"| metric | {' | '.join(parts)} |",
        f"|---|{'---|' * len(parts)}",
        *rows,
        "",
        *([note, ""] if "validation" in parts else []),
        *_tuned(metrics.get("tuned")),
        *_predictable(metrics.get("predictable")),
    ]


def _predictable(found: Any) -> list[str]:
    """Say how many label sets of the training part can be predicted, as training found it."""
    if not isinstance(found, dict) or not all(isinstance(value, int) for value in found.values()):
        return []
    possible, impossible, undecided = (found.get(name, 0) for name in ("possible", "impossible", "undecided"))
    looked_at = possible + impossible + undecided
    return [
        f"Of {looked_at:,} of the {found.get('training sets', looked_at):,} label sets of the training part the model "
        f"can predict {possible:,}, and {impossible:,} by no input at all; {undecided:,} are undecided.",
        "",
    ]


def _tuned(tuned: dict[str, Any] | None) -> list[str]:
    if tuned is None:
        return []
    data = f"{tuned['examples']:,} examples of {tuned['data']}"
    return [
        f"The decision rule was tuned since, for {tuned['metric']} on {data}: {_number(tuned['held out'])} held out. "
        "The figures above are those of the rule before.",
        "",
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _options(options: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in options.items()) or "no options"
