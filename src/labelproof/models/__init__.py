"""Trained models: prediction, the model folder, the scikit-learn estimator, and export to ONNX.

Names are imported when first used, so that a model is loaded without scikit-learn's estimators.
"""

from typing import TYPE_CHECKING

from labelproof.foundation.late_names import late_names

if TYPE_CHECKING:
    from labelproof.models.directory import load_model, save_model
    from labelproof.models.estimator import MultiLabelClassifier
    from labelproof.models.model import Model, Prediction

_HOME = {
    "Model": "labelproof.models.model",
    "MultiLabelClassifier": "labelproof.models.estimator",
    "Prediction": "labelproof.models.model",
    "load_model": "labelproof.models.directory",
    "save_model": "labelproof.models.directory",
}

__all__ = ["Model", "MultiLabelClassifier", "Prediction", "load_model", "save_model"]

__getattr__ = late_names(__name__, _HOME, trains=True)


def __dir__() -> list[str]:
    return __all__
