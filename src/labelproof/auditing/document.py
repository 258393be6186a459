"""The audit as a document: what audit.json holds, and all that the report is made from.

Labels are numbers from 0, in the order of ``label_names``. Lists about label sets are parallel: entry i is about set i.
A number that is not known is None.
"""

from typing import TypedDict

__all__ = [
    "CHECK_COMMAND",
    "FORMAT",
    "VERSION",
    "AuditDocument",
    "BySize",
    "ConflictLabel",
    "Data",
    "Explained",
    "Group",
    "LayerFacts",
    "Nearest",
    "Reach",
    "Recommendation",
    "Requirements",
    "Serving",
]

FORMAT = "labelproof-audit"
VERSION = 1
CHECK_COMMAND = "labelproof check proofs-data.npz --weights layer.npz"
"""Proves the verdicts on the data again, in the folder of an audit."""


class LayerFacts(TypedDict):
    """Which layer was audited, and under which assumptions; texts are sentences or names for people."""

    model: str  # "my-classifier"
    kind: str  # "Hugging Face folder"
    source: str  # "classifier.weight of model.safetensors"
    n_labels: int
    n_features: int
    dtype: str
    rank: int | None  # proven, None where its bounds differ
    rank_at_least: int
    bias: bool
    before: str | None
    domain: str  # "every input", "nonnegative inputs", "inputs within [-1, 1]"
    domain_reason: str
    rule: str  # "sigmoid", "topk", "sparsemax"
    ties: str
    thresholds: str  # "½", "0.3", "one for each label"
    sha256: str  # of the weights, as the proofs name them
    always_active: list[int]  # labels whose logit is a constant above the threshold
    never_active: list[int]
    notes: list[str]  # what else is worth knowing about how the layer was read


class Data(TypedDict):
    """The examples whose label sets were audited."""

    name: str
    examples: int
    distinct: int
    cardinality: float  # mean number of active labels of an example
    largest: int  # active labels of the largest set


class BySize(TypedDict):
    """Verdicts on the sets of one number of active labels."""

    size: int
    sets: int
    examples: int
    argmaxable: int
    unargmaxable: int
    undecided: int
    argmaxable_examples: int


class Group(TypedDict):
    """Label sets that were asked about together: those of the data, all pairs, requirements, predictions."""

    name: str  # "data", "pairs", "triples", "required", "predicted"
    title: str  # "Label sets of the data"
    population: int | None  # how many sets there are, where only a sample of them was verified
    low: float | None  # 95% interval of the argmaxable share of that population
    high: float | None
    labels: list[list[int]]  # active labels of each set
    counts: list[int]  # how many examples have it
    status: list[int]  # 1 argmaxable, 0 unargmaxable, -1 undecided
    margin: list[float | None]
    radius: list[float | None] | None
    reach: list[float | None] | None  # smallest whitened distance at which the set is predicted
    survives: list[bool | None] | None  # whether a witness was found that holds in the arithmetic of serving
    conflict_size: list[int | None]  # labels of the conflict
    names: list[str] | None  # of requirements
    by_size: list[BySize]
    argmaxable: int
    unargmaxable: int
    undecided: int
    examples: int
    argmaxable_examples: int


class Nearest(TypedDict):
    """A label set that can be predicted, and how it differs from the explained one."""

    added: list[int]
    removed: list[int]
    is_minimal: bool


class Explained(TypedDict):
    """Why one label set cannot be predicted."""

    group: str
    index: int  # of the set in its group
    labels: list[int]
    examples: int
    on: list[int]  # labels of the conflict that the set has
    off: list[int]  # those it has not
    extra: list[str]  # rows of the system that are no labels: "scale", "low[3]"
    shares: list[float]  # how hard each label of on + off pulls, adding up to 1; empty where that was not computed
    irreducible: bool | None
    sentences: list[str]  # the explanation in words
    nearest: list[Nearest]
    least_distance: int | None


class ConflictLabel(TypedDict):
    """How often a label takes part in the conflicts of the data's unargmaxable sets."""

    label: int
    sets: int
    examples: int


class Reach(TypedDict):
    """Distances of the data's own features from their mean, in whitened units."""

    examples: int
    quantiles: list[list[float]]  # [[0.5, 7.9], [0.99, 11.2], [1.0, 14.0]]
    within: int  # argmaxable sets of the data that are reached within the largest distance that occurs
    beyond: int


class Serving(TypedDict):
    """Which sets are lost when logits are computed in the numbers that serving uses."""

    dtype: str
    checked: int
    survive: int
    not_shown: int  # no witness was found that provably survives rounding


class Recommendation(TypedDict):
    """What would help, in words; an estimate says that it is one."""

    title: str
    text: str


class Requirements(TypedDict):
    """What was required of the model, and whether it holds."""

    passed: bool
    fail_under: float | None
    share: float  # argmaxable share of the data's distinct sets
    failed: list[int]  # places in the group "required" that are not proven argmaxable


class AuditDocument(TypedDict):
    """All of an audit but the proofs themselves."""

    format: str
    version: int
    labelproof: str
    headline: str
    layer: LayerFacts
    label_names: list[str]
    data: Data
    groups: list[Group]  # the first is that of the data
    explained: list[Explained]
    conflict_labels: list[ConflictLabel]
    reach: Reach | None
    serving: Serving | None
    advice: list[Recommendation]
    requirements: Requirements | None
    check_command: str
    seconds: float
