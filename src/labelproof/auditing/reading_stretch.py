"""Check what audit.json says of stretch, sets outside, and what was not tested; nothing in it is trusted."""

from typing import Any

from labelproof.auditing.document import CHECK_PAIRS, CHECK_REACH, CHECK_STRETCH
from labelproof.auditing.not_tested import is_harmless

__all__ = ["fault_beyond_verdicts"]

MOST_INSTRUCTIVE = 3


def fault_beyond_verdicts(document: dict[str, Any], n_labels: int) -> str | None:
    """Return what does not fit together in a document whose form is right, or None."""
    for one in document["not_tested"]:
        if not is_harmless(one["command"]):
            return f"expected a command of labelproof that tests more, got {one['command']!r:.60}"
    outside = document["outside"]
    if outside is not None and not 0 <= outside["sets"] <= outside["examples"]:
        return f"expected sets of some examples outside, got {outside['sets']} of {outside['examples']}"
    if document["reach"] is not None and (fault := _command_fault(document["reach"]["check_command"], CHECK_REACH)):
        return fault
    if document["stretch"] is None:
        return None
    return _stretch_fault(document["stretch"], document["groups"][0], n_labels)


def _stretch_fault(facts: dict[str, Any], data: dict[str, Any], n_labels: int) -> str | None:
    fault = _command_fault(facts["check_command"], CHECK_STRETCH)
    if fault is None and facts["check_pairs"] is not None:
        fault = _command_fault(facts["check_pairs"], CHECK_PAIRS)
    if fault is not None:
        return fault
    lower = data["stretch_lower"]
    if lower is None or data["stretch_upper"] is None or (data["beyond"] is None) != (facts["bar"] is None):
        return "expected the stretch of the data's label sets, got none"
    beyond = data["beyond"] or [low is None or low > 1 for low in lower]
    examples = sum(count for count, is_beyond in zip(data["counts"], beyond, strict=True) if is_beyond)
    if (facts["beyond_sets"], facts["beyond_examples"]) != (sum(beyond), examples):
        return f"expected {sum(beyond)} label sets of {examples} examples beyond the bar, got others"
    if facts["all_examples"] != data["examples"]:
        return f"expected the stretch of {data['examples']} examples, got {facts['all_examples']}"
    if len(facts["instructive"]) > MOST_INSTRUCTIVE:
        return f"expected at most {MOST_INSTRUCTIVE} instructive examples, got {len(facts['instructive'])}"
    mentioned = [one["label"] for one in facts["dead"]]
    mentioned += [label for one in facts["pairs"] for label in one["labels"]]
    for one in facts["instructive"]:
        if not 0 <= one["index"] < len(lower) or one["labels"] != data["labels"][one["index"]]:
            return f"expected a set of the data, got {one['index']}"
        if len(one["shares"]) != len(one["on"]) + len(one["off"]):
            return f"expected a share of each label that contradicts others, got {len(one['shares'])}"
        mentioned += [*one["on"], *one["off"], *(one["predicted"] or ())]
    unknown = next((label for label in mentioned if not 0 <= label < n_labels), None)
    if unknown is not None:
        return f"expected labels from 0 to {n_labels - 1}, got {unknown}"
    if any(len(one["labels"]) != 2 for one in facts["pairs"]):
        return "expected pairs of two labels, got others"
    return None


def _command_fault(command: str, known: str) -> str | None:
    """Return None if a command is the known one, for dense or for sparse features."""
    return None if command in (known, known.replace(".npy", ".npz")) else f"expected the command {known!r}, got another"
