"""The options of a scikit-learn estimator as the configuration of a training."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelproof.training.config import TrainConfig
from labelproof.training.targets import Classes, LabelSets

if TYPE_CHECKING:
    from labelproof.models.estimator import MultiLabelClassifier

__all__ = ["as_section", "config_of"]

_FIXED = ("code", "dft", "gaussian", "guaranteed", "harmonic")  # heads with a guarantee


def config_of(estimator: "MultiLabelClassifier", scheme: LabelSets | Classes, seed: int) -> TrainConfig:
    """Return the configuration of a training that the options of an estimator stand for."""
    fixed = {"k": estimator.k, "slack": estimator.slack}
    own: dict[str, dict[str, Any]] = {
        "bottleneck": {"d": estimator.d},
        "auto": {"metric": estimator.metric} | ({} if estimator.budget is None else {"budget": estimator.budget}),
    }
    decision = {"kind": "fixed"} if isinstance(scheme, Classes) else as_section(estimator.decision)
    return TrainConfig.from_dict(
        {
            "data": {"validation": estimator.validation_fraction, "min_count": 0},
            "encoder": {"kind": "features"} | ({} if estimator.hidden is None else {"hidden": estimator.hidden}),
            "head": {"kind": estimator.head, **own.get(estimator.head, fixed if estimator.head in _FIXED else {})},
            "loss": as_section(estimator.loss),
            "decision": decision,
            "trainer": {
                "epochs": estimator.epochs,
                "batch_size": estimator.batch_size,
                "lr": estimator.lr,
                "weight_decay": estimator.weight_decay,
                "patience": estimator.patience,
                "monitor": estimator.monitor,
                "metrics": (),
                "seed": seed,
                "accelerator": "cpu",
            },
        }
    )


def as_section(choice: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a loss or a decision rule, given by its name or with options, as a section of a configuration.

    Examples
    --------
    >>> as_section("bce"), as_section({"kind": "focal", "gamma": 2.0})
    ({'kind': 'bce'}, {'kind': 'focal', 'gamma': 2.0})
    """
    return {"kind": choice} if isinstance(choice, str) else dict(choice)
