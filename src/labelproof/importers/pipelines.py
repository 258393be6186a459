"""What the steps of a scikit-learn pipeline do to features before its last step reads them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import logit

from labelproof.importers.feature_domains import UNIT, UNKNOWN, Before
from labelproof.proof.domains import Domain

__all__ = ["features_of", "scores_of", "what_passes"]

_COUNTERS = {"CountVectorizer", "TfidfVectorizer"}
_INDICATORS = {"Binarizer", "OneHotEncoder", "MultiLabelBinarizer"}
_SELECT = {"VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe"}
_SELECT |= {"GenericUnivariateSelect", "RFE", "RFECV", "SelectFromModel"}
_SCALE = {"TfidfTransformer", "MaxAbsScaler", "Normalizer"}
_SHORT = {"l1", "l2"}  # norms that give rows of a length of at most 1


@dataclass(frozen=True)
class _Known:
    """What is certain of features: whether they are nonnegative, how long rows are at most, which step says so."""

    name: str | None = None
    is_nonnegative: bool = False
    length: float | None = None

    @property
    def domain(self) -> Domain:
        if self.length is not None:
            return ("unit" if self.is_nonnegative else "ball", self.length)
        return "nonnegative" if self.is_nonnegative else None

    @property
    def words(self) -> str:
        signed = "nonnegative" if self.is_nonnegative else ""
        short = "" if self.length is None else f"in rows of length ≤ {self.length:.4g}"
        return " and ".join(filter(None, (signed, short)))


def what_passes(steps: Sequence[Any], n_features: int) -> Before:
    """Return what is certain of features that have passed these fitted steps.

    Counts of words are nonnegative, also when they are weighted; rows that are divided by their length have length 1,
    and columns may be left out of them. A FeatureUnion puts blocks of such features side by side. Any other step may
    give anything.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    >>> what_passes([CountVectorizer()], 9).domain, what_passes([TfidfVectorizer()], 9).domain[0]
    ('nonnegative', 'unit')
    """
    if steps and type(steps[-1]).__name__ == "FeatureUnion" and _is_from_sklearn(steps[-1]):
        return _after_union(steps[-1], n_features)
    known = _after_steps(steps, n_features)
    if known.name is None:
        return UNKNOWN
    if known.domain is None:
        reason = f"The features come from {known.name}, which need not bound them, so every input is allowed."
        return Before(known.name, None, reason)
    return Before(known.name, known.domain, f"The features come from {known.name}, so they are {known.words}.")


def _after_steps(steps: Sequence[Any], n_features: int) -> _Known:
    known = _Known()
    for step in steps:
        name = type(step).__name__
        if not _is_from_sklearn(step) or _may_change_sign(step):
            known = _Known()
        elif name in _COUNTERS or name in _INDICATORS or name == "HashingVectorizer":
            is_nonnegative = name != "HashingVectorizer" or not step.alternate_sign
            known = _Known(name, is_nonnegative, UNIT if getattr(step, "norm", None) in _SHORT else None)
        elif name in _SCALE:
            known = _rescaled(known, step, n_features)
        elif name not in _SELECT:
            known = _Known(name)
    return known


def _rescaled(known: _Known, step: Any, n_features: int) -> _Known:
    """Return what is certain after a step that keeps signs and gives rows another length."""
    name = type(step).__name__
    if getattr(step, "norm", None) not in _SHORT:
        return replace(known, length=None)
    rounding = n_features * 2.0**-23 if name == "Normalizer" else 0.0  # dense rows of float32 are summed as such
    return replace(known, name=known.name or name, length=UNIT + rounding)


def _after_union(union: Any, n_features: int) -> Before:
    """Return a domain for each block of features that stand side by side."""
    blocks: list[tuple[int, Domain]] = []
    said = []
    for name, part in union.transformer_list:
        steps = [step for _, step in part.steps if step not in (None, "passthrough")] if _is_pipeline(part) else [part]
        width = _width(steps)
        share = float((union.transformer_weights or {}).get(name, 1.0))
        if width is None or not (np.isfinite(share) and share > 0):
            return Before(
                "FeatureUnion", None, "What a FeatureUnion puts together is not known, so every input is allowed."
            )
        known = _after_steps(steps, width)
        known = replace(known, length=None if known.length is None else known.length * share * UNIT)
        blocks.append((width, known.domain))
        said.append(f"{width:,} {known.words or 'of any size'}")
    if sum(width for width, _ in blocks) != n_features or all(domain is None for _, domain in blocks):
        return Before(
            "FeatureUnion", None, "What a FeatureUnion puts together is not bounded, so every input is allowed."
        )
    return Before("FeatureUnion", ("blocks", blocks), f"The features come from a FeatureUnion: {'; '.join(said)}.")


def _width(steps: Sequence[Any]) -> int | None:
    """Return how many features the last step gives, where it can be told."""
    if not steps or not _is_from_sklearn(steps[-1]):
        return None
    last: Any = steps[-1]
    if type(last).__name__ == "HashingVectorizer":
        return int(last.n_features)
    if hasattr(last, "vocabulary_"):
        return len(last.vocabulary_)
    if type(last).__name__ in _SELECT and hasattr(last, "get_support"):
        return int(np.count_nonzero(last.get_support()))
    return _width(steps[:-1]) if type(last).__name__ in _SCALE else None


def _is_from_sklearn(step: Any) -> bool:
    return type(step).__module__.startswith("sklearn.")


def _is_pipeline(step: Any) -> bool:
    return type(step).__name__ == "Pipeline" and _is_from_sklearn(step)


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
