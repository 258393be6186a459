"""A scikit-learn estimator on disk: the model folder, with one file more that says what the estimator was.

``estimator.json`` holds the options, the form of y, and the number and names of the features of X. A folder without it,
such as one that ``labelproof train`` wrote, is an estimator of label sets with the options of its configuration.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelproof.errors import ModelFormatError
from labelproof.foundation.writing import write_folder
from labelproof.models.directory import is_model, load_model, model_folder, read_member, write_json, write_model
from labelproof.models.model import Model
from labelproof.training.fitted import Fitted
from labelproof.training.targets import Classes, LabelSets

if TYPE_CHECKING:
    from labelproof.models.estimator import MultiLabelClassifier

__all__ = ["read_estimator", "write_estimator"]

FILE = "estimator.json"
SEEN = ("n_features_in_", "feature_names_in_")
Read = tuple[dict[str, Any], LabelSets | Classes, Fitted, dict[str, Any]]


def write_estimator(estimator: "MultiLabelClassifier", path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a folder, in one step."""
    model, described = estimator.as_model(), _described(estimator)

    def write(draft: Path) -> None:
        write_model(model, draft)
        write_json(draft / FILE, described)

    write_folder(path, write, may_replace=is_model, what="a model")


def read_estimator(path: str | os.PathLike[str]) -> Read:
    """Read the options, the form of y, what was trained and what was seen of X."""
    folder = model_folder(Path(path))
    model = load_model(folder)
    kind = model.config.head.kind
    if kind != "auto" and model.encoder.kind != "features":
        raise ModelFormatError(
            f"{folder}: expected a model of the recipe or on features, got one with the encoder "
            f"{model.encoder.kind!r}: labelproof.load_model reads it"
        )
    fitted = Fitted(
        model.encoder, model.head, model.label_names, model.rule, model.config, [], model.metrics, model.rules
    )
    if not (folder / FILE).exists():
        return _params_of(model), LabelSets(model.n_labels, sparse=False), fitted, _features_of(model)
    told = read_member(folder, FILE)
    try:
        seen = {name: told[name] for name in SEEN if told[name] is not None}
        if "feature_names_in_" in seen:
            seen["feature_names_in_"] = np.array(seen["feature_names_in_"], object)
        return dict(told["options"]), _targets(told["y"], model.n_labels), fitted, seen
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(f"{folder / FILE}: expected what save writes of an estimator ({error!r})") from error


def _described(estimator: "MultiLabelClassifier") -> dict[str, Any]:
    options = estimator.get_params(deep=False)
    if not isinstance(options["random_state"], int | None):
        options["random_state"] = None  # a generator, which has drawn since
    seen = {name: getattr(estimator, name, None) for name in SEEN}
    names = seen["feature_names_in_"]
    return {
        "options": {name: _plain(value) for name, value in options.items()},
        "y": _form(estimator._scheme),
        **seen,
        "feature_names_in_": None if names is None else list(map(str, names)),
    }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _form(scheme: LabelSets | Classes) -> dict[str, Any]:
    if isinstance(scheme, LabelSets):
        return {"form": "label sets", "sparse": scheme.sparse}
    classes = scheme.classes
    return {
        "form": "classes",
        "classes": classes.tolist(),
        "dtype": "O" if classes.dtype.kind == "O" else classes.dtype.str,
    }


def _targets(form: dict[str, Any], n_labels: int) -> LabelSets | Classes:
    if form["form"] == "label sets":
        return LabelSets(n_labels, bool(form["sparse"]))
    found = Classes(np.array(form["classes"], np.dtype(form["dtype"])))
    if n_labels != (1 if found.is_binary else len(found.classes)):
        raise ValueError(f"{len(found.classes)} classes for {n_labels} labels")
    return found


def _params_of(model: Model) -> dict[str, Any]:
    """Return the options of an estimator that would be trained as a model was."""
    config = model.config
    given = {
        name: value for name, value in config.head.options.items() if name in ("k", "slack", "d", "metric", "budget")
    }
    trainer = {
        name: getattr(config.trainer, name) for name in ("epochs", "batch_size", "lr", "weight_decay", "patience")
    }
    return {
        "head": config.head.kind,
        "random_state": config.trainer.seed,
        "hidden": config.encoder.options.get("hidden"),
        "loss": {"kind": config.loss.kind, **config.loss.options},
        "decision": {"kind": config.decision.kind, **config.decision.options},
        "validation_fraction": config.data.validation,
        "monitor": config.trainer.monitor,
        **given,
        **trainer,
    }


def _features_of(model: Model) -> dict[str, Any]:
    width = getattr(model.encoder, "n_features", None)
    return {} if width is None else {"n_features_in_": int(width)}
