"""What would help, as far as it was measured or proven; an estimate is said to be one."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from labelproof.auditing.document import Recommendation
from labelproof.proof.labels import LabelSets
from labelproof.proof.result import Verification
from labelproof.search.engine import decide
from labelproof.theory.plan import plan

__all__ = ["advise"]

N_SAMPLE = 100  # label sets on which estimates and other rules are tried


def advise(v: Verification, *, n_jobs: int | None = None, seed: int = 0) -> list[Recommendation]:
    """Return what would make the unargmaxable label sets of the data predictable; nothing if there are none."""
    impossible = np.flatnonzero(v.status == 0)
    if not len(impossible):
        return []
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.choice(impossible, min(N_SAMPLE, len(impossible)), replace=False)).tolist()
    return [*_wider_head(v, n_jobs, seed), *_other_rule(v, v.label_sets.take(sample), n_jobs)]


def _wider_head(v: Verification, n_jobs: int | None, seed: int) -> Iterator[Recommendation]:
    needs = plan(v.label_sets, n_sample=N_SAMPLE, seed=seed, n_jobs=n_jobs)
    yield {
        "title": f"A DFT head of {needs.dft_width} features",
        "text": f"It can predict every set of up to {needs.k} labels, in the data or not. That is a theorem about "
        "exact numbers: verify the stored ones. labelproof.DFTHead takes the place of the last layer, which here has "
        f"{v.layer.d} features; the model is trained again.",
    }
    if needs.random_width is not None:
        yield {
            "title": f"About {needs.random_width} features instead of {v.layer.d}",
            "text": f"An estimate: a random layer with a bias needs that many to predict each of {needs.n_sampled} of "
            "the data's label sets. Training moves the weights: audit the trained model again.",
        }


def _other_rule(v: Verification, sample: LabelSets, n_jobs: int | None) -> Iterator[Recommendation]:
    """Say how many of the sampled sets the same weights give when the largest logits are taken."""
    if v.layer.rule != "sigmoid":
        return
    evidence = decide(replace(v.layer, rule="topk"), sample, n_jobs=n_jobs, time_limit=2.0)
    possible = sum(one.witness is not None for one in evidence)
    yield {
        "title": "Another decision rule on the same weights",
        "text": f"With a threshold that is chosen for each example, such as the top k labels, {possible} of "
        f"{len(sample)} of these label sets could be predicted, as verified (no training needed)."
        + ("" if possible else " It would not help."),
    }
