"""Output layers of fitted scikit-learn estimators."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.foundation.wording import some_of
from labelproof.importers.exact_numbers import exact, exact_sparse, finite_layer, refuse_size
from labelproof.importers.feature_domains import UNKNOWN, Before, after
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.own_models import layer_of_classifier
from labelproof.importers.pipelines import features_of, scores_of, what_passes

__all__ = ["layer_of_estimator"]

Floats = npt.NDArray[np.float64]
ONE_CLASS = "The model outputs one class, the one with the largest score: it is judged by the rule topk."
TREES = ("Tree", "Forest", "Boost", "XGB", "LGBM", "CatBoost", "Bagging")
MOST_NAMED = 8
UNSHARED = "so no verdict on combinations follows from weights"


def layer_of_estimator(model: Any) -> ImportedLayer:
    """Return the output layer of a fitted estimator, or of the last step of a pipeline.

    Parameters
    ----------
    model
        OneVsRestClassifier or MultiOutputClassifier over linear classifiers, a linear classifier (LogisticRegression,
        LinearSVC, SGDClassifier, RidgeClassifier ...), MLPClassifier, or a pipeline or search that ends in one.

    Raises
    ------
    ValueError
        If it is none of these or not fitted, or if its labels do not share one feature vector.
    """
    from sklearn.pipeline import Pipeline

    inner = getattr(model, "best_estimator_", model)
    if isinstance(inner, Pipeline):
        return _of_pipeline(inner)
    layer = _of_last(inner)
    return replace(layer, model=type(model).__name__, logits=layer.logits or scores_of(inner, layer.n_labels))


def _of_pipeline(model: Any) -> ImportedLayer:
    steps = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    layer = layer_of_estimator(model.steps[-1][1])
    if layer.before is None:
        before = what_passes(steps, layer.n_features)
        layer = replace(layer, before=before.name, domain=before.domain, domain_reason=before.reason)
    last = layer.features
    texts = bool(steps) and hasattr(steps[0], "build_analyzer")
    return replace(
        layer,
        model="Pipeline",
        kind=f"{layer.kind} at the end of a pipeline",
        features=features_of(steps, last),
        logits=scores_of(model, layer.n_labels),
        reads="text" if texts else "features" if not steps else layer.reads,
    )


def _of_last(model: Any) -> ImportedLayer:
    from sklearn.base import is_classifier
    from sklearn.linear_model._base import LinearClassifierMixin
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
    from sklearn.neural_network import MLPClassifier

    name = type(model).__name__
    if any(cls.__module__ == "labelproof.models.estimator" for cls in type(model).__mro__):
        return layer_of_classifier(model)
    if isinstance(model, ClassifierChain):
        raise ValueError(f"each label of a {name} reads the predictions of others beside the features, {UNSHARED}")
    for kind, read in (
        (OneVsRestClassifier, _of_one_vs_rest),
        (MultiOutputClassifier, _of_multi_output),
        (MLPClassifier, _of_perceptron),
        (LinearClassifierMixin, _of_linear),
    ):
        if isinstance(model, kind):
            _require_fitted(model)
            return finite_layer(replace(read(model), kind=f"scikit-learn {name}"))
    if any(word in name for word in TREES):
        raise ValueError(f"the labels of a {name} are decided by trees and share no feature vector, {UNSHARED}")
    what = "classifier with a linear output layer" if is_classifier(model) else "classifier"
    raise ValueError(f"expected a {what}, got {type(model).__module__.split('.')[0]}'s {name}")


def _of_one_vs_rest(model: Any) -> ImportedLayer:
    weight, bias, dtype, constants = _rows(model.estimators_, "OneVsRestClassifier")
    classes = model.label_binarizer_.classes_
    several = model.multilabel_
    if not several and len(bias) == 1:
        classes = classes[1:]  # two classes, one score
    notes: tuple[str, ...] = () if several or len(bias) == 1 else (ONE_CLASS,)
    names = _names(classes, len(bias))
    if constants:
        shown = some_of([names[i] if names else str(i) for i in constants], MOST_NAMED)
        notes += (
            f"Labels that had one value in all training data, which the model always gives: {shown}. "
            "They stand here with weights 0 and the bias -1 or 1.",
        )
    return _layer(
        weight,
        bias,
        dtype,
        f"coef_ of {len(bias)} estimators" + (f", {len(constants)} of them constant" if constants else ""),
        label_names=names,
        rule="sigmoid" if several or len(bias) == 1 else "topk",
        size=None if several or len(bias) == 1 else 1,
        notes=notes,
    )


def _of_multi_output(model: Any) -> ImportedLayer:
    for i, estimator in enumerate(model.estimators_):
        classes = getattr(estimator, "classes_", None)
        if classes is not None and len(classes) != 2:
            raise ValueError(f"expected two classes of each output, got {len(classes)} of output {i}")
    weight, bias, dtype, _ = _rows(model.estimators_, "MultiOutputClassifier")
    return _layer(weight, bias, dtype, f"coef_ of {len(bias)} estimators")


def _rows(estimators: Any, outer: str) -> tuple[Any, Floats, str, list[int]]:
    """Return weight, bias and dtype of estimators for one label each, and which of them are constant."""
    weights: list[Any] = []
    biases: list[float] = []
    dtype, constants = "float64", []
    for i, estimator in enumerate(estimators):
        if type(estimator).__name__ == "_ConstantPredictor":
            weights.append(None)
            biases.append(1.0 if np.ravel(estimator.y_)[0] > 0 else -1.0)
            constants.append(i)
        else:
            coefficients, intercept, dtype = _linear(estimator, outer)
            if len(intercept) != 1:
                raise ValueError(f"expected one row of weights for each label, got {len(intercept)} of label {i}")
            weights.append(coefficients)
            biases.append(float(intercept[0]))
    widths = {row.shape[1] for row in weights if row is not None}
    if len(widths) != 1:
        what = "numbers of features that differ between labels" if widths else "constant labels only"
        raise ValueError(f"expected one feature vector for all labels, got {what}")
    width = widths.pop()
    refuse_size("coef_", (len(weights), width))
    if any(map(scipy.sparse.issparse, weights)):
        empty = scipy.sparse.csr_array((1, width), dtype=np.float64)
        rows = scipy.sparse.vstack([empty if row is None else row for row in weights], format="csr")
    else:
        rows = np.concatenate([np.zeros((1, width)) if row is None else row for row in weights])
    return rows, np.array(biases), dtype, constants


def _of_linear(model: Any) -> ImportedLayer:
    weight, bias, dtype = _linear(model, "")
    classes = np.asarray(model.classes_)
    binarizer = getattr(model, "_label_binarizer", None)  # of RidgeClassifier, which takes label sets
    several = binarizer is not None and str(binarizer.y_type_).startswith("multilabel")
    one_class = len(bias) > 1 and not several
    return _layer(
        weight,
        bias,
        dtype,
        "coef_",
        label_names=_names(classes[1:] if len(bias) == 1 and len(classes) == 2 else classes, len(bias)),
        rule="topk" if one_class else "sigmoid",
        size=1 if one_class else None,
        notes=(ONE_CLASS,) if one_class else (),
    )


def _of_perceptron(model: Any) -> ImportedLayer:
    weight, bias = model.coefs_[-1].T, model.intercepts_[-1]
    one_class = model.out_activation_ == "softmax"
    before = after(model.activation) if len(model.coefs_) > 1 else UNKNOWN
    classes = np.asarray(model.classes_)
    return _layer(
        exact("coefs_", weight),
        exact("intercepts_", bias),
        str(weight.dtype),
        f"coefs_[{len(model.coefs_) - 1}], transposed",
        before=before,
        label_names=_names(classes[1:] if len(weight) == 1 and len(classes) == 2 else classes, len(weight)),
        rule="topk" if one_class else "sigmoid",
        size=1 if one_class else None,
        notes=(ONE_CLASS,) if one_class else (),
        features=lambda inputs: _hidden(model, inputs),
    )


def _hidden(model: Any, inputs: Any) -> npt.NDArray[Any]:
    """Return the last hidden layer of a multi-layer perceptron."""
    from sklearn.neural_network._base import ACTIVATIONS

    values = np.asarray(inputs.todense() if scipy.sparse.issparse(inputs) else inputs)
    for weight, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        values = values @ weight + bias
        ACTIVATIONS[model.activation](values)  # in place
    return values


def _linear(estimator: Any, outer: str) -> tuple[Any, Floats, str]:
    """Return the rows, sparse after ``sparsify()``, intercepts and dtype of a linear classifier."""
    from sklearn.linear_model._base import LinearClassifierMixin
    from sklearn.pipeline import Pipeline

    name = type(estimator).__name__
    if isinstance(estimator, Pipeline):
        raise ValueError(f"each label of the {outer} has a pipeline, and so features, of its own, {UNSHARED}")
    if not isinstance(estimator, LinearClassifierMixin):
        raise ValueError(f"expected linear classifiers inside the {outer}, got {name}")
    _require_fitted(estimator)
    stored = estimator.coef_
    if scipy.sparse.issparse(stored):
        weight = exact_sparse("coef_", stored)
    else:
        stored = np.asarray(stored)
        weight = np.atleast_2d(exact("coef_", stored))
    intercept = np.broadcast_to(np.ravel(exact("intercept_", estimator.intercept_)), (weight.shape[0],))
    return weight, np.array(intercept), str(stored.dtype)


def _layer(
    weight: Any, bias: Floats, dtype: str, source: str, *, before: Before = UNKNOWN, **facts: Any
) -> ImportedLayer:
    """Return a layer; without another function, the estimator's inputs are the features."""
    facts.setdefault("features", features_of([], None))
    facts.setdefault("reads", "features")
    return ImportedLayer(
        weight,
        bias if bias.any() else None,
        dtype,
        "",
        "",
        source,
        before=before.name,
        domain=before.domain,
        domain_reason=before.reason,
        **facts,
    )


def _names(classes: Any, n_labels: int) -> tuple[str, ...] | None:
    """Return classes as names, unless they only count."""
    classes = np.asarray(classes)
    if classes.shape != (n_labels,) or (classes.dtype.kind in "iu" and (classes == np.arange(n_labels)).all()):
        return None
    return tuple(map(str, classes.tolist()))


def _require_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise ValueError(f"expected a fitted {type(model).__name__}, got one that was never fitted") from error
