"""Whether other thresholds would help: chosen on the examples, judged on the held-out inputs."""

from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.auditing.document import Recommendation
from labelproof.auditing.real_inputs import RealInputs
from labelproof.auditing.stretched import Judged
from labelproof.proof.examples import read_examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer

__all__ = ["advise_thresholds"]

MOST_EXAMPLES = 2_000  # on which thresholds are chosen
SHIFTS = tuple(round(-4.0 + 0.25 * i, 2) for i in range(25))  # from -4 to 2, in logits
MOST_LOGITS = 300_000_000  # above which nothing is tried
LEAST_GAIN = 0.005  # of micro-F1, below which nothing is gained


def advise_thresholds(layer: OutputLayer, judged: Judged, real: RealInputs, *, seed: int = 0) -> list[Recommendation]:
    """Return advice to move the thresholds of all labels, if that was measured to help; else say that it does not.

    All thresholds are moved by the same amount, in logits, at which the examples have the best micro-F1; what that
    does is measured on the held-out inputs.
    """
    if layer.rule != "sigmoid" or real.held_out is None or real.rows is None or real.held_out_rows is None:
        return []
    if not np.isin(real.held_out_rows, judged.rows).all() or layer.n_labels * len(real.held_out_rows) > MOST_LOGITS:
        return []
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(len(real.rows))[:MOST_EXAMPLES])
    chosen = _Scored(layer, real.examples[some], _truth(judged, real.rows[some]))
    shift = max(SHIFTS, key=lambda by: (round(chosen.micro_f1(by), 6), -abs(by)))
    held_out = _Scored(layer, real.held_out, _truth(judged, real.held_out_rows))
    before, after = held_out.micro_f1(0.0), held_out.micro_f1(shift)
    if shift == 0 or after < before + LEAST_GAIN:
        return [_no_gain(len(some), held_out.n, before)]
    how = "Lower" if shift < 0 else "Higher"
    return [
        {
            "title": f"{how} thresholds",
            "text": f"With all thresholds moved by {_signed(shift)} in logits, chosen on {len(some):,} examples, "
            f"micro-F1 for {held_out.n:,} held-out inputs goes from {before:.3f} to {after:.3f}, exact matches from "
            f"{held_out.exact(0.0):,} to {held_out.exact(shift):,}, and labels that are ever predicted from "
            f"{held_out.alive(0.0):,} to {held_out.alive(shift):,}. labelproof tune chooses one for each label, "
            "by a measure of your choice; no training is needed. The bar is then another: audit again.",
        }
    ]


def _no_gain(n_examples: int, n_held_out: int, before: float) -> Recommendation:
    return {
        "title": "Training, not thresholds",
        "text": f"Moving all thresholds by the same amount was tried, from {_signed(SHIFTS[0])} to "
        f"{_signed(SHIFTS[-1])} in logits: the best one for {n_examples:,} examples gains less than "
        f"{LEAST_GAIN} of micro-F1 for {n_held_out:,} held-out inputs (now {before:.3f}). labelproof tune "
        "chooses a threshold for each label; beyond that, other weights or features are needed, and another audit.",
    }


def _signed(shift: float) -> str:
    return f"{shift:+g}".replace("-", "\N{MINUS SIGN}")


class _Scored:
    """Logits of inputs beyond their thresholds, and which labels are true."""

    def __init__(self, layer: OutputLayer, features: Any, true: LabelSets) -> None:
        inputs = read_examples(features, layer.d)
        offset, weight = 0.0 if layer.offset is None else layer.offset, layer.dense().weight
        blocks = [np.asarray(block @ weight.T) + offset for block in inputs.blocks()]
        self.logits = np.concatenate([block.astype(np.float32) for block in blocks])
        self.n = len(inputs)
        self.true = np.zeros(self.logits.shape, np.bool_)
        self.true[np.repeat(np.arange(len(true)), np.diff(true.indptr)), true.indices] = True

    def micro_f1(self, shift: float) -> float:
        """Return micro-F1 with thresholds moved by so much."""
        on = self.logits > shift
        whole = int(on.sum()) + int(self.true.sum())
        return 2 * int((on & self.true).sum()) / whole if whole else 0.0

    def exact(self, shift: float) -> int:
        """Return how many sets are predicted exactly."""
        return int(((self.logits > shift) == self.true).all(axis=1).sum())

    def alive(self, shift: float) -> int:
        """Return how many labels are predicted for some input."""
        return int((self.logits > shift).any(axis=0).sum())


def _truth(judged: Judged, rows: npt.NDArray[np.int64]) -> LabelSets:
    """Return the label sets of rows of the data; those that are not judged have none."""
    places = {row: i for i, row in enumerate(judged.rows.tolist())}
    sets = [judged.of_rows[places[row]] if row in places else np.empty(0, np.int64) for row in rows.tolist()]
    ends = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return LabelSets(judged.of_rows.n_labels, ends, np.concatenate([np.empty(0, np.int64), *sets]))
