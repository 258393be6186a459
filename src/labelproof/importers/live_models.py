"""The output layer of a model in memory, or of one whose path is given."""

import os
from typing import Any

import numpy as np
import scipy.sparse

from labelproof.importers.exact_numbers import exact, exact_sparse, finite_layer
from labelproof.importers.layer import ImportedLayer

__all__ = ["layer_of"]


def layer_of(model: Any, *, weight_key: str | None = None) -> ImportedLayer:
    """Return the output layer of a live object, or of a saved model.

    Parameters
    ----------
    model
        The path of a file or folder, as for `read_layer`; an array, sparse matrix or tensor (n_labels, n_features); a
        torch module, also one of transformers or timm; a Keras model or layer; a fitted scikit-learn estimator; a
        `labelproof.models.Model` or `labelproof.MultiLabelClassifier`; or an `ImportedLayer`, returned as it is.
    weight_key
        Of a file, a torch module or a Keras model: the name of the layer, where it cannot be found.

    Returns
    -------
    ImportedLayer

    Raises
    ------
    ValueError
        If there is no such layer, more than one, or one whose labels do not share one feature vector.

    Examples
    --------
    >>> layer_of(np.eye(3, 2)).weight.shape
    (3, 2)
    """
    if isinstance(model, ImportedLayer):
        return model
    if isinstance(model, str | os.PathLike):
        from labelproof.importers.reading import read_layer

        return read_layer(model, weight_key=weight_key)
    kinds = {cls.__module__.split(".")[0] for cls in type(model).__mro__}
    if "keras" in kinds:  # on the backend torch its models are torch modules as well
        from labelproof.importers.keras_models import layer_of_keras

        return layer_of_keras(model, weight_key=weight_key)
    if "torch" in kinds:
        return _layer_of_torch(model, weight_key)
    if "sklearn" in kinds or f"{type(model).__module__}.{type(model).__name__}" == "labelproof.models.model.Model":
        return _layer_of_fitted(model)
    if scipy.sparse.issparse(model):
        return _bare(exact_sparse("the weight", model), str(model.dtype), type(model).__name__)
    if isinstance(model, np.ndarray | list | tuple):
        values = np.asarray(model) if isinstance(model, np.ndarray) else exact("the weight", model)
        return _bare(exact("the weight", values), str(values.dtype), type(model).__name__)
    raise ValueError(
        "model must be a path, an array, a torch module, a Keras model, a scikit-learn estimator or a labelproof "
        f"model, got {type(model).__module__}.{type(model).__name__}"
    )


def _layer_of_torch(model: Any, weight_key: str | None) -> ImportedLayer:
    import torch

    from labelproof.importers.checkpoints import stored

    if isinstance(model, torch.Tensor):
        tensor = stored(model, "")
        return _bare(tensor.read(), tensor.dtype, "Tensor")
    from labelproof.importers.torch_modules import layer_of_module

    return layer_of_module(model, weight_key=weight_key)


def _layer_of_fitted(model: Any) -> ImportedLayer:
    if not hasattr(model, "fit"):
        from labelproof.importers.own_models import layer_of_model

        return layer_of_model(model)
    from labelproof.importers.estimators import layer_of_estimator

    return layer_of_estimator(model)


def _bare(weight: Any, dtype: str, name: str) -> ImportedLayer:
    return finite_layer(ImportedLayer(weight, None, dtype, name, "matrix", "the matrix as given"))
