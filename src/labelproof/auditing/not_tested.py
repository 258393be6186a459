"""What an audit does not tell, and the command that would."""

import shlex
from collections.abc import Mapping

from labelproof.auditing.document import LayerFacts, NotTested, StretchFacts

__all__ = ["is_harmless", "not_tested", "with_paths"]

ON_REAL_INPUTS = (
    "Whether the model ever predicts these label sets on real inputs. That some input can give a set says little about "
    "a model with many features; the stretch measures how far beyond real inputs it lies."
)
GIVEN = ("--features", "F.npy", "--calibration", "C.npy")
NO_BAR = "Which label sets lie beyond the bar: that needs inputs that the model was neither trained nor tuned on."


def not_tested(
    facts: LayerFacts, data_name: str, stretch: StretchFacts | None, *, runs: bool = False, why_not: str | None = None
) -> list[NotTested]:
    """Return what was not tested.

    Parameters
    ----------
    facts, data_name, stretch
        Of the audit.
    runs
        Whether the model can compute its features here.
    why_not
        Why there is no bar, where features are known.
    """
    if facts["rule"] == "sparsemax":
        return []
    command = ["labelproof", "audit", _word(facts["model"])]
    data_name = _word(data_name)
    if stretch is None:
        how = ["--data", data_name] if runs else ["--labels", data_name, *GIVEN]
        return [{"what": ON_REAL_INPUTS, "command": shlex.join(command + how)}]
    if stretch["bar"] is None:
        how = ["--labels", data_name, *GIVEN]
        return [{"what": f"{NO_BAR} {why_not}" if why_not else NO_BAR, "command": shlex.join(command + how)}]
    return []


def with_paths(command: str, paths: Mapping[str, str]) -> str:
    """Return such a command with paths in the place of the short names that it has for model and data.

    Examples
    --------
    >>> with_paths("labelproof audit mine --data new.csv", {"mine": "models/mine", "new.csv": "data/new.csv"})
    'labelproof audit models/mine --data data/new.csv'
    """
    program, verb, *words = shlex.split(command)
    return shlex.join([program, verb, *(paths.get(word, word) for word in words)])


def is_harmless(command: str) -> bool:
    """Return whether a command from a file runs labelproof and nothing else, pasted into a shell."""
    if not command.isprintable():
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return words[:2] == ["labelproof", "audit"] and shlex.join(words) == command


def _word(name: str) -> str:
    """Return a name that stands in one line of a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
