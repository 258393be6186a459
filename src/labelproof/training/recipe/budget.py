"""How much time the recipe may take, and what a stage will take before it begins."""

import re
import time

__all__ = ["Budget", "parse_budget"]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
TIMES_THE_FIRST = 30.0  # the default: so many times what the first grid takes, about ten times that of scikit-learn
LEAST = 60.0


class Budget:
    """Seconds that are left; without a number of them, thirty times what the first stage takes.

    The default counts the processor's time, so that what is tried does not depend on what else a machine has to do.

    Parameters
    ----------
    seconds
        In all; None for the default, 0 for the first stage alone.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self._clock = time.process_time if seconds is None else time.perf_counter
        self._begin = self._clock()

    def begin(self) -> None:
        """Start the clock again: what came before does not count."""
        self._begin = self._clock()

    def spent(self) -> float:
        """Return the seconds since the beginning."""
        return self._clock() - self._begin

    def first_stage_took(self, seconds: float) -> None:
        """Set the default from what the first stage took."""
        if self.seconds is None:
            self.seconds = self.spent() + max(LEAST, (TIMES_THE_FIRST - 1) * seconds)

    def left(self) -> float:
        """Return the seconds that are left; before the first stage has ended there is no end."""
        return float("inf") if self.seconds is None else self.seconds - self.spent()


def parse_budget(text: str) -> float:
    """Return the seconds of a budget such as 90s, 10m, 1.5h or fast.

    >>> parse_budget("10m"), parse_budget("fast")
    (600.0, 0.0)
    """
    if text == "fast":
        return 0.0
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if found is None:
        raise ValueError(f"budget must be a time such as 90s, 10m or 1h, or fast, got {text!r}")
    return float(found[1]) * _UNITS[found[2] or "s"]
