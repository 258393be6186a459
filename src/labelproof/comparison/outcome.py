"""What a comparison finds out about one output layer."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labelproof.auditing import Audit
from labelproof.comparison.contenders import Contender
from labelproof.models import Model
from labelproof.proof.result import Verification

__all__ = ["Outcome"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """One trained model, its scores on the test data, and proofs about the label sets that occur there.

    Attributes
    ----------
    contender
        Name and head.
    model
        The trained model, with its tuned threshold.
    scores
        "micro-f1", "macro-f1" and "f1@k" of the test part.
    k
        The k of F1@k: the mean number of labels of a training example, rounded.
    audit
        Proofs for the distinct label sets of the test part under the rule that the model decides with.
    at_half
        Verdicts on the same sets where labels are active at a probability over ½.
    at_random
        Verdicts on random label sets, all of one size, under the model's own rule.
    epochs, train_seconds, verify_seconds
        What it took; verifying is that under the tuned threshold.

    Examples
    --------
    >>> from labelproof.comparison import compare, four_heads, recipe
    >>> from labelproof.data import topic_data
    >>> data = topic_data(200, 12, 60, cardinality=2.0)
    >>> outcome = next(compare(recipe(data, epochs=1), data, four_heads(data.labels, 2)))
    >>> outcome.name, outcome.n_features, outcome.n_labels
    ('narrow', 2, 12)
    """

    contender: Contender
    model: Model = field(repr=False)
    scores: dict[str, float]
    k: int
    audit: Audit = field(repr=False)
    at_half: Verification = field(repr=False)
    at_random: Verification = field(repr=False)
    epochs: int
    train_seconds: float
    verify_seconds: float

    @property
    def name(self) -> str:
        """The head's name."""
        return self.contender.name

    @property
    def verification(self) -> Verification:
        """Verdicts with proofs, under the rule that the model decides with."""
        return self.audit.verifications["data"]

    @property
    def n_features(self) -> int:
        """Number of features of the output layer."""
        return int(self.model.weight.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.model.weight.shape[0])

    @property
    def head_parameters(self) -> int:
        """Number of trained parameters of the head; the encoder's are the same for all heads of a comparison."""
        return sum(parameter.numel() for parameter in self.model.head.parameters() if parameter.requires_grad)

    @property
    def n_sets(self) -> int:
        """Number of distinct label sets that were verified."""
        return len(self.verification)

    @property
    def argmaxable(self) -> int:
        """How many of them are proven argmaxable."""
        return int((self.verification.status == 1).sum())

    @property
    def unargmaxable(self) -> int:
        """How many of them are proven never to be predicted."""
        return int((self.verification.status == 0).sum())

    @property
    def undecided(self) -> int:
        """How many have no proof either way."""
        return self.n_sets - self.argmaxable - self.unargmaxable

    @property
    def random_size(self) -> int:
        """Number of labels of each random set."""
        return len(self.at_random.label_sets[0])

    @property
    def smallest_margin(self) -> float | None:
        """The smallest margin of a witness that was found; None where no set is argmaxable."""
        margins = self.verification.margin
        return None if np.isnan(margins).all() else float(np.nanmin(margins))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, as JSON has them."""
        return {
            "name": self.name,
            "head": {"kind": self.contender.head.kind, **self.contender.head.options},
            "features": self.n_features,
            "head_parameters": self.head_parameters,
            f"f1@{self.k}": self.scores[f"f1@{self.k}"],
            "micro_f1": self.scores["micro-f1"],
            "macro_f1": self.scores["macro-f1"],
            "sets": self.n_sets,
            "argmaxable": self.argmaxable,
            "unargmaxable": self.unargmaxable,
            "undecided": self.undecided,
            "argmaxable_at_half": int((self.at_half.status == 1).sum()),
            "random_sets": len(self.at_random),
            "random_set_size": self.random_size,
            "random_sets_argmaxable": int((self.at_random.status == 1).sum()),
            "smallest_margin": self.smallest_margin,
            "epochs": self.epochs,
            "train_seconds": round(self.train_seconds, 3),
            "verify_seconds": round(self.verify_seconds, 3),
        }
