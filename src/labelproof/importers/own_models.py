"""Output layers of labelproof's own models, with the features that reach them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from labelproof.foundation.json_files import read_json
from labelproof.foundation.optional_packages import need
from labelproof.importers.exact_numbers import finite_layer
from labelproof.importers.feature_blocks import is_sparse, stacked
from labelproof.importers.feature_domains import UNKNOWN, Before, after
from labelproof.importers.layer import ImportedLayer

if TYPE_CHECKING:
    from labelproof.encoders import Encoder
    from labelproof.models import Model, MultiLabelClassifier
    from labelproof.training.heads import Head

__all__ = ["is_own_model", "layer_of_classifier", "layer_of_head", "layer_of_model", "read_own_model"]

BATCH = 256
COLUMNS = ("text", "labels", "features", "image", "separator")


def is_own_model(folder: Path) -> bool:
    """Return whether a folder is a model that labelproof wrote, or the folder of the run that trained it."""
    for place in (folder / "config.json", folder / "model" / "config.json"):
        if place.is_file():
            config = read_json(place)
            return isinstance(config, dict) and str(config.get("format")).startswith("labelproof model")
    return False


def read_own_model(folder: Path) -> ImportedLayer:
    """Return the layer of a model folder."""
    for package in ("torch", "safetensors", "pydantic"):
        need(package, f"reading {folder.name}")
    from labelproof.models import load_model

    return layer_of_model(load_model(folder), name=folder.name)


def layer_of_model(model: "Model", *, name: str | None = None) -> ImportedLayer:
    """Return the layer of a `labelproof.models.Model`."""
    return _layer(
        model.head,
        model=name or "Model",
        kind="labelproof model",
        label_names=model.label_names,
        rule=model.rule,
        size=getattr(getattr(model.rule, "geometry", None), "size", None),
        features=_features(model.encoder, model.head),
        logits=model.logits,
        reads=_reads(model.encoder),
        columns={role: getattr(model.config.data, role) for role in COLUMNS},
        before=_before(model.encoder, model.head),
    )


def _reads(encoder: "Encoder") -> str:
    """Return which raw inputs an encoder reads."""
    return encoder.input_kind if encoder.input_kind in ("image", "features") else "text"


def layer_of_classifier(classifier: "MultiLabelClassifier") -> ImportedLayer:
    """Return the layer of a fitted `labelproof.MultiLabelClassifier`."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(classifier)
    head, encoder, classes = classifier.head_, classifier.encoder_, classifier.classes_
    numbered = classes.dtype.kind in "iu" and bool((classes == np.arange(len(classes))).all())
    is_classes = type(classifier._scheme).__name__ == "Classes"
    named = head.n_labels == len(classes) and not numbered
    return _layer(
        head,
        model="MultiLabelClassifier",
        kind="labelproof MultiLabelClassifier",
        label_names=tuple(map(str, classes)) if named else None,
        rule="topk" if is_classes and head.n_labels > 1 else classifier.rule_,
        size=1 if is_classes and head.n_labels > 1 else None,
        features=_features(encoder, head),
        reads=_reads(encoder),
        before=_before(encoder, head),
        notes=("The model outputs one class, the one with the largest logit: rule topk.",) if is_classes else (),
    )


def layer_of_head(head: Any) -> ImportedLayer:
    """Return the layer of a head alone, such as `labelproof.DFTHead`."""
    return _layer(head, model=type(head).__name__, kind="labelproof head", before=_before(None, head))


def _layer(head: Any, *, before: Before, **facts: Any) -> ImportedLayer:
    weight = head.weight.detach().cpu()
    bias = None if head.bias is None else head.bias.detach().cpu().double().numpy()
    return finite_layer(
        ImportedLayer(
            weight=np.array(weight.double().numpy()),
            bias=None if bias is None else np.array(bias),
            dtype=str(weight.dtype).removeprefix("torch."),
            source=f"the weight of its {type(head).__name__}",
            before=before.name,
            domain=before.domain,
            domain_reason=before.reason,
            **facts,
        )
    )


def _before(encoder: "Encoder | None", head: Any) -> Before:
    if hasattr(head, "projection"):
        return after("linear")
    if getattr(head, "relu", False):
        return after("relu")
    domain = None if encoder is None else encoder.domain()
    if encoder is None or domain is None:
        return UNKNOWN
    if isinstance(domain, str):
        return after("relu")
    if domain[0] == "blocks":
        return Before(encoder.kind, domain, f"The features are those of the model's views: {_blocks(domain[1])}.")
    return Before(encoder.kind, domain, "The features are weights of words in rows of length 1, so they are in a ball.")


def _blocks(blocks: Any) -> str:
    """Say which domain each block of features has."""
    said: list[str] = []
    for n, domain in blocks:
        kind = domain[0] if isinstance(domain, tuple) else domain
        if kind == "unit":
            words = f"weights of terms, of length ≤ {domain[1]:.4g}"
        elif kind == "ball":
            words = f"of length ≤ {domain[1]:.4g}"
        else:
            words = "of any size" if kind is None else "nonnegative" if kind == "nonnegative" else "within bounds"
        said.append(f"{n:,} {words}")
    return "; ".join(said)


def _features(encoder: "Encoder", head: "Head") -> Callable[[Any], Any]:
    def features(inputs: Any) -> Any:
        import torch

        from labelproof.training.scoring import row_blocks

        prepared, like = encoder.prepare(inputs), head.weight
        blocks: list[Any] = []
        for block in row_blocks(len(prepared), BATCH):
            batch = encoder.collate(prepared, np.arange(block.start, block.stop))
            with torch.inference_mode():
                moved = (part.to(like.device, like.dtype if part.is_floating_point() else None) for part in batch)
                block = _entering(head, encoder(*moved)).cpu().numpy()
            blocks.append(scipy.sparse.csr_matrix(block) if is_sparse(block) else block)
        if not blocks:
            return np.zeros((0, head.weight.shape[1]), np.float32)
        return stacked(blocks)

    return features


def _entering(head: Any, output: Any) -> Any:
    """Return what enters the head's output layer."""
    if hasattr(head, "projection"):
        return head.projection(output)
    return output.relu() if getattr(head, "relu", False) else output
