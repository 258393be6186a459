"""What training gives."""

from dataclasses import dataclass, field
from typing import Any

from labelproof.decisions import Rule
from labelproof.encoders import Encoder
from labelproof.training.config import TrainConfig
from labelproof.training.heads import Head
from labelproof.training.predictability import TrainingSets

__all__ = ["Fitted"]

Row = dict[str, float]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What training gives.

    Attributes
    ----------
    encoder, head
        With the weights of the best epoch, in evaluation mode.
    label_names
        Of the labels in the order of the logits.
    rule
        The decision rule, fitted on validation data where it learns anything; it decides on logits.
    config
        With everything that was taken from the data filled in.
    history
        The values of every epoch.
    metrics
        Of "validation" and "test", as far as there are such parts, and "sizes", their numbers of examples. Of the
        recipe, "validation" is out of fold: every example is scored and decided by models that have not seen it.
    rules
        Rules for other metrics than that of ``rule``, by their names.
    tried
        Of the recipe: one row for each member that was tried, and one for the blend.
    notes
        Sentences for people: why the winner won, what there was no time for.
    training_sets
        Distinct label sets of the training part, to ask which of them the model can predict.

    Examples
    --------
    >>> import labelproof as lp
    >>> from labelproof.training import TrainConfig, fit
    >>> data = lp.data.topic_data(60, 5, 20)
    >>> fitted = fit(TrainConfig.from_dict({"head": {"kind": "svm", "C": 1.0}, "encoder": {"hidden": None}}), data)
    >>> len(fitted.label_names), type(fitted.rule).__name__
    (5, 'PerLabelThreshold')
    """

    encoder: Encoder
    head: Head
    label_names: tuple[str, ...]
    rule: Rule
    config: TrainConfig
    history: list[Row]
    metrics: dict[str, dict[str, Any]]
    rules: dict[str, Rule] = field(default_factory=dict)
    tried: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    training_sets: TrainingSets | None = None
