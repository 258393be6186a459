"""What a model gets of a data set: what encoders of one kind read, and the names of the parts that it learns from."""

from typing import Any

from labelproof.data.dataset import Dataset

__all__ = ["TRAINING", "VALIDATION", "field_of", "joined", "model_inputs"]

TRAINING = ("train", "all")
VALIDATION = ("valid", "validation", "val", "dev")
"""The names that the part for training and the one for validation may have, the first that is there counts."""


def field_of(kind: str) -> str:
    """Return which field of a data set an encoder of this kind reads; those without a field of their own read texts.

    Examples
    --------
    >>> field_of("features"), field_of("image"), field_of("tfidf")
    ('features', 'image_paths', 'texts')
    """
    return {"features": "features", "image": "image_paths"}.get(kind, "texts")


def model_inputs(data: Dataset, kind: str) -> Any:
    r"""Return what an encoder of this kind reads, pairs of texts joined; None where the data have no such thing.

    Examples
    --------
    >>> data = Dataset([[True], [False]], ("news",), texts=("one", "two"), text_pairs=("a", "b"))
    >>> model_inputs(data, "tfidf"), model_inputs(data, "features")
    (['one\n\na', 'two\n\nb'], None)
    """
    field = field_of(kind)
    inputs = getattr(data, field)
    if inputs is not None and field == "texts" and data.text_pairs is not None:
        return [joined(first, second) for first, second in zip(inputs, data.text_pairs, strict=True)]
    return list(inputs) if isinstance(inputs, tuple) else inputs


def joined(first: str, second: str) -> str:
    """Return a pair of texts as the one text that encoders read: a blank line stands between them."""
    return f"{first}\n\n{second}"
