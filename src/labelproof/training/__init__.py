"""Training: configuration, Lightning, the scikit-learn estimator, and metrics for torchmetrics users."""

from labelproof.training.config import ConfigError, TrainConfig
from labelproof.training.estimator import MultiLabelClassifier
from labelproof.training.fitting import Fitted, fit
from labelproof.training.metrics import LabelMetric

__all__ = ["ConfigError", "Fitted", "LabelMetric", "MultiLabelClassifier", "TrainConfig", "fit"]
