"""Training: configuration, Lightning, and metrics for torchmetrics users.

Names are imported when first used, so that one of them does not bring all.
"""

from typing import TYPE_CHECKING

from labelproof.foundation.late_names import late_names

if TYPE_CHECKING:
    from labelproof.training.config import TrainConfig
    from labelproof.training.config_errors import ConfigError
    from labelproof.training.fitting import Fitted, fit
    from labelproof.training.lbfgs import LinearSolution, fit_linear
    from labelproof.training.metrics import LabelMetric
    from labelproof.training.run_records import RunRecord, read_records
    from labelproof.training.sweeping import grid, sweep

_HOME = {
    "ConfigError": "labelproof.training.config_errors",
    "Fitted": "labelproof.training.fitting",
    "LabelMetric": "labelproof.training.metrics",
    "LinearSolution": "labelproof.training.lbfgs",
    "RunRecord": "labelproof.training.run_records",
    "TrainConfig": "labelproof.training.config",
    "fit": "labelproof.training.fitting",
    "fit_linear": "labelproof.training.lbfgs",
    "grid": "labelproof.training.sweeping",
    "read_records": "labelproof.training.run_records",
    "sweep": "labelproof.training.sweeping",
}

__all__ = [
    "ConfigError",
    "Fitted",
    "LabelMetric",
    "LinearSolution",
    "RunRecord",
    "TrainConfig",
    "fit",
    "fit_linear",
    "grid",
    "read_records",
    "sweep",
]

__getattr__ = late_names(__name__, _HOME, trains=True)


def __dir__() -> list[str]:
    return __all__
