"""The report of a vocabulary's audit: which tokens are never first, and which others keep them from it."""

from labelproof.auditing.vocabulary import NeverToken, VocabularyDocument
from labelproof.foundation.wording import percent, plural
from labelproof.pages.names import label_name
from labelproof.report.audit_page import Findings, Listing, Proof, Topic
from labelproof.report.bars import verdict_bar
from labelproof.report.shown_numbers import number
from labelproof.report.summary import Figure

__all__ = ["vocabulary_page"]

MOST_TOKENS = 500


def vocabulary_page(document: VocabularyDocument) -> Findings:
    """Lay out the audit of a vocabulary.

    Parameters
    ----------
    document
        Of `labelproof.auditing.audit_vocabulary`.

    Returns
    -------
    Findings
        For `render_findings`.

    Examples
    --------
    >>> from labelproof.auditing import audit_vocabulary
    >>> page = vocabulary_page(audit_vocabulary([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]]).document)
    >>> page.headline
    '1 of 4 tokens can never be ranked first, whatever the input.'
    """
    layer, never, n_open = document["layer"], document["never"], len(document["undecided"])
    twins = [one for one in never if one["twins"]]
    inside = [one for one in never if not one["twins"]]
    n, can = layer["n_tokens"], document["can"]
    figures = [
        Figure(f"{n:,}", "tokens, each decided with a proof" if not n_open else "tokens"),
        Figure(percent(can, n), f"of them can be ranked first ({can:,})", "can"),
        Figure(f"{len(inside):,}", "are never first, whatever the input", "cannot" if inside else ""),
        Figure(f"{len(twins):,}", "share their weights with another token", "cannot" if twins else ""),
        Figure(f"{layer['n_features']:,}", "features, the width of the output layer"),
    ]
    if n_open:
        figures.append(Figure(f"{n_open:,}", "undecided: time ran out", "undecided"))
    legend = [(1, "can be ranked first"), *([(0, "never first alone")] if never else [])]
    topics = [
        *([_inside(document, inside)] if inside else []),
        *([_twins(document, twins)] if twins else []),
        _meaning(),
    ]
    return Findings(
        title=layer["model"],
        headline=document["headline"],
        figures=tuple(figures),
        bars=(("Tokens", verdict_bar(can, len(never), n_open)),),
        legend=(*legend, *([(-1, "undecided")] if n_open else [])),
        topics=tuple(topics),
        facts=_facts(document),
        proofs=_proofs(document),
        commands=(document["check_command"],),
        foot=f"Audited in {number(document['seconds'])} s with labelproof {document['labelproof']}.",
    )


def _meaning() -> Topic:
    return Topic(
        "meaning",
        "What this says",
        (
            "A language model scores all tokens of one step by one feature vector. A token that is never first cannot "
            "be chosen by greedy decoding after any text; sampling can still draw it.",
            "That a token can be ranked first says that the output layer allows it: some feature vector gives it the "
            "largest logit. Whether any text leads to such a vector is another question.",
        ),
    )


def _inside(document: VocabularyDocument, never: list[NeverToken]) -> Topic:
    names = document["token_names"]
    rows = tuple(
        (
            label_name(names, one["token"]),
            f"{one['token']}",
            ", ".join(f"{label_name(names, rival['token'])} {100 * rival['share']:.0f} %" for rival in one["rivals"]),
            f"{one['n_rivals']:,}",
            ", ".join(label_name(names, near) for near in one["nearest"]),
        )
        for one in never[:MOST_TOKENS]
    )
    return Topic(
        "never",
        "Tokens that are never first",
        (
            "The logit of such a token is, for every input, at most a weighted mean of the logits of its rivals; so "
            "one of them is always as high. The heaviest are those with the largest weights.",
        ),
        table=Listing(
            (
                ("Token", ""),
                ("Number", "figure"),
                ("Heaviest rivals", "labels"),
                ("Rivals", "figure"),
                ("Nearest tokens", "labels"),
            ),
            rows,
        ),
        note=_rest(never),
    )


def _twins(document: VocabularyDocument, never: list[NeverToken]) -> Topic:
    names = document["token_names"]
    words = {1: "first together with them", 0: "never first, even together", -1: "undecided", None: "–"}
    rows = tuple(
        (
            label_name(names, one["token"]),
            f"{one['token']}",
            ", ".join(label_name(names, twin) for twin in one["twins"][:3])
            + (f" and {len(one['twins']) - 3:,} more" if len(one["twins"]) > 3 else ""),
            words[one["together"]],
        )
        for one in never[:MOST_TOKENS]
    )
    return Topic(
        "twins",
        "Tokens with the same weights",
        (
            "These tokens have exactly the weights and the bias of others, as rows that pad a vocabulary often do: "
            "their logits are always equal, and which of them is chosen depends on how ties are broken.",
        ),
        table=Listing((("Token", ""), ("Number", "figure"), ("Same weights as", "labels"), ("At best", "")), rows),
        note=_rest(never),
    )


def _rest(never: list[NeverToken]) -> str:
    return f"{len(never) - MOST_TOKENS:,} more are in audit.json." if len(never) > MOST_TOKENS else ""


def _facts(document: VocabularyDocument) -> tuple[tuple[str, str], ...]:
    layer = document["layer"]
    bias = "with" if layer["bias"] else "without"
    size = (
        f"{plural(layer['n_tokens'], 'token')}, {plural(layer['n_features'], 'feature')}, {bias} bias, {layer['dtype']}"
    )
    before = f" Before the layer: {layer['before']}." if layer["before"] else ""
    return (
        ("Model", f"{layer['model']}, {layer['kind']}"),
        ("Layer", layer["source"]),
        ("Size", size),
        ("Inputs", f"every feature vector, which includes all that can occur.{before}"),
        *((("Notes", " ".join(layer["notes"])),) if layer["notes"] else ()),
        ("Weights", f"sha256 {layer['sha256']}"),
    )


def _proofs(document: VocabularyDocument) -> tuple[Proof, ...]:
    never, n_open = len(document["never"]), len(document["undecided"])
    found = [
        Proof(
            1,
            "can be ranked first",
            f"{plural(document['can'], 'token')}: a feature vector was found for which the token’s logit exceeds all "
            "others, by more than rounding can do, or in exact arithmetic.",
        )
    ]
    if never:
        found.append(
            Proof(
                0,
                "never first",
                f"{plural(never, 'token')}: other tokens were found whose logits, with positive weights, add up to no "
                "less than the token’s own, for every input. Stored numbers are taken as exact; no tolerance enters.",
            )
        )
    if n_open:
        found.append(Proof(-1, "undecided", f"{plural(n_open, 'token')}: the time limit came first."))
    return tuple(found)
