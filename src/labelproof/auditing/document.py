"""The audit as a document: what audit.json holds, and all that the report is made from.

Labels are numbers from 0, in the order of ``label_names``. Lists about label sets are parallel: entry i is about set i.
A number that is not known is None.

What a page says first, in this order: ``headline``; ``stretch`` with its bar, the share of examples beyond it and at
most three instructive examples, then its pairs apart and its dead labels; ``outside``, sets that the model has no
output for; ``advice``; ``not_tested``, each with the command that tests it. ``stretch`` is None where no features were
given; the stretch of every set stands in the group "data".
"""

from typing import TypedDict

__all__ = [
    "CHECK_COMMAND",
    "CHECK_PAIRS",
    "CHECK_REACH",
    "CHECK_STRETCH",
    "FORMAT",
    "VERSION",
    "AuditDocument",
    "Bar",
    "BySize",
    "ConflictLabel",
    "Data",
    "Dead",
    "Explained",
    "Group",
    "Instructive",
    "LayerFacts",
    "NotTested",
    "Outside",
    "PairApart",
    "Reach",
    "Recommendation",
    "Requirements",
    "Serving",
    "StretchFacts",
]

FORMAT = "labelproof-audit"
VERSION = 2  # 1 had no stretch, and is still read
CHECK_COMMAND = "labelproof check proofs-data.npz --weights layer.npz"
"""Proves the verdicts on the data again, in the folder of an audit."""
CHECK_STRETCH = "labelproof check stretch.npz --weights layer.npz --features features.npy"
"""Proves the stretch again, in the folder of an audit that kept the features."""

CHECK_PAIRS = CHECK_STRETCH.replace("stretch.npz", "pairs.npz")
"""The same for pairs of labels."""
CHECK_REACH = CHECK_STRETCH.replace("stretch.npz", "reach.npz")
"""The same for the reach."""


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
    stretch_lower: list[float | None] | None  # proven; None is infinite: no inflation of the examples gives the set
    stretch_upper: list[float | None] | None  # proven; None where no mixture was found
    beyond: list[bool] | None  # whether the set lies beyond the bar, for certain; None without a bar
    reach: list[float | None] | None  # proven: at this distance in units of the spread the set is predicted
    reach_lower: list[float | None] | None  # proven
    reach_share: list[float | None] | None  # proven: at most this share of the examples' own distribution gets the set
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


class Bar(TypedDict):
    """A value beyond which, with 95 % confidence, at most a share alpha of the model's predictions lie."""

    value: float | None  # None: infinite, so that nothing lies beyond
    alpha: float
    confidence: float
    n: int  # held-out inputs that it is from
    rank: int  # how many of their predictions may lie beyond
    sha256: str  # of their features
    statement: str  # what it says, and no more
    assumption: str  # under which conditions


class Instructive(TypedDict):
    """A label set far from everything that the model has seen, and the labels that contradict each other there."""

    index: int  # of the set in the group "data"
    labels: list[int]
    examples: int  # that have it
    lower: float | None  # proven stretch; None is infinite
    on: list[int]  # labels that contradict each other: those that the set has
    off: list[int]  # and those it has not
    shares: list[float]  # how hard each of on + off pulls, adding up to 1
    row: int | None  # one example with this set, its row in the data
    text: str | None  # its first words
    predicted: list[int] | None  # what the model predicts for it
    sentence: str  # all of it in words


class PairApart(TypedDict):
    """Two labels that occur together, and that no mixture of the examples switches on together."""

    labels: list[int]
    examples: int  # that have both
    lower: float | None  # proven stretch, over 1; None is infinite


class Dead(TypedDict):
    """A label that is predicted for none of the inputs."""

    label: int
    examples: int  # that have it
    reason: str  # what is proven, in words; empty where nothing is


class StretchFacts(TypedDict):
    """How far beyond all mixtures of real inputs the data's label sets lie: what an audit says first of a wide model.

    The stretch of each set stands in the group "data".
    """

    examples: int  # inputs whose mixtures it is measured by
    source: str  # where they are from, in words
    sha256: str  # of their features
    held_out: str | None  # where the inputs of the bar are from, in words
    bar: Bar | None
    beyond_sets: int  # of the data, beyond the bar (without one: beyond all mixtures, a stretch over 1)
    beyond_examples: int
    all_examples: int  # whose label sets were judged
    exact_beyond: int | None  # of beyond_examples outside of the training part, how many the model predicts exactly
    exact: int | None  # of all of them outside of it
    predicted: int | None  # how many of these the model made a prediction for
    instructive: list[Instructive]  # at most three
    n_pairs: int | None  # that occur in the data; None where the rule has no pairs
    n_apart: int | None
    pairs: list[PairApart]  # the most frequent of those apart
    n_dead: int | None  # labels of the model that are never predicted
    n_dead_true: int | None  # of those, the ones that some example has
    dead: list[Dead]  # those that the most examples have
    inputs: int  # for which labels were predicted or not
    narrow: list[int]  # features that hardly vary, which are held within their range
    check_command: str
    check_pairs: str | None  # the same for pairs of labels


class Unknown(TypedDict):
    """A label of the data that the model does not know."""

    name: str
    examples: int


class Outside(TypedDict):
    """Label sets of the data that the model has no output for; they stand in no group, and count as unpredictable."""

    sets: int
    examples: int
    reason: str  # in a sentence
    unknown: list[Unknown]  # labels that the model does not know, the most frequent first
    sizes: int  # sets that have another number of labels than every output of the model
    frequent: list[list[str]]  # some of them, by names, the most frequent first


class NotTested(TypedDict):
    """What the audit does not tell, and the command that would."""

    what: str
    command: str


class Reach(TypedDict):
    """Distances of the data's own features from their mean, in whitened units."""

    bar: Bar | None
    beyond_bar: int | None  # sets of the data that lie beyond it, for certain
    examples: int
    quantiles: list[list[float]]  # [[0.5, 7.9], [0.99, 11.2], [1.0, 14.0]]
    within: int  # argmaxable sets of the data that are reached within the largest distance that occurs, for certain
    beyond: int  # that are not, for certain
    check_command: str


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
    share: float  # argmaxable share of the data's distinct sets, those outside included
    failed: list[int]  # places in the group "required" that are not proven argmaxable


class AuditDocument(TypedDict):
    """All of an audit but the proofs themselves.

    Examples
    --------
    >>> import labelproof as lp
    >>> document: AuditDocument = lp.audit([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0], [0, 1, 2]]).document
    >>> document["data"]["distinct"], document["groups"][0]["status"]
    (2, [1, 0])
    """

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
    stretch: StretchFacts | None
    outside: Outside | None
    not_tested: list[NotTested]
    reach: Reach | None
    serving: Serving | None
    advice: list[Recommendation]
    requirements: Requirements | None
    check_command: str
    seconds: float
