"""The answer of an audit in a sentence or two."""

from labelproof.auditing.document import Group, LayerFacts, Outside, StretchFacts
from labelproof.foundation.wording import percent

__all__ = ["headline"]


def headline(
    facts: LayerFacts, data: Group, stretch: StretchFacts | None = None, outside: Outside | None = None
) -> str:
    """Say what matters most: label sets that can never be predicted, or those that are beyond the bar.

    Sets that no input gives lie beyond every bar, so that the share beyond it leads where it is the larger one.
    """
    possible = _possible(facts, data, outside)
    if stretch is None or (stretch["bar"] is None and not stretch["beyond_examples"]):
        return possible
    lost = data["examples"] - data["argmaxable_examples"] - _examples(data, -1)
    if stretch["beyond_examples"] > lost:
        return f"{_stretch_sentence(stretch)} {possible}"
    return f"{possible} {_stretch_sentence(stretch)}"


def _stretch_sentence(stretch: StretchFacts) -> str:
    """Say what share of the examples lies beyond the bar, and what the bar says of all such sets."""
    bar = stretch["bar"]
    part = percent(stretch["beyond_examples"], stretch["all_examples"])
    if bar is None:
        return f"{part} of your examples have label sets that no mixture of the examples is predicted as."
    if not stretch["beyond_examples"]:
        return "None of your examples has a label set beyond the bar: mixtures of real inputs come near all of them."
    return (
        f"{part} of your examples have label sets beyond the bar; all such sets together get at most "
        f"{100 * bar['alpha']:.10g} % of this model's predictions, with {100 * bar['confidence']:.10g} % confidence."
    )


def _possible(facts: LayerFacts, data: Group, outside: Outside | None) -> str:
    """Say how many of the data's label sets can never be predicted, and what part of the examples that is."""
    n_sets, impossible, open_ = len(data["status"]), data["unargmaxable"], data["undecided"]
    examples, lost = data["examples"], data["examples"] - data["argmaxable_examples"] - _examples(data, -1)
    if outside is not None:
        n_sets, impossible = n_sets + outside["sets"], impossible + outside["sets"]
        examples, lost = examples + outside["examples"], lost + outside["examples"]
    where = "" if facts["domain"] == "every input" else f" ({facts['domain']})"
    if impossible:
        whose = "That is the label set" if impossible == 1 else "Those are the label sets"
        text = (
            f"{impossible:,} of {n_sets:,} distinct label sets can never be predicted, whatever the input{where}. "
            f"{whose} of {lost:,} of {examples:,} examples ({percent(lost, examples)})."
        )
        if outside is not None:
            text += f" {outside['reason']}"
    elif open_:
        text = f"None of the {n_sets:,} distinct label sets was proven to be out of the model's reach{where}."
    else:
        text = f"Every one of the {n_sets:,} distinct label sets can be predicted by the output layer{where}."
        if facts["rank"] == facts["n_labels"] and facts["domain"] == "every input" and facts["rule"] != "sparsemax":
            text += " So can every other combination: the weights are proven to have full rank."
    return text + (f" {open_:,} {'is' if open_ == 1 else 'are'} undecided." if open_ else "")


def _examples(data: Group, status: int) -> int:
    return sum(count for count, its in zip(data["counts"], data["status"], strict=True) if its == status)
