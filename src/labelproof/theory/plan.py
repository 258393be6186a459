"""How many features an output layer needs for the label sets of a data set, before anything is trained."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.progress import progress_bar
from labelproof.proof.labels import LabelSets
from labelproof.search.verifier import verify
from labelproof.theory.codes import choose_code
from labelproof.theory.counting import log10_argmaxable_fraction
from labelproof.theory.cyclic import circular_alternations, read_sets
from labelproof.theory.gaussian import spare_columns

__all__ = ["TRAINED_ERROR", "TRAINED_FACTOR", "WIDTHS", "Plan", "plan", "trained_width", "wilson_interval"]

WIDTHS = (2, 4, 8, 16, 25, 32, 50, 64, 100, 128, 200, 256, 400, 512, 768, 1024)
"""The numbers of features that `plan` looks at, as far as they are below the number of labels."""

TRAINED_FACTOR, TRAINED_ERROR = 0.61, 1.4
"""The rule of `trained_width` and the factor by which it errs, fitted by ``experiments.sigmoid_bottleneck``."""


@dataclass(frozen=True)
class Width:
    """What a head with d features and a bias can predict.

    Attributes
    ----------
    log10_fraction
        Logarithm of the share of all 2^n label sets, for weights in general position.
    predicted
        How many of the sampled label sets a random head could predict; None where that was not measured.
    low, high
        95% interval for the share of the data's distinct label sets that this head could predict; one number if
        all of them were verified.
    """

    d: int
    log10_fraction: float
    predicted: int | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Plan:
    """What a data set's label sets ask of an output layer.

    Attributes
    ----------
    n_labels, n_sets, n_distinct
        Numbers of labels, of label sets, and of different ones among these.
    k
        The most active labels in one set.
    cardinality
        The mean number of active labels.
    alternations
        Minimum, median, 90th percentile and maximum of the sign changes around the circle of labels.
    dft_width
        Features of a DFT head that can predict every set of up to k labels.
    code_width, gaussian_width
        Features of heads that can do so with the stored numbers, a code head and one of normal columns; the latter for
        all but one in a million seeds. None where there are no more labels than active ones.
    seen_width
        Features of a DFT head that can predict the label sets of this data set, with the labels in this order.
    trained_width
        About how many features a trained plain head needs for 99 of 100 of these label sets, by a rule that was fitted
        to other data sets; see `trained_width`.
    random_width
        The smallest width at which a random head could predict every sampled label set, None if none could.
    n_sampled, seed
        How many distinct label sets were verified for each width, and the seed by which they and the heads were drawn.
    widths
        What a random head of each width could predict, from narrow to wide.

    Examples
    --------
    >>> found = plan([[0, 1], [2], [0, 3]], n_labels=5)
    >>> found.k, found.n_distinct, found.dft_width
    (2, 3, 5)
    """

    n_labels: int
    n_sets: int
    n_distinct: int
    k: int
    cardinality: float
    alternations: tuple[int, int, int, int]
    dft_width: int
    code_width: int
    gaussian_width: int | None
    seen_width: int
    trained_width: int
    random_width: int | None
    n_sampled: int
    seed: int
    widths: tuple[Width, ...]

    @property
    def recommendation(self) -> str:
        """Say in words which widths would do, and how far to trust that."""
        sampled = f"all {self.n_sampled:,} label sets " + (
            "sampled" if self.n_sampled < self.n_distinct else "there are"
        )
        if self.random_width is None:
            random = f"No random head of up to {self.widths[-1].d} features could predict {sampled}."
        else:
            random = f"A random head with a bias needs about {self.random_width} features to predict {sampled}."
        return (
            f"{random} This is an estimate from one random matrix: training moves it, so verify the trained weights. "
            f"By a rule from other data sets, which was off by a factor of {TRAINED_ERROR}, a trained head needs about "
            f"{self.trained_width} for 99 of 100 label sets. "
            f"A DFT head of {self.dft_width} features can predict every set of up to {self.k} labels, "
            f"in the data or not; that is a theorem about exact numbers, so verify the stored ones. {self._stored}"
        )

    @property
    def _stored(self) -> str:
        """Say what it takes for the numbers as they are stored."""
        text = f"For the numbers as they are stored that takes a code head of {self.code_width} features"
        if self.gaussian_width is None or self.gaussian_width >= self.code_width:
            return f"{text}."
        return f"{text}, or normal columns in {self.gaussian_width}, for all but one in a million seeds."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists."""
        return {**asdict(self), "recommendation": self.recommendation}


def plan(
    labels: Any,
    n_labels: int | None = None,
    *,
    n_sample: int = 200,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Plan:
    """Measure how many features an output layer needs for these label sets.

    A random head has Gaussian weights and the same negative bias for every label: without a bias it could not even
    switch all labels off until it has about half as many features as labels. Its first d columns are the head of
    width d, so that a label set predictable at one width stays so at all larger ones.

    Parameters
    ----------
    labels
        Label sets (n_sets, n_labels), as for `verify`.
    n_labels
        Number of labels; needed for lists of indices only.
    n_sample
        How many of the distinct label sets to verify for each width, drawn at random.
    seed
        Seed of the sample and of the random head.
    n_jobs, progress
        As for `verify`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> p = plan([[0, 1], [4], [2, 3, 7], [4]], n_labels=12)
    >>> p.n_distinct, p.k, p.dft_width
    (3, 3, 7)
    """
    sets = _read(labels, n_labels)
    if n_sample < 1:
        raise ValueError(f"n_sample must be a positive number of label sets, got {n_sample}")
    distinct = sets.take(sorted({active.tobytes(): i for i, active in enumerate(sets)}.values()))
    rng = np.random.default_rng(seed)
    n_sampled = min(n_sample, len(distinct))
    sample = distinct.take(np.sort(rng.choice(len(distinct), n_sampled, replace=False)).tolist())
    sizes = np.diff(sets.indptr)
    changes = circular_alternations(sets)
    k = int(sizes.max())
    widths = _measure(sample, seed, whole=n_sampled == len(distinct), n_jobs=n_jobs, progress=progress)
    return Plan(
        n_labels=sets.n_labels,
        n_sets=len(sets),
        n_distinct=len(distinct),
        k=k,
        cardinality=float(sizes.mean()),
        alternations=_summary(changes),
        dft_width=min(2 * k + 1, sets.n_labels),
        code_width=choose_code(sets.n_labels, max(k, 1)).columns + 1,
        gaussian_width=spare_columns(sets.n_labels, max(k, 1)) + 1 if k < sets.n_labels > 1 else None,
        seen_width=min(int(changes.max()) + 1, sets.n_labels),
        trained_width=trained_width(sets.n_labels, int(np.quantile(sizes, 0.99, method="higher"))),
        random_width=next((width.d for width in widths if width.predicted == n_sampled), None),
        n_sampled=n_sampled,
        seed=seed,
        widths=widths,
    )


def trained_width(n_labels: int, k: int) -> int:
    """Estimate how many features a trained plain head needs to be able to predict nearly all sets of a data set.

    The rule, c · k · ln(e n / k) features, was fitted to the widths that trained heads needed for 99 of 100 test sets.

    Parameters
    ----------
    n_labels
        Number of labels n.
    k
        The number of active labels that 99 of 100 sets do not exceed.

    Examples
    --------
    >>> trained_width(10, 10), trained_width(1000, 0)
    (7, 1)
    """
    if not 0 <= k <= n_labels or n_labels < 1:
        raise ValueError(f"k must be a number of active labels from 0 to {n_labels}, got {k}")
    if k == 0:
        return 1
    return min(n_labels, math.ceil(TRAINED_FACTOR * k * math.log(math.e * n_labels / k)))


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95% interval for a share, from this many successes in so many trials.

    Examples
    --------
    >>> low, high = wilson_interval(200, 200)
    >>> round(low, 3), round(high, 3)
    (0.981, 1.0)
    """
    z = 1.959963984540054
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * float(np.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else (centre - spread) / scale
    return low, 1.0 if successes == trials else (centre + spread) / scale


def _read(labels: Any, n_labels: int | None) -> LabelSets:
    sets = read_sets(labels, n_labels)
    if not len(sets):
        raise ValueError("labels must hold at least one set, got none")
    return sets


def _summary(changes: npt.NDArray[np.int64]) -> tuple[int, int, int, int]:
    least, median, most_of_them, most = np.quantile(changes, [0.0, 0.5, 0.9, 1.0], method="higher").tolist()
    return int(least), int(median), int(most_of_them), int(most)


def _measure(sample: LabelSets, seed: int, *, whole: bool, n_jobs: int | None, progress: bool) -> tuple[Width, ...]:
    """Verify the sample for one width after the other, until a random head predicts all of it."""
    n, count = sample.n_labels, len(sample)
    grid = [d for d in WIDTHS if d < n] + [n] * (n <= WIDTHS[-1])
    widths: list[Width] = []
    with progress_bar("trying widths", len(grid), show=progress) as advance:
        for d in grid:
            fraction = log10_argmaxable_fraction(n, d, bias=True)
            if widths and widths[-1].predicted in (count, None):
                widths.append(Width(d, fraction))
            else:
                predicted = _predicted_at_random(sample, d, seed, n_jobs)
                share = predicted / count
                low, high = (share, share) if whole else wilson_interval(predicted, count)
                widths.append(Width(d, fraction, predicted, low, high))
            advance(1)
    return tuple(widths)


def _predicted_at_random(sample: LabelSets, d: int, seed: int, n_jobs: int | None) -> int:
    n = sample.n_labels
    weight = np.random.default_rng([seed, 1]).standard_normal((d, n)).T  # for each d a prefix of the same columns
    status = verify(weight, sample, bias=np.full(n, -1.0), certify=False, n_jobs=n_jobs).status
    return int((status == 1).sum())
