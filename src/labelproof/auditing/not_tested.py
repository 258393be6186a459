"""What an audit does not tell, and the command that would."""

import shlex

from labelproof.auditing.document import NotTested, StretchFacts

__all__ = ["is_harmless", "not_tested"]

ON_REAL_INPUTS = (
    "Whether the model ever predicts these label sets on real inputs. That some input can give a set says little about "
    "a model with many features; the stretch measures how far beyond real inputs it lies."
)
GIVEN = ("--features", "F.npy", "--calibration", "C.npy")
NO_BAR = "Which label sets lie beyond the bar: that needs inputs that the model was neither trained nor tuned on."


def not_tested(
    model: str,
    data: str,
    *,
    rule: str,
    stretch: StretchFacts | None,
    runs: bool = False,
    why_not: str | None = None,
) -> list[NotTested]:
    """Return what was not tested.

    Parameters
    ----------
    model, data
        What the commands call them: names in a document that is passed on, paths for one who can run them.
    rule, stretch
        Of the audit.
    runs
        Whether the model can compute its features here.
    why_not
        Why there is no bar, where features are known.

    Examples
    --------
    >>> [one["command"] for one in not_tested("my-model", "new.csv", rule="sigmoid", stretch=None, runs=True)]
    ['labelproof audit my-model --data new.csv']
    """
    if rule == "sparsemax":
        return []
    command, source = ["labelproof", "audit", _word(model)], _word(data)
    if stretch is None:
        how = ["--data", source] if runs else ["--labels", source, *GIVEN]
        return [{"what": ON_REAL_INPUTS, "command": shlex.join(command + how)}]
    if stretch["bar"] is None:
        how = ["--labels", source, *GIVEN]
        return [{"what": f"{NO_BAR} {why_not}" if why_not else NO_BAR, "command": shlex.join(command + how)}]
    return []


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
