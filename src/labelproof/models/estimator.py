"""A scikit-learn estimator: the recipe on texts or features, or a head, loss and decision rule of one's choice."""

import copyreg
import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from labelproof.data import Dataset
from labelproof.decisions import Rule, Threshold
from labelproof.encoders.texts import read_texts
from labelproof.models.estimator_config import as_section, config_of
from labelproof.models.estimator_folder import read_estimator, write_estimator
from labelproof.models.model import Model
from labelproof.training.batches import Examples
from labelproof.training.choices import build_rule
from labelproof.training.fitted import Fitted
from labelproof.training.fitting import build_module, fit
from labelproof.training.loop import train
from labelproof.training.module import TrainingModule
from labelproof.training.recipe.deciding import rule_for
from labelproof.training.scoring import batch_logits, to_probabilities
from labelproof.training.targets import Classes, LabelSets, as_array, label_names, read_targets

__all__ = ["MultiLabelClassifier"]


def _trains_in_epochs(estimator: "MultiLabelClassifier") -> bool:
    if estimator.head in ("auto", "svm"):
        raise AttributeError(f"partial_fit needs a head that is trained in epochs, got {estimator.head!r}")
    return True


class MultiLabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A multi-label classifier on texts, or on dense or sparse features.

    Without options it is the recipe of ``labelproof train --data``: views, members, blend, calibration and thresholds
    are chosen on out-of-fold scores. With another head, thresholds are fitted on a share of the training data that the
    weights never see.

    Parameters
    ----------
    head : {"auto", "guaranteed", "code", "gaussian", "harmonic", "dft", "bottleneck", "linear", "svm"}
        "auto" is the recipe, for which only ``metric``, ``budget``, ``random_state`` and ``verbose`` count. The others
        are output layers on the features of X: "guaranteed" can predict every set of up to k labels by proof for the
        stored numbers, and is "code" or "gaussian", whichever X has enough features for; "harmonic" and "dft" can over
        the real numbers.
    k : int, optional
        Of heads with a guarantee: most active labels that must be predictable together. None: the most active labels in
        Y; "guaranteed" then lowers it to what fits, and warns.
    slack : int
        Of heads with a guarantee: learnable columns.
    loss : str or dict
        "bce", "focal", "asl", "sigmoid-f1", "sparsemax" ..., or ``{"kind": "focal", "gamma": 1.0}``.
    decision : str or dict
        "per-label", "global", "fixed", "top-k" ..., or ``{"kind": "global", "metric": "macro-f1"}``.
    random_state : int, RandomState or None
        Of the weights, the order of examples and the choice of held-out ones; a number is ``labelproof train --seed``.
    d : int, optional
        Of the bottleneck head: features that labels share; by default 100, or as many as there are labels.
    hidden : int, optional
        Width of a hidden layer with ReLU before the head.
    epochs, batch_size, lr, weight_decay
        Of the training, by AdamW.
    validation_fraction : float
        Share of the training data that is held out to stop early and to fit thresholds.
    patience : int, optional
        Epochs without improvement after which training stops; None never stops early.
    monitor : str
        "loss", or the name of a metric, that says which epoch is best.
    verbose : bool
        Say on standard error what is done.
    metric : str
        Of "auto": the metric of label sets that thresholds serve.
    budget : float or str, optional
        Of "auto": seconds, or a time such as "10m", or "fast" for a plain grid of support vector machines; by default
        about ten times what that takes.

    Attributes
    ----------
    classes_ : ndarray
        The classes of a 1-D y; 0, 1, ..., n_labels - 1 for label sets.
    encoder_, head_ : torch modules
        Features to logits.
    rule_ : labelproof.decisions.Rule
        Logits to label sets.
    rules_ : dict of rules
        Of "auto": rules for other metrics, by their names.
    label_names_ : tuple of str
        The columns of Y where it was a data frame, else the numbers of labels, or the classes.
    history_ : list of dict
        The values of every epoch.
    n_features_in_ : int

    Notes
    -----
    Label sets are given and answered as (n, n_labels) arrays of 0 and 1, or as CSR where Y was sparse. A 1-D y of
    classes is answered in its own shape: the class with the largest logit.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> Y = (X[:, :4] > 0.5).astype(int)
    >>> clf = MultiLabelClassifier(head="linear", random_state=0).fit(X, Y)
    >>> clf.predict(X[:2]).shape, clf.predict_proba(X[:2]).shape, clf.score(X, Y) > 0.5
    ((2, 4), (2, 4), True)
    """

    def __init__(
        self,
        head: str = "auto",
        k: int | None = None,
        slack: int = 50,
        loss: str | Mapping[str, Any] = "bce",
        decision: str | Mapping[str, Any] = "per-label",
        random_state: Any = None,
        *,
        d: int | None = None,
        hidden: int | None = None,
        epochs: int = 50,
        batch_size: int = 64,
        lr: float = 0.01,
        weight_decay: float = 0.0,
        validation_fraction: float = 0.1,
        patience: int | None = 5,
        monitor: str = "loss",
        verbose: bool = False,
        metric: str = "micro-f1",
        budget: float | str | None = None,
    ) -> None:
        self.head = head
        self.k = k
        self.slack = slack
        self.loss = loss
        self.decision = decision
        self.random_state = random_state
        self.d = d
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.monitor = monitor
        self.verbose = verbose
        self.metric = metric
        self.budget = budget

    def fit(self, X: Any, y: Any) -> Self:
        """Train on examples.

        Parameters
        ----------
        X : array or sparse matrix (n_examples, n_features), or with head="auto" a list of texts
        y : array or sparse matrix (n_examples, n_labels) of 0 and 1, or array of classes (n_examples,)

        Returns
        -------
        the estimator itself
        """
        columns = getattr(y, "columns", None)
        X, y = self._validated(X, y, reset=True)
        scheme = read_targets(y)
        names = label_names(scheme, columns)
        config = config_of(self, scheme, self._seed())
        self._keep(scheme, fit(config, _dataset(X, scheme.labels(y), names), progress=self.verbose))
        self._module: TrainingModule | None = None
        return self

    @available_if(_trains_in_epochs)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train one epoch more, on these examples; the first call begins a new model, also after `fit`.

        Heads that are solved or chosen, "svm" and "auto", do not have it.

        Nothing is held out, so that the decision rule cannot be fitted: labels are active at probability ½ until
        `tune` is called.

        Parameters
        ----------
        X, y
            As for `fit`. With k=None, the first call's labels say what k is.
        classes : array of classes, optional
            All classes of a 1-D y, at the first call; not used for label sets.

        Returns
        -------
        the estimator itself
        """
        module: TrainingModule | None = getattr(self, "_module", None)
        X, y = self._validated(X, y, reset=module is None)
        module = self._start(X, y, classes) if module is None else module
        config = module.config.model_copy(update={"seed": module.config.seed + self.n_iter_})
        examples = Examples(self.encoder_, self.encoder_.prepare(X), self._scheme.labels(y))
        rows = train(module, examples, None, config, progress=self.verbose)
        self.n_iter_ += 1
        self.history_.append({**rows[0], "epoch": self.n_iter_})
        return self

    def tune(self, X: Any, y: Any) -> Self:
        """Fit the decision rule, and nothing else, to examples that the model was not trained on.

        Parameters
        ----------
        X, y
            As for `fit`, with label sets.

        Returns
        -------
        the estimator itself
        """
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        if isinstance(self._scheme, Classes):
            raise ValueError("tune needs label sets of shape (n_examples, n_labels), got a model of classes")
        labels = self._scheme.labels(y)
        if self.head == "auto":
            rule = rule_for(self.metric)
            self.rules_[self.metric] = rule
        else:
            decision = config_of(self, self._scheme, seed=0).decision
            rule = build_rule(decision.kind, decision.options, cardinality=labels.nnz / labels.shape[0])
        self.rule_ = rule.fit(labels, self._logits(X))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator to a folder, in one step: the model folder of ``labelproof train``, without pickles.

        Every verb that takes a model, and `labelproof.load_model`, read it too.
        """
        check_is_fitted(self)
        write_estimator(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an estimator from a folder that `save` or ``labelproof train`` wrote."""
        params, scheme, fitted, seen = read_estimator(path)
        estimator = cls(**params)
        estimator._keep(scheme, fitted)
        estimator._module = None
        for name, value in seen.items():
            setattr(estimator, name, value)
        return estimator

    def as_model(self) -> Model:
        """Return what was trained as a `labelproof.models.Model`, which predicts labels by name."""
        check_is_fitted(self)
        return Model.of(replace(self._fitted, rule=self.rule_, rules=self.rules_))

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Return the logits (n_examples, n_labels), or (n_examples,) for two classes."""
        return self._scheme_of().scores(self._logits(self._read(X)))

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """Return the probability of each label (n_examples, n_labels); of classes, rows that add up to 1."""
        scheme = self._scheme_of()
        return scheme.probabilities(to_probabilities(self._logits(self._read(X)), **as_section(self.loss)))

    def predict(self, X: Any) -> Any:
        """Return label sets (n_examples, n_labels) of 0 and 1, CSR where Y was sparse; or classes (n_examples,)."""
        scheme = self._scheme_of()
        blocks = [
            scheme.predict(logits, self.rule_) for logits in self._blocks(self._read(X))
        ]  # of sets, not of logits
        return scipy.sparse.vstack(blocks, format="csr") if scipy.sparse.issparse(blocks[0]) else np.concatenate(blocks)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        """Refuse skops, which alone asks for this: it would write torch's weights and could not read them."""
        if hasattr(self, "encoder_"):
            raise TypeError("skops cannot hold a fitted MultiLabelClassifier: use save(path) and load(path) of its own")
        return self.__reduce_ex__(2)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.head == "auto"
        return tags

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        y = as_array(y)
        if self.head == "auto" and _are_texts(X):
            check_consistent_length(X, y)
            return read_texts(X), y
        return validate_data(self, X, y, reset=reset, multi_output=True, **self._accepted())

    def _read(self, X: Any) -> Any:
        if self.head == "auto" and _are_texts(X):
            return read_texts(X)
        return validate_data(self, X, reset=False, **self._accepted())

    def _accepted(self) -> dict[str, Any]:
        finite: Any = "allow-nan" if self.head == "auto" else True
        return {"accept_sparse": "csr", "dtype": [np.float32, np.float64], "ensure_all_finite": finite}

    def _scheme_of(self) -> LabelSets | Classes:
        check_is_fitted(self)
        return self._scheme

    def _logits(self, X: Any) -> npt.NDArray[Any]:
        return np.concatenate(list(self._blocks(X)))

    def _blocks(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the logits in the precision of X: float32 rounds differently at different places of a batch."""
        encoder, head = self.encoder_, self.head_
        if self.head != "auto" and X.dtype == np.float64:
            encoder, head = deepcopy(encoder).double(), deepcopy(head).double()
        yield from batch_logits(encoder, head, encoder.prepare(X))

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            check_random_state(self.random_state)  # refuses numbers that cannot be a seed
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _start(self, X: Any, y: Any, classes: Any) -> TrainingModule:
        """Make a model with untrained weights, for `partial_fit`."""
        scheme = read_targets(y, classes=classes)
        names = label_names(scheme, None)
        config = config_of(self, scheme, self._seed())
        config = config.model_copy(update={"trainer": config.trainer.model_copy(update={"epochs": 1})})
        with torch.random.fork_rng():
            torch.manual_seed(config.trainer.seed)
            module, config = build_module(config, _dataset(X, scheme.labels(y), names))
        module.keeps_optimizer = True
        at_half = Threshold(0.0, scores="logits")
        self._keep(scheme, Fitted(module.encoder, module.head, names, at_half, config, [], {}))
        self._module = module
        return module

    def _keep(self, scheme: LabelSets | Classes, fitted: Fitted) -> None:
        self._scheme, self.classes_, self.label_names_ = scheme, scheme.classes, fitted.label_names
        self.encoder_, self.head_, self.rule_ = fitted.encoder, fitted.head, fitted.rule
        self.rules_: dict[str, Rule] = dict(fitted.rules)
        self.history_, self.n_iter_ = fitted.history, len(fitted.history)
        self._fitted = fitted


def _dataset(X: Any, labels: Any, names: tuple[str, ...]) -> Dataset:
    return Dataset(labels, names, texts=tuple(X)) if isinstance(X, list | tuple) else Dataset(labels, names, features=X)


def _are_texts(X: Any) -> bool:
    return (isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1) and len(X) > 0 and isinstance(next(iter(X)), str)
