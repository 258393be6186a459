"""What the page shows of real inputs: the stretch, the inputs of a mixture by name, and a text made of them."""

import math
from threading import Lock
from typing import Any

from labelproof.auditing.stretched import first_words
from labelproof.explorer.answers import stretch_answer, trial_answer
from labelproof.explorer.splicing import splices
from labelproof.explorer.stretches import Stretches
from labelproof.importers import ImportedLayer
from labelproof.pages.names import visible

__all__ = ["InputAnswers"]

Answer = dict[str, Any]
MOST_SHOWN = 6  # inputs of a mixture


class InputAnswers:
    """Answers that rest on real inputs.

    Parameters
    ----------
    source
        The model, which may be able to read texts.
    stretches
        Its layer among real inputs.
    """

    def __init__(self, source: ImportedLayer, stretches: Stretches) -> None:
        self._stretches = stretches
        inputs = stretches.known.inputs
        self._texts = None if inputs.texts is None or inputs.rows is None else inputs.texts
        self._features = source.features if source.reads == "text" and self._texts is not None else None
        self._running = Lock()  # one text at a time: encoders need not be safe for threads

    def warm_up(self, labels: tuple[int, ...]) -> None:
        """Measure once, so that compiled code is loaded."""
        self._stretches.of(labels)
        self._stretches.same(labels)

    def facts(self) -> Answer:
        """Say what is known: how many inputs, and the bar; null is infinite."""
        known = self._stretches.known
        bar = known.bar if known.bar is not None and math.isfinite(known.bar) else None
        return {
            "inputs": self._stretches.n_examples,
            "has_bar": known.bar is not None,
            "bar": bar,
            "alpha": known.alpha,
        }

    def stretch(self, active: tuple[int, ...]) -> Answer:
        """Say how far from real inputs a label set lies, and by which of them that is proven."""
        found = self._stretches.of(active)
        shown, whole = found.examples[:MOST_SHOWN].tolist(), float(found.weights.sum()) or 1.0
        shares = (found.weights / whole).tolist()
        predicted = self._stretches.predicted_for(shown)
        inputs = [self._input(example, shares[k], predicted[k]) for k, example in enumerate(shown)]
        same = self._stretches.same(active)
        answer = stretch_answer(found, active, inputs, self._stretches.known.bar)
        return answer | {
            "n_same": len(same),
            "same": self._input(same[0], 1.0, active) if same else None,
            "can_write": self._features is not None and bool(shown),
        }

    def trial(self, active: tuple[int, ...]) -> Answer:
        """Write texts out of the inputs of a label set's mixture, and show the one that comes closest to giving it."""
        found = self._stretches.of(active)
        if self._features is None or not len(found.examples):
            raise ValueError(
                "a text can be written for a model of texts and a set that some mixture gives, got neither"
            )
        texts = splices([self._text(i) for i in found.examples.tolist()], found.weights.tolist())
        n_spliced = len(texts)
        texts += [self._text(i) for i in self._stretches.same(active)[:1]]
        with self._running:
            predicted = self._stretches.predicted(self._features(texts))
        best = max(range(len(texts)), key=lambda k: _alike(set(active), set(predicted[k])))
        shown = "\n".join(visible(line) for line in texts[best].split("\n"))
        return trial_answer(shown, predicted[best], active, n_spliced) | {"is_spliced": best < n_spliced}

    def _text(self, example: int) -> str:
        assert self._texts is not None  # noqa: S101 - the caller looked
        return self._texts[self._row(example)]

    def _row(self, example: int) -> int:
        rows = self._stretches.known.inputs.rows
        return example if rows is None else int(rows[example])

    def _input(self, example: int, share: float, predicted: tuple[int, ...]) -> Answer:
        text = None if self._texts is None else visible(first_words(self._text(example)))
        return {
            "row": self._row(example),
            "share": round(share, 4),
            "text": text,
            "predicted": {"labels": list(predicted)},
        }


def _alike(wanted: set[int], found: set[int]) -> float:
    """Return Jaccard's similarity; two empty sets are the same."""
    return len(wanted & found) / len(wanted | found) if wanted | found else 1.0
