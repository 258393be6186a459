"""What is asked of an audit, in five groups, and what verifies label sets under the answers to them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from labelproof.auditing.feature_cache import FeatureCache
from labelproof.auditing.low_precision import DTYPES
from labelproof.auditing.real_inputs import MOST_EXAMPLES
from labelproof.foundation.arguments import check_choice, check_share
from labelproof.foundation.engines import Engine, require_engine
from labelproof.importers import ImportedLayer
from labelproof.importers.assumptions import Assumptions, Reading
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import Domain, Ties
from labelproof.proof.result import Verification
from labelproof.search.verifier import verify

__all__ = ["Inputs", "Questions", "Request", "Subject", "Verifier", "Work"]


@dataclass(frozen=True, eq=False)
class Subject:
    """What is audited: which layer of the model, what its labels are called, and which label sets of the data."""

    weight_key: str | None = None
    label_names: Sequence[str] | None = None
    part: str | None = None
    drop_unknown: bool = False
    data_name: str = "the data"


@dataclass(frozen=True, eq=False)
class Inputs:
    """Real inputs, among which stretch and reach are measured: features that are given, or a model to be run."""

    features: Any = None
    calibration: Any = None
    alpha: float = 0.01
    run: bool = True
    most_inputs: int = MOST_EXAMPLES
    cache: FeatureCache | None = None


@dataclass(frozen=True, eq=False)
class Questions:
    """What to find out besides the verdicts on the data's label sets, and what is required of these."""

    pairs: int = 0
    triples: int = 0
    predicted: Any = None
    required: Any = None
    fail_under: float | None = None
    n_explained: int = 20
    radius: bool = False
    box: float = 1e4
    reach: bool = False
    serving_dtype: str | None = None


@dataclass(frozen=True, eq=False)
class Work:
    """How the work is done: on how many threads, where, for how long, and where it is kept meanwhile."""

    n_jobs: int | None = None
    engine: Engine = "local"
    keep: str | os.PathLike[str] | None = None
    time_limit: float | None = 60.0
    seed: int = 0
    progress: bool = False


@dataclass(frozen=True, eq=False)
class Request:
    """All that is asked of an audit; `labelproof.audit` says what each option means."""

    subject: Subject = field(default_factory=Subject)
    reading: Reading = field(default_factory=Reading)
    inputs: Inputs = field(default_factory=Inputs)
    questions: Questions = field(default_factory=Questions)
    work: Work = field(default_factory=Work)

    def check(self) -> None:
        """Refuse, before any work, what could not be answered."""
        require_engine(self.work.engine)
        counts = self.questions.pairs, self.questions.triples, self.questions.n_explained
        if min(counts) < 0:
            got = ", ".join(map(str, counts))
            raise ValueError(f"pairs, triples and n_explained must not be negative, got {got}")
        if self.questions.fail_under is not None:
            check_share("fail_under", self.questions.fail_under)
        if self.questions.serving_dtype is not None:
            check_choice("serving_dtype", self.questions.serving_dtype, DTYPES)


@dataclass(frozen=True, eq=False)
class Verifier:
    """Verifies label sets of one layer, always under the same assumptions; see `labelproof.verify`."""

    weight: Any
    bias: Any
    work: Work
    rule: Any = "sigmoid"
    thresholds: Any = None
    ties: Ties = "open"
    domain: Domain = None
    radius: bool = False
    box: float = 1e4

    @classmethod
    def of(cls, found: ImportedLayer, assumed: Assumptions, asked: Request) -> "Verifier":
        """Return what verifies label sets of an imported layer as it is assumed to be read."""
        return cls(
            weight=found.weight,
            bias=found.bias,
            work=asked.work,
            rule=assumed.rule,
            thresholds=assumed.thresholds,
            ties=asked.reading.ties,
            domain=assumed.domain,
            radius=asked.questions.radius,
            box=asked.questions.box,
        )

    def verify(self, sets: LabelSets | list[list[int]]) -> Verification:
        """Decide label sets, with proofs."""
        return verify(
            self.weight,
            sets,
            bias=self.bias,
            thresholds=self.thresholds,
            rule=self.rule,
            ties=self.ties,
            domain=self.domain,
            radius=self.radius,
            box=self.box,
            n_jobs=self.work.n_jobs,
            engine=self.work.engine,
            time_limit=self.work.time_limit,
            keep=self.work.keep,
            progress=self.work.progress,
        )
