"""What a training run consists of, as sections of options that are checked before anything is read or computed."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from torch import nn

from labelproof.decisions.tuning import set_metric
from labelproof.encoders import KINDS
from labelproof.encoders.options import did_you_mean
from labelproof.foundation.engines import Engine
from labelproof.metrics import by_name
from labelproof.training import choices
from labelproof.training.config_errors import first_error, refuse_option
from labelproof.training.recipe.budget import parse_budget

__all__ = [
    "DataConfig",
    "DecisionConfig",
    "EncoderConfig",
    "HeadConfig",
    "LossConfig",
    "TrainConfig",
    "TrainerConfig",
    "implied_head",
]

PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Files = str | tuple[str, ...]

HEAD_OPTIONS = {
    "bottleneck": {"d", "bias", "start"},
    "dft": {"k", "slack", "order", "nodes", "scale", "start"},
    "code": {"k", "slack", "columns", "code", "scale", "start"},
    "gaussian": {"k", "slack", "columns", "seed", "scale", "start"},
    "harmonic": {"k", "slack", "random", "seed", "scale", "start"},
    "guaranteed": {"k", "slack", "columns", "start"},
    "linear": {"relu", "bias", "start"},
    "svm": {"C"},
    "auto": {"metric", "budget"},
}


class Section(BaseModel):
    """Options whose names are all known and whose values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Choice(BaseModel):
    """A kind with its options: ``{"kind": "focal", "gamma": 2.0}``."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)
    KINDS: ClassVar[Iterable[str]]
    option_names: ClassVar[Callable[[str], set[str]]]
    check: ClassVar[Callable[[str, dict[str, Any]], Any]]
    kind: str

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        return dict(self.model_extra or {})

    @model_validator(mode="after")
    def _exists(self) -> Self:
        if self.kind not in self.KINDS:
            refuse_option("kind", f"{self.kind!r}: {did_you_mean(self.kind, self.KINDS)}")
        known = type(self).option_names(self.kind)
        for name in self.options:
            if name not in known:
                refuse_option(name, f"for the kind {self.kind!r}: {did_you_mean(name, sorted(known))}")
        try:
            type(self).check(self.kind, self.options)
        except TypeError as error:
            raise ValueError(str(error)) from None
        return self


class DataConfig(Section):
    """Where examples come from, and which of them are held out."""

    path: Files | dict[str, Files] | None = None
    format: str | None = None
    text: str | tuple[str, ...] | None = None
    labels: str | tuple[str, ...] | None = None
    features: str | tuple[str, ...] | None = None
    image: str | None = None
    split: str | None = None
    group: str | None = None
    time: str | None = None
    separator: str | None = None
    validation: Share = 0.1
    folds: Annotated[int, Field(ge=2)] | None = None
    test: Share = 0.0
    min_count: Annotated[int, Field(ge=0)] = 1

    @property
    def reading(self) -> dict[str, Any]:
        """The keywords of `labelproof.load_dataset`."""
        return {name: value for name, value in self if name not in ("path", "validation", "folds", "test", "min_count")}


class EncoderConfig(Choice):
    """How inputs become features."""

    KINDS = KINDS
    option_names = choices.encoder_options
    check = choices.check_encoder
    kind: str = "features"


class HeadConfig(Section):
    """The output layer. An option that is None is not given; one that the kind does not have is refused."""

    kind: Literal["auto", "bottleneck", "code", "dft", "gaussian", "guaranteed", "harmonic", "linear", "svm"] = "dft"
    d: PositiveInt | None = None
    k: PositiveInt | None = None
    slack: Annotated[int, Field(ge=0)] | None = None
    order: Literal["given", "spread"] | None = None
    nodes: Literal["fast", "paper", "learned"] | None = None
    columns: PositiveInt | None = None
    code: tuple[PositiveInt, PositiveInt, PositiveInt] | None = None
    random: Annotated[int, Field(ge=0)] | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    scale: PositiveFloat | None = None
    bias: bool | None = None
    relu: bool | None = None
    start: PositiveFloat | None = None
    C: PositiveFloat | None = None
    metric: str | None = None
    budget: Annotated[float, Field(ge=0)] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        return {name: value for name, value in self if name != "kind" and value is not None}

    @field_validator("budget", mode="before")
    @classmethod
    def _budget_as_seconds(cls, value: Any) -> Any:
        return parse_budget(value) if isinstance(value, str) else value

    @field_validator("metric")
    @classmethod
    def _metric_of_sets(cls, value: str | None) -> str | None:
        if value is not None:
            set_metric(value)
        return value

    @model_validator(mode="after")
    def _known_to_the_kind(self) -> Self:
        known = HEAD_OPTIONS[self.kind]
        for name in self.options:
            if name not in known:
                refuse_option(name, f"for the kind {self.kind!r}: {did_you_mean(name, sorted(known))}")
        return self


class LossConfig(Choice):
    """What training minimises."""

    KINDS = choices.LOSSES
    option_names = choices.loss_options
    check = choices.build_loss
    kind: str = "bce"


class DecisionConfig(Choice):
    """How logits become label sets."""

    KINDS = choices.DECISIONS
    option_names = choices.decision_options
    check = choices.build_rule
    kind: str = "per-label"
    require_predictable: Annotated[float, Field(gt=0, le=1)] | None = None

    @model_validator(mode="after")
    def _has_thresholds(self) -> Self:
        if self.require_predictable is not None and self.kind not in choices.CUTS:
            raise ValueError(
                f"require_predictable moves thresholds, so kind must be one of {', '.join(choices.CUTS)}, "
                f"got {self.kind!r}"
            )
        return self


class TrainerConfig(Section):
    """How long, how fast and on what the model is trained."""

    optimizer: Literal["adamw", "lbfgs"] = "adamw"
    epochs: PositiveInt = 30
    batch_size: PositiveInt = 64
    lr: PositiveFloat = 0.003
    encoder_lr: PositiveFloat | None = None
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: Share = 0.0
    clip: PositiveFloat | None = None
    accumulate: PositiveInt = 1
    patience: PositiveInt | None = 5
    monitor: str = "loss"
    metrics: tuple[str, ...] = ("micro-f1",)
    seed: Annotated[int, Field(ge=0)] = 0
    precision: Literal["32", "64", "bf16-mixed", "16-mixed"] = "32"
    accelerator: str = "auto"
    devices: PositiveInt = 1
    num_nodes: PositiveInt = 1
    strategy: str = "auto"
    engine: Engine = "local"
    tensorboard: bool = False

    @field_validator("precision", mode="before")
    @classmethod
    def _precision_as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) else value

    @field_validator("monitor", "metrics")
    @classmethod
    def _metrics_exist(cls, value: Any) -> Any:
        for name in [value] if isinstance(value, str) else value:
            if name != "loss":
                by_name(name)
        return value


class TrainConfig(Section):
    """A whole training run.

    Parameters
    ----------
    data
        ``path``: a file, a pair of files, a folder, a name, or a mapping from parts (train, valid, test) to files; and
        what else `load_dataset` takes, such as the columns of a table. ``validation``: the share of the training
        examples that is held out where the data have no part "valid". ``test``: the same for the part "test", which
        is held out first. Where ``time`` names a column, the latest examples are held out. ``folds``: nothing is held
        out for validation; the decision rule is fitted to out-of-fold logits and the model trained on all, in as many
        epochs as there are. ``min_count``: labels with fewer training examples are left out; 0 keeps those that have
        none.
    encoder
        ``kind`` is one of `labelproof.encoders.KINDS`, such as "features" or "tfidf". Where none is named it is
        "features", or "tfidf" where the data have texts alone.
    head
        ``kind`` "guaranteed" (k, slack, columns, start): the head with the strongest guarantee that the encoder is wide
        enough for, "code" or "gaussian". By name: "code" (k, slack, columns: the most code columns, code: [q,
        coefficients, length], scale, start), "gaussian" (k, slack, columns, seed, scale, start), "harmonic" (k, slack,
        random, seed, scale, start), "dft" (k, slack, order, nodes, scale, start), "bottleneck" (d, bias, start),
        "linear" (relu, bias, start) or "svm" (C). Where k is not given it is the most active labels of a training
        example; "guaranteed" then lowers it to what fits, and warns. "svm" is a linear support vector machine for each
        label on an encoder that trains nothing: it is solved, and neither the loss nor the trainer's options matter,
        but its engine. Where C is not given the validation part chooses it. "auto" (metric, budget) is the recipe:
        views, members, blend and thresholds are chosen on out-of-fold scores of the training part, and encoder, loss,
        decision (but require_predictable) and trainer (but its seed) do not matter. Where no kind is given it is
        "auto", unless something else is given that the recipe would choose itself; then it is "dft".
    loss
        ``kind`` "bce", "focal", "asl", "apl", "hill", "splc", "zlpr", "two-way", "soft-top-k", "sigmoid-f1",
        "unbounded-f1", "confusion", "sparsemax", "entmax" or "pick-all-labels".
    decision
        ``kind`` "fixed", "global", "per-label", "threshold-averaging", "top-k", "label-count", "sparsemax-support",
        "softmax-threshold", "expected-f" or "macro-top-k". ``require_predictable``: a share of the distinct label sets
        of the training part that must be possible to predict; thresholds are moved until it is, as little as the
        proofs ask for.
    trainer
        Epochs, batches, learning rates, early stopping, seed, precision and devices. ``optimizer`` "lbfgs" is for
        linear heads on encoders that train nothing: all examples at once, the loss and ½ ``weight_decay`` times the
        squared weights, at most ``epochs`` iterations; batches, rates and patience do not matter. ``engine`` "ray":
        the labels of a head "svm" are solved on the Ray cluster that this process is connected to, or that
        RAY_ADDRESS names, with the same numbers as here.

    Examples
    --------
    >>> config = TrainConfig.from_dict({"loss": {"kind": "focal", "gamma": 1.0}, "trainer": {"epochs": 3}})
    >>> config.loss.options, config.head.kind
    ({'gamma': 1.0}, 'dft')
    >>> TrainConfig.from_dict({"data": {"path": "data.csv"}, "trainer": {"seed": 1}}).head.kind
    'auto'
    >>> TrainConfig.from_dict({"trainer": {"epoch": 3}})
    Traceback (most recent call last):
    labelproof.training.config_errors.ConfigError: trainer.epoch is unknown: did you mean epochs?
    """

    data: DataConfig = DataConfig()
    encoder: EncoderConfig = EncoderConfig()
    head: HeadConfig = HeadConfig()
    loss: LossConfig = LossConfig()
    decision: DecisionConfig = DecisionConfig()
    trainer: TrainerConfig = TrainerConfig()

    @model_validator(mode="before")
    @classmethod
    def _head_where_none_is_named(cls, values: Any) -> Any:
        head = values.get("head", {}) if isinstance(values, Mapping) else None
        if not isinstance(head, Mapping) or "kind" in head:
            return values
        return {**values, "head": {"kind": implied_head(values), **head}}

    @model_validator(mode="after")
    def _solver_fits_head(self) -> Self:
        if self.trainer.optimizer == "lbfgs" and self.head.kind != "linear":
            raise ValueError(f"trainer.optimizer lbfgs is for head.kind linear, got {self.head.kind}")
        if self.data.folds is not None and self.head.kind == "auto":
            raise ValueError("data.folds is for models that a configuration chooses: the recipe makes its own folds")
        return self

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainConfig":
        """Check nested mappings, as a YAML file gives them; what is wrong is a `ConfigError` of one sentence."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise first_error(error, cls) from None

    def to_dict(self) -> dict[str, Any]:
        """Return nested mappings that can be written as JSON or YAML; a None that is the default is left out."""
        return {name: _described(getattr(self, name)) for name in type(self).model_fields}


def implied_head(values: Mapping[str, Any]) -> str:
    """Return the kind of head of a configuration that names none: the recipe, unless it would overrule what is said."""
    head, trainer = (values[name] if isinstance(values.get(name), Mapping) else {} for name in ("head", "trainer"))
    decision = values.get("decision")
    decides = bool(set(decision) - {"require_predictable"}) if isinstance(decision, Mapping) else decision is not None
    said = decides or any(values.get(name) is not None for name in ("encoder", "loss")) or set(trainer) - {"seed"}
    return "dft" if said or set(head) - HEAD_OPTIONS["auto"] else "auto"


def _described(section: BaseModel) -> dict[str, Any]:
    """Return the options of a section but torch modules, which no file can hold.

    None is kept where it says something, such as that training never stops early.
    """
    fields = type(section).model_fields
    modules = {name for name, value in section if isinstance(value, nn.Module)}
    return {
        name: value
        for name, value in section.model_dump(mode="json", exclude=modules).items()
        if value is not None or name not in fields or fields[name].default is not None
    }
