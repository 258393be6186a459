"""An output layer as it was found in someone's model, with all that is known about where it came from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labelproof.proof.regions import Domain

__all__ = ["SOFTMAX", "ImportedLayer"]

SOFTMAX = "The model ends in a softmax over labels: it is judged by the rule topk."
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ImportedLayer:
    """The last linear layer of a model: logits = features · weightᵀ + bias.

    Attributes
    ----------
    weight
        float64 (n_labels, n_features), the exact values of the stored numbers; scipy's CSR array of them where the
        model keeps a sparse matrix.
    bias
        float64 (n_labels,), or None.
    dtype
        Of the numbers as stored, such as "float32" or "bfloat16".
    model
        What was read, for people: a file's or folder's name, or the class of a live object.
    kind
        What sort of model that is, such as "Hugging Face folder" or "scikit-learn OneVsRestClassifier".
    source
        Which numbers were taken, such as "classifier.weight of model.safetensors".
    label_names
        In the order of the rows, or None where the model does not name them.
    before
        What stands before the layer, such as "ReLU" or "tanh", where it could be known; else None.
    domain
        Which features can therefore reach the layer, as in `labelproof.verify`.
    domain_reason
        Why, in one sentence.
    rule
        The model's own decision rule, as in `labelproof.verify`: a name, or a fitted rule; "sigmoid" if unknown.
    thresholds
        Its probabilities at which labels switch on, float64 (n_labels,), or None for ½.
    size
        Number of labels of every output, where the rule is topk and the model fixes it: 1 for a softmax.
    features
        From the model's raw inputs to features (n_examples, n_features), dense or CSR, where the model can compute
        them here.
    logits
        From the same inputs to the model's own logits (n_examples, n_labels), by the way that it takes itself.
    reads
        Which raw inputs these are: "text", "image" or "features"; None where that is not known.
    columns
        How the data of the training were read: options of `labelproof.load_dataset`.
    notes
        What else a reader of verdicts should know, in sentences.

    Examples
    --------
    >>> from labelproof.importers import layer_of
    >>> layer = layer_of([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> layer.weight.shape, layer.bias, layer.rule
    ((3, 2), None, 'sigmoid')
    """

    weight: Floats
    bias: Floats | None
    dtype: str
    model: str
    kind: str
    source: str
    label_names: tuple[str, ...] | None = None
    before: str | None = None
    domain: Domain = None
    domain_reason: str = "Nothing is known of what stands before the layer, so every input is allowed."
    rule: Literal["sigmoid", "topk", "sparsemax"] | Any = "sigmoid"
    thresholds: Floats | None = None
    size: int | None = None
    features: Callable[[Any], Any] | None = None
    logits: Callable[[Any], npt.NDArray[Any]] | None = None
    reads: Literal["text", "image", "features"] | None = None
    columns: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def can_run(self) -> bool:
        """Whether features can be computed here, from inputs of a known kind."""
        return self.features is not None and self.reads is not None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.weight.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features that the layer reads."""
        return int(self.weight.shape[1])
