"""A trained model: what it is made of, what it predicts, and the folder that it is saved in."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from torch import Tensor

from labelproof.data import Dataset
from labelproof.data.dataset import UnknownLabelError
from labelproof.decisions import Rule
from labelproof.encoders import Encoder
from labelproof.proof.domains import Domain
from labelproof.training.config import TrainConfig
from labelproof.training.data_parts import inputs_of
from labelproof.training.fitted import Fitted
from labelproof.training.heads import Head
from labelproof.training.predictability import entering_domain
from labelproof.training.scoring import batch_logits, metrics_of, to_probabilities

__all__ = ["Model", "Prediction"]


@dataclass(frozen=True)
class Prediction:
    """The labels of one example: those that the decision rule chose, and the most probable ones.

    Attributes
    ----------
    labels
        Names of the chosen labels, the most probable first.
    top
        Names and probabilities of the most probable labels, whether chosen or not.

    Examples
    --------
    >>> Prediction(labels=("cat",), top=(("cat", 0.9), ("dog", 0.2))).labels
    ('cat',)
    """

    labels: tuple[str, ...]
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model, from raw inputs to label sets.

    Parameters
    ----------
    encoder
        Raw inputs to features.
    head
        Features to logits.
    label_names
        Of the labels, in the order of the logits.
    rule
        Fitted decision rule, which decides on logits.
    config
        How the model was trained.
    metrics
        Of its validation and test data.
    rules
        Rules for other metrics, by their names; see `for_metric`.

    Examples
    --------
    >>> from labelproof.data import Dataset
    >>> from labelproof.training import fit
    >>> X = np.eye(40, 8, dtype=np.float32)
    >>> data = Dataset(X[:, :4] > 0, ("a", "b", "c", "d"), features=X)
    >>> config = TrainConfig.from_dict({"head": {"kind": "linear"}, "trainer": {"epochs": 1}})
    >>> model = Model.of(fit(config, data, progress=False))
    >>> model.logits(X).shape, model.predict(X).dtype
    ((40, 4), dtype('bool'))
    """

    encoder: Encoder
    head: Head
    label_names: tuple[str, ...]
    rule: Rule
    config: TrainConfig = field(default_factory=TrainConfig)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = tuple(self.label_names)
        object.__setattr__(self, "label_names", names)
        if len(names) != self.head.n_labels:
            raise ValueError(f"label_names must hold {self.head.n_labels} names, one per logit, got {len(names)}")
        if len(set(names)) != len(names):
            raise ValueError(f"label_names must differ, got {Counter(names).most_common(1)[0][0]!r} more than once")
        self.rule.decide(np.zeros((1, len(names)), np.float32))  # refuses a rule for another number of labels
        self.encoder.eval()
        self.head.eval()

    @classmethod
    def of(cls, trained: Any) -> "Model":
        """Return the model that training gave: what `labelproof.training.fit` returns, or a fitted estimator."""
        if isinstance(trained, Fitted):
            parts = trained.encoder, trained.head, trained.label_names, trained.rule, trained.config, trained.metrics
            return cls(*parts, trained.rules)
        if not hasattr(trained, "as_model"):
            kind = type(trained).__name__
            raise ValueError(f"trained must be what fit returns, or a MultiLabelClassifier, got {kind}")
        return trained.as_model()

    def for_metric(self, name: str) -> "Model":
        """Return the same model with the rule that serves a metric, such as "macro-f1"."""
        if name not in self.rules:
            known = ", ".join(self.rules) or "none"
            raise ValueError(
                f"metric must be one that the model has a rule for ({known}), got {name!r}: labelproof tune --model "
                "gives it one"
            )
        return replace(self, rule=self.rules[name])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.label_names)

    @property
    def weight(self) -> Tensor:
        """The output layer, (n_labels, features), for `labelproof.verify`."""
        return self.head.weight.detach()

    @property
    def bias(self) -> Tensor | None:
        """Its bias, (n_labels,), or None."""
        return None if self.head.bias is None else self.head.bias.detach()

    @property
    def domain(self) -> Domain:
        """Which features reach the output layer, for `labelproof.verify`: see `entering_domain`."""
        return entering_domain(self.encoder, self.head)

    def iter_logits(self, inputs: Any, *, batch_size: int = 256) -> Iterator[npt.NDArray[Any]]:
        """Yield the logits of inputs batch by batch, arrays (at most batch_size, n_labels)."""
        yield from batch_logits(self.encoder, self.head, self.encoder.prepare(inputs), batch_size=batch_size)

    def logits(self, inputs: Any, *, batch_size: int = 256) -> npt.NDArray[Any]:
        """Return the logits of inputs.

        Parameters
        ----------
        inputs
            What the encoder reads: an array or CSR array of features, a list of texts, or a list of image files.
        batch_size
            Examples at a time.

        Returns
        -------
        float array (n_examples, n_labels)
        """
        blocks = list(self.iter_logits(inputs, batch_size=batch_size))
        return np.concatenate(blocks) if blocks else np.zeros((0, self.n_labels), np.float32)

    def probabilities(self, inputs: Any, *, batch_size: int = 256) -> npt.NDArray[Any]:
        """Return the probability of each label, (n_examples, n_labels): see `to_probabilities`."""
        return self.to_probabilities(self.logits(inputs, batch_size=batch_size))

    def to_probabilities(self, logits: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return what the model's loss takes logits to mean; see `labelproof.training.scoring.to_probabilities`."""
        return to_probabilities(logits, self.config.loss.kind, **self.config.loss.options)

    def predict(self, inputs: Any, *, sparse: bool = False, batch_size: int = 256) -> Any:
        """Return the label sets of inputs.

        Parameters
        ----------
        inputs
            As for `logits`.
        sparse
            Return a CSR array, without ever holding all logits: for many labels.
        batch_size
            Examples at a time.

        Returns
        -------
        bool array, or scipy CSR array of bool, (n_examples, n_labels)
        """
        blocks = [self.rule.decide(z, sparse=sparse) for z in self.iter_logits(inputs, batch_size=batch_size)]
        if sparse:
            empty = scipy.sparse.csr_array((0, self.n_labels), dtype=np.bool_)
            return scipy.sparse.vstack([empty, *blocks], format="csr")
        return np.concatenate([np.zeros((0, self.n_labels), np.bool_), *blocks])

    def predict_names(self, inputs: Any, *, top: int = 0, batch_size: int = 256) -> list[Prediction]:
        """Return the label sets of inputs by name, each with its ``top`` most probable labels."""
        return [p for z in self.iter_logits(inputs, batch_size=batch_size) for p in self.describe(z, top=top)]

    def describe(self, logits: npt.NDArray[Any], *, top: int = 0) -> Iterator[Prediction]:
        """Yield the prediction of each row of logits, labels by descending probability, equal ones in their order."""
        active = self.rule.decide(logits, sparse=True)
        top = min(top, self.n_labels)
        least = np.partition(logits, -top, axis=1)[:, -top] if top else None  # of the top labels' logits
        p = self.to_probabilities(logits) if top else logits
        for i, z in enumerate(logits):
            chosen = _ranked(z, active.indices[active.indptr[i] : active.indptr[i + 1]])
            best = [] if least is None else _ranked(z, np.flatnonzero(z >= least[i]))[:top]
            yield Prediction(
                tuple(self.label_names[j] for j in chosen), tuple((self.label_names[j], float(p[i, j])) for j in best)
            )

    def evaluate(self, dataset: Dataset, *, unknown: str = "error") -> dict[str, float | None]:
        """Return the metrics of the model on examples.

        Parameters
        ----------
        dataset
            With labels by name; those of the model may be in any order.
        unknown
            What happens to a label that the model does not know: "error" names it, "drop" leaves it out.
        """
        try:
            known = dataset.restrict_to(self.label_names, unknown=unknown)
        except UnknownLabelError as error:
            raise ValueError(f"examples must have no labels but those of the model, got {error.label!r}") from error
        return metrics_of(known.labels, self.iter_logits(inputs_of(known, self.encoder.input_kind)), self.rule)

    def save(self, directory: str | Path) -> None:
        """Write the model to a folder, in one step; see `labelproof.models.directory`."""
        from labelproof.models.directory import save_model

        save_model(self, directory)


def _ranked(logits: npt.NDArray[Any], labels: npt.NDArray[Any]) -> list[int]:
    """Return these labels by descending logits."""
    return labels[np.argsort(-logits[labels], kind="stable")].tolist()
