"""Training: configuration, Lightning, and metrics for torchmetrics users.

Names are imported when first used, so that one of them does not bring all.
"""

from typing import TYPE_CHECKING

from labelproof.foundation.late_names import late_names

if TYPE_CHECKING:
    from labelproof.training.config import ConfigError, TrainConfig
    from labelproof.training.fitting import Fitted, fit
    from labelproof.training.metrics import LabelMetric

_HOME = {
    "ConfigError": "labelproof.training.config",
    "Fitted": "labelproof.training.fitting",
    "LabelMetric": "labelproof.training.metrics",
    "MultiLabelClassifier": "labelproof.models",  # which writes and reads its folder; here by its older name
    "TrainConfig": "labelproof.training.config",
    "fit": "labelproof.training.fitting",
}

__all__ = ["ConfigError", "Fitted", "LabelMetric", "MultiLabelClassifier", "TrainConfig", "fit"]

__getattr__ = late_names(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
