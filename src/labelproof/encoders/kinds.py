"""The kinds of encoders by their names in configs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelproof.encoders.cnn import CNNEncoder
from labelproof.encoders.encoder import Encoder
from labelproof.encoders.features import FeatureEncoder
from labelproof.encoders.gru import GRUEncoder
from labelproof.encoders.hashing import HashingEncoder
from labelproof.encoders.image import ImageEncoder
from labelproof.encoders.options import did_you_mean
from labelproof.encoders.pair import PairEncoder
from labelproof.encoders.tfidf import TfidfEncoder
from labelproof.encoders.token_vectors import StaticEncoder
from labelproof.encoders.transformer import TransformerEncoder
from labelproof.encoders.views.view_encoder import ViewsEncoder
from labelproof.errors import ModelFormatError

__all__ = ["KINDS", "build", "load"]

KINDS: dict[str, type[Encoder]] = {
    encoder.kind: encoder
    for encoder in (
        FeatureEncoder,
        TfidfEncoder,
        HashingEncoder,
        CNNEncoder,
        GRUEncoder,
        PairEncoder,
        StaticEncoder,
        TransformerEncoder,
        ImageEncoder,
        ViewsEncoder,
    )
}


def build(kind: str, inputs: Any, **options: Any) -> Encoder:
    """Return an encoder of this kind that has learned what it needs from the training inputs.

    Parameters
    ----------
    kind
        One of `KINDS`.
    inputs
        A list of texts, an array or CSR array of features, or a list of paths of images.
    **options
        Of the kind; see the fields of ``KINDS[kind].Options``.

    Examples
    --------
    >>> encoder = build("tfidf", ["a stitch in time", "time flies"], hidden=4)
    >>> batch = encoder.collate(encoder.prepare(["in time"]), [0])
    >>> encoder(*batch).shape
    torch.Size([1, 4])
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of encoder: {did_you_mean(str(kind), KINDS)}")
    return KINDS[kind].fitted(inputs, **options)


def load(description: Mapping[str, Any], folder: str | Path) -> Encoder:
    """Return the encoder that `Encoder.description` and the files of `Encoder.save_files` tell of.

    Its weights are those of a new encoder until `load_state_dict` gives it the saved ones.

    Parameters
    ----------
    description
        As JSON has it.
    folder
        Of the files.

    Examples
    --------
    >>> import numpy as np
    >>> encoder = build("features", np.eye(3), hidden=4)
    >>> load(encoder.description(), "anywhere").width
    4
    """
    kind = description.get("kind") if isinstance(description, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelFormatError(f"the encoder is of an unknown kind {kind!r}: {did_you_mean(str(kind), KINDS)}")
    return KINDS[kind].from_description(description, Path(folder))
