"""The answer of an audit in a sentence or two."""

from labelproof.auditing.document import Group, LayerFacts

__all__ = ["headline", "share"]


def headline(facts: LayerFacts, data: Group) -> str:
    """Say how many of the data's label sets can never be predicted, and what part of the examples that is."""
    n_sets, impossible, open_ = len(data["status"]), data["unargmaxable"], data["undecided"]
    where = "" if facts["domain"] == "every input" else f" ({facts['domain']})"
    if impossible:
        lost = data["examples"] - data["argmaxable_examples"] - _examples(data, -1)
        whose = "That is the label set" if impossible == 1 else "Those are the label sets"
        text = (
            f"{impossible:,} of {n_sets:,} distinct label sets can never be predicted, whatever the input{where}. "
            f"{whose} of {lost:,} of {data['examples']:,} examples ({share(lost, data['examples'])})."
        )
    elif open_:
        text = f"None of the {n_sets:,} distinct label sets was proven to be out of the model's reach{where}."
    else:
        text = f"Every one of the {n_sets:,} distinct label sets can be predicted by the output layer{where}."
        if facts["rank"] == facts["n_labels"] and facts["domain"] == "every input" and facts["rule"] != "sparsemax":
            text += " So can every other combination: the weights are proven to have full rank."
    return text + (f" {open_:,} {'is' if open_ == 1 else 'are'} undecided." if open_ else "")


def share(part: int, whole: int) -> str:
    """Write a share in per cent; only all is 100 %, and only nothing is 0 %.

    Examples
    --------
    >>> share(1, 4), share(9999, 10000), share(0, 5)
    ('25 %', '>99.9 %', '0 %')
    """
    if not whole or part in (0, whole):
        return "100 %" if whole and part else "0 %"
    per_cent = 100 * part / whole
    if not 0.1 <= per_cent <= 99.9:
        return "<0.1 %" if per_cent < 1 else ">99.9 %"
    return f"{per_cent:.1f} %".replace(".0 %", " %")


def _examples(data: Group, status: int) -> int:
    return sum(count for count, its in zip(data["counts"], data["status"], strict=True) if its == status)
