"""What the steps of a scikit-learn pipeline do to features before its last step reads them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import logit

from labelproof.importers.feature_domains import UNKNOWN, Before

__all__ = ["features_of", "scores_of", "what_passes"]

_COUNTERS = {"CountVectorizer", "TfidfVectorizer"}
_INDICATORS = {"Binarizer", "OneHotEncoder", "MultiLabelBinarizer"}
_KEEP_SIGN = {"TfidfTransformer", "MaxAbsScaler", "Normalizer", "VarianceThreshold", "SelectKBest", "SelectPercentile"}
_KEEP_SIGN |= {"SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect", "RFE", "RFECV", "SelectFromModel"}


def what_passes(steps: Sequence[Any]) -> Before:
    """Return what is certain of features that have passed these fitted steps.

    Counts of words are nonnegative, also when they are weighted or scaled to length 1; any other step may give
    anything.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> what_passes([TfidfVectorizer()]).domain
    'nonnegative'
    """
    known = UNKNOWN
    for step in steps:
        name = type(step).__name__
        if not type(step).__module__.startswith("sklearn.") or _may_change_sign(step):
            known = UNKNOWN
        elif name in _COUNTERS or name in _INDICATORS or (name == "HashingVectorizer" and not step.alternate_sign):
            known = Before(name, "nonnegative", f"The features come from {name}, so they are nonnegative.")
        elif name not in _KEEP_SIGN:
            reason = f"The features come from {name}, which need not bound them, so every input is allowed."
            known = Before(name, None, reason)
    return known


def features_of(steps: Sequence[Any], last: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    """Return what leads from a pipeline's inputs to its output layer's features, an array or CSR matrix."""

    def features(inputs: Any) -> Any:
        values = inputs
        for step in steps:
            values = step.transform(values)
        if last is not None:
            return last(values)
        return scipy.sparse.csr_matrix(values) if scipy.sparse.issparse(values) else np.asarray(values)

    return features


def scores_of(model: Any, n_labels: int) -> Callable[[Any], Any] | None:
    """Return what a fitted estimator says of inputs before it decides, (n, n_labels), or None where it says nothing."""
    if hasattr(model, "decision_function"):
        decide = model.decision_function
    elif hasattr(model, "predict_proba") and hasattr(model, "coefs_") and model.out_activation_ == "logistic":
        decide = lambda inputs: logit(np.clip(model.predict_proba(inputs), 1e-15, 1 - 1e-15))  # noqa: E731
    else:
        return None

    def scores(inputs: Any) -> Any:
        values = np.asarray(decide(inputs), np.float64)
        return values.reshape(len(values), -1)[:, -n_labels:]

    return scores


def _may_change_sign(step: Any) -> bool:
    """Return whether the weights of words, which can be set, are negative."""
    idf = getattr(step, "idf_", None)
    return idf is not None and bool((np.asarray(idf) < 0).any())
