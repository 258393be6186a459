"""What the verbs share that judge a model by examples: the examples, and the rule that the model shall decide by."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelproof.errors import DataFormatError
from labelproof.foundation.wording import plural

if TYPE_CHECKING:
    from labelproof.data import Dataset
    from labelproof.decisions import Rule
    from labelproof.models import Model

__all__ = ["read_examples", "require_known_labels", "with_rule"]

NOTHING_TO_LEARN = ("fixed", "expected-f")  # rules that need no examples


def read_examples(
    model: "Model", data: Path, *, part: str | None, usual: str | None, drop_unknown: bool
) -> tuple["Dataset", str]:
    """Read examples by the columns of a model's training; return them and what they are called.

    Parameters
    ----------
    model
        The model.
    data
        Where they are.
    part
        Of the data, that was asked for.
    usual
        The part that is taken where none is asked for and the data have it: "test" or "valid".
    drop_unknown
        Leave out labels that the model does not know.
    """
    from labelproof.data import load_dataset
    from labelproof.data.columns import MissingColumnError
    from labelproof.data.separators import USUAL

    trained = model.config.data
    columns = {role: getattr(trained, role) for role in ("text", "labels", "features", "image", "separator")}
    columns["separator"] = columns["separator"] or USUAL  # nothing is guessed that the training did not guess
    try:
        examples, name = load_dataset(str(data), **columns), data.name
    except MissingColumnError as error:  # which no option of these verbs names
        raise DataFormatError(f"{error.with_remedy('')} (columns are called as those of the training)") from error
    chosen = _part(examples, part, usual, name)
    if chosen is not None:
        examples, name = examples.part(chosen), f"{name}, part {chosen}"
    if drop_unknown:
        examples = examples.restrict_to(model.label_names, unknown="drop")
        name = f"{name}, {plural(len(examples.dropped), 'unknown label')} left out" if examples.dropped else name
    return examples, name


def _part(examples: "Dataset", part: str | None, usual: str | None, name: str) -> str | None:
    found = list(examples.parts)
    if part is not None:
        if part not in found:
            raise DataFormatError(f"{name}: expected the part {part!r}, got {', '.join(found) or 'no parts'} (--part)")
        return part
    from labelproof.data.model_inputs import VALIDATION

    names = VALIDATION if usual == "valid" else (usual,)
    return next((each for each in names if each in found), None)


def require_known_labels(model: "Model", examples: "Dataset", name: str) -> "Dataset":
    """Return examples with the labels of a model in its order; a label that it does not know is refused."""
    from labelproof.data.dataset import UnknownLabelError

    try:
        return examples.restrict_to(model.label_names)
    except UnknownLabelError as error:
        raise DataFormatError(
            f"{name}: examples must have no labels but those of the model, got {error.label!r} (--drop-unknown leaves "
            "out labels that the model does not know)"
        ) from error


def with_rule(model: "Model", rule: str) -> "Model":
    """Return a model with another rule: one of its own by name, one in a file, or one that learns nothing."""
    from labelproof.decisions import load_rule
    from labelproof.training.choices import build_rule

    if rule in model.rules:
        return model.for_metric(rule)
    if Path(rule).is_file():
        return replace(model, rule=_for_logits(load_rule(rule), model, Path(rule).name))
    if rule in NOTHING_TO_LEARN:
        return replace(model, rule=build_rule(rule, {}))
    known = ", ".join((*model.rules, *NOTHING_TO_LEARN))
    raise ValueError(f"--rule must be a file that labelproof tune wrote, or one of {known}, got {rule!r}")


def _for_logits(rule: "Rule", model: "Model", name: str) -> Any:
    """Return a rule from a file as one that decides on the logits of a model."""
    from labelproof.decisions import TopK

    kind = getattr(rule, "scores", "unsaid")
    if kind is None:
        raise DataFormatError(
            f"{name}: the rule does not say whether it decides on logits or probabilities: tune it with --score-kind, "
            "or with --model"
        )
    if kind == "probabilities":
        return _OnProbabilities(rule, model)
    if kind == "unsaid" and not isinstance(rule, TopK):
        print(f"note: {name} is taken to decide on logits.", file=sys.stderr)
    return rule


class _OnProbabilities:
    """A rule that decides on what a model takes its logits to mean."""

    def __init__(self, rule: "Rule", model: "Model") -> None:
        self._rule, self._model = rule, model

    def __repr__(self) -> str:
        return f"{self._rule}"

    def decide(self, logits: Any, *, sparse: bool = False) -> Any:
        return self._rule.decide(self._model.to_probabilities(logits), sparse=sparse)
