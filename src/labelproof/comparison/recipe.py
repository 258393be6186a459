"""How all heads of a comparison are trained: one configuration, in which only the head differs."""

from labelproof.data import Dataset
from labelproof.training import TrainConfig

__all__ = ["recipe"]


def recipe(dataset: Dataset, *, epochs: int = 30, min_count: int = 1, seed: int = 0) -> TrainConfig:
    """Return the configuration of a comparison, without a head.

    Texts become TF-IDF, features are taken as they are; one hidden layer with ReLU and dropout follows. Training stops
    after three epochs without a better validation loss, and one threshold for all labels is tuned for the micro-F1 of
    the validation part. Where the data name no test or validation part, a fifth and a tenth are held out.

    Parameters
    ----------
    dataset
        With texts or features.
    epochs
        At most so many.
    min_count
        Labels with fewer training examples are left out.
    seed
        Of the parts, the weights and the order of the examples.

    Examples
    --------
    >>> import numpy as np
    >>> recipe(Dataset(np.eye(4, dtype=bool), ("a", "b", "c", "d"), features=np.eye(4))).encoder.kind
    'features'
    """
    if dataset.texts is None and dataset.features is None:
        raise ValueError("a comparison of heads needs data with texts or features, got neither")
    return TrainConfig.from_dict(
        {
            "data": {"validation": 0.1, "test": 0.2, "min_count": min_count},
            "encoder": {"kind": "features" if dataset.texts is None else "tfidf", "hidden": 128, "dropout": 0.2},
            "decision": {"kind": "global", "metric": "micro-f1"},
            "trainer": {"epochs": epochs, "patience": 3, "seed": seed, "metrics": []},
        }
    )
