"""What would help, each tried on a sample of the data's label sets; an estimate is said to be one.

A head with a guarantee keeps it only if the encoder gives as many features as it has columns, and if these can be any
numbers. So a head is built here as it would be: its columns times a projection of features in the domain of the layer.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from labelproof.auditing.document import Recommendation
from labelproof.foundation.wording import percent
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer, make_layer
from labelproof.proof.result import Verification
from labelproof.search.engine import decide
from labelproof.theory.dft import dft_matrix
from labelproof.theory.plan import plan

__all__ = ["advise"]

Floats = npt.NDArray[np.float64]
N_SAMPLE = 100  # label sets that each piece of advice is tried on
SECONDS = 2.0  # for each of them
SCALE = 64.0  # of projections, so that bounds of the features do not bind


def advise(v: Verification, *, n_jobs: int | None = None, seed: int = 0) -> list[Recommendation]:
    """Return what would make the unargmaxable label sets of the data predictable; nothing if there are none."""
    impossible = np.flatnonzero(v.status == 0)
    if not len(impossible):
        return []
    rng = np.random.default_rng(seed)
    tried = _Trial(v, _sample(v.label_sets, np.arange(len(v)), rng), n_jobs, seed)
    return [*_wider_head(v, tried), *_other_rule(v, _sample(v.label_sets, impossible, rng), n_jobs)]


def _sample(sets: LabelSets, which: npt.NDArray[np.int64], rng: np.random.Generator) -> LabelSets:
    return sets.take(np.sort(rng.choice(which, min(N_SAMPLE, len(which)), replace=False)).tolist())


class _Trial:
    """Builds heads over features like those of the audited layer, and counts the sampled sets that they can predict."""

    def __init__(self, v: Verification, sample: LabelSets, n_jobs: int | None, seed: int) -> None:
        self.layer, self.sample, self.n_jobs, self.seed = v.layer, sample, n_jobs, seed
        sizes = np.diff(v.label_sets.indptr)
        self.k = max(1, int(sizes.max()))
        usual = min(max(1.0, float(sizes.mean())), self.layer.n_labels - 1e-3)
        self.start = np.full(self.layer.n_labels, np.log(usual / (self.layer.n_labels - usual)))

    def domain(self, d: int) -> tuple[Floats, Floats] | None:
        """Return bounds like those of the layer's features for d features, where all of these have the same."""
        bounds = []
        for bound, default in ((self.layer.low, -np.inf), (self.layer.high, np.inf)):
            same = bound is not None and (d == self.layer.d or bool((bound == bound[0]).all()))
            bounds.append(np.full(d, default) if not same or bound is None else np.resize(bound, d))
        return (bounds[0], bounds[1]) if np.isfinite(bounds).any() else None

    @property
    def dft_width(self) -> int:
        """Features that a DFT head needs: its columns, twice as many where features are nonnegative."""
        one_sided = self.layer.low is not None and bool((self.layer.low >= 0).all())
        return (2 * self.k + 1) * (2 if one_sided else 1)

    def dft(self, d: int) -> str:
        """Return how many of the sampled sets a DFT head over d features can predict, projected as far as they go."""
        columns = dft_matrix(self.layer.n_labels, self.k)
        width = columns.shape[1]
        projection = np.random.default_rng([self.seed, 2]).standard_normal((width, d))
        if d >= self.dft_width:
            projection[:, : self.dft_width] = np.hstack([np.eye(width), -np.eye(width)])[:, : self.dft_width]
            projection[:, self.dft_width :] = 0.0
        return self._reached(SCALE * columns @ projection)

    def random(self, d: int) -> str:
        """Return the same for a random layer of d features."""
        return self._reached(np.random.default_rng([self.seed, 1]).standard_normal((d, self.layer.n_labels)).T)

    def _reached(self, weight: Floats) -> str:
        how = {"rule": self.layer.rule, "ties": self.layer.ties, "domain": self.domain(weight.shape[1])}
        layer: OutputLayer = make_layer(weight, bias=self.start, temperature=self.layer.temperature, **how)  # type: ignore[arg-type]
        found = decide(layer, self.sample, n_jobs=self.n_jobs, time_limit=SECONDS)
        possible = sum(one.witness is not None for one in found)
        return (
            f"{possible} of {len(self.sample)} sampled label sets of the data ({percent(possible, len(self.sample))})"
        )


def _wider_head(v: Verification, tried: _Trial) -> Iterator[Recommendation]:
    n, d, width = v.layer.n_labels, v.layer.d, tried.dft_width
    promise = f"In exact numbers it can predict every set of up to {tried.k} labels"
    if 2 * tried.k < n and d >= width:
        yield {
            "title": f"A DFT head over the {d} features",
            "text": f"labelproof.DFTHead takes the place of the last layer; the model is trained again. {promise}. "
            f"Built over features as they are here, with a start bias, it can predict {tried.dft(d)}.",
        }
    elif 2 * tried.k < n:
        yield {
            "title": f"An encoder of at least {width} features, then a DFT head",
            "text": f"{promise} if the encoder gives {width} features. Now it gives {d}: over these a DFT head with a "
            f"start bias can predict {tried.dft(d)}, over {width} features {tried.dft(width)}. The model is trained "
            "again.",
        }
    needs = plan(v.label_sets, n_sample=N_SAMPLE, seed=tried.seed, n_jobs=tried.n_jobs)
    if needs.random_width is not None and needs.random_width > d:
        yield {
            "title": f"About {needs.random_width} features instead of {d}",
            "text": "An estimate: a random layer of that width with a bias can predict "
            f"{tried.random(needs.random_width)}, one of {d} features {tried.random(d)}. Training moves the weights: "
            "audit the trained model again.",
        }


def _other_rule(v: Verification, sample: LabelSets, n_jobs: int | None) -> Iterator[Recommendation]:
    """Say how many of the sampled sets the same weights give when the largest logits are taken."""
    if v.layer.rule != "sigmoid":
        return
    evidence = decide(replace(v.layer, rule="topk"), sample, n_jobs=n_jobs, time_limit=SECONDS)
    possible = sum(one.witness is not None for one in evidence)
    yield {
        "title": "Another decision rule on the same weights",
        "text": f"With a threshold that is chosen for each example, such as the top k labels, {possible} of "
        f"{len(sample)} of these label sets could be predicted, as verified (no training needed)."
        + ("" if possible else " It would not help."),
    }
