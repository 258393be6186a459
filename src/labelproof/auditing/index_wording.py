"""What the audit of an index says in sentences: about documents and query vectors, not about encoders."""

from collections.abc import Sequence

from labelproof.auditing.index_document import AtWidth, Impossible, IndexFacts

__all__ = ["index_headline", "index_notes", "sentence_of"]

MOST_NAMES = 5
WIDE = 128


def index_headline(rows: list[AtWidth]) -> str:
    """Answer how far vectors may be cut, and what is impossible at the full width."""
    full = rows[-1]["depths"][0]
    n, lost, unknown = full["queries"], full["impossible"], full["open"]
    if lost:
        has = "query has" if n == 1 else f"of {n:,} queries {'has' if lost == 1 else 'have'}"
        text = f"At width {rows[-1]['width']}, {lost:,} {has} relevant documents that no query vector ranks above all "
        text += "others."
    elif unknown:
        text = f"At width {rows[-1]['width']} no query was proven to be out of reach."
    else:
        text = (
            f"At width {rows[-1]['width']} some query vector returns the relevant documents of each of {n:,} queries."
        )
        text += _how_far(rows)
    return text + (f" {unknown:,} {'is' if unknown == 1 else 'are'} undecided." if unknown else "")


def _how_far(rows: list[AtWidth]) -> str:
    possible = [row["depths"][0]["possible"] == row["depths"][0]["queries"] for row in rows]
    if len(rows) == 1:
        return ""
    first = len(possible) - 1
    while first and possible[first - 1]:
        first -= 1
    if not first:
        return f" So does every narrower width that was tried, down to {rows[0]['width']}."
    lost = rows[first - 1]["depths"][0]["impossible"]
    kept = f" Cut to {rows[first]['width']} numbers nothing is lost" if first < len(rows) - 1 else " No cut is free"
    return (
        f"{kept}; cut to {rows[first - 1]['width']}, {lost:,} {'query is' if lost == 1 else 'queries are'} impossible."
    )


def index_notes(facts: IndexFacts, widths: Sequence[int]) -> list[str]:
    """Say what verdicts mean, and what stands in their way."""
    notes = [
        "Possible says that some query vector returns the documents, not that the encoder of queries ever gives it.",
    ]
    if max(widths) >= WIDE:
        notes.append(
            f"From a width of about {WIDE} on, small sets of documents are nearly always possible. Where retrieval "
            "fails there, the width of the index is rarely the reason: look at the vectors that queries get."
        )
    if facts["twins"]:
        notes.append(
            f"{facts['twins']:,} documents have exactly the vector of another one: no query ranks one of them above "
            "the other, so a set with one of them alone is impossible, except by luck when ties are broken."
        )
    if facts["cosine"]:
        notes.append(
            f"Cosine: vectors were divided by their lengths after cutting and rounded to {facts['dtype']}; the "
            "verdicts are about the numbers so stored."
        )
    return notes


def sentence_of(one: Impossible, names: Sequence[str] | None) -> str:
    """Say why documents cannot be returned together, and how far down the list they get."""
    documents, rivals = _listed(one["documents"], names), _listed(one["rivals"], names)
    single, alone = len(one["documents"]) == 1, len(one["rivals"]) == 1
    them, it = ("it", "it") if single else ("one of them", "they")
    who = rivals if alone else f"one of {rivals}"
    text = f"No query vector ranks {documents} above all others: {who} always scores as high as {them}, or higher."
    if one["most"] is None:
        return text
    found = f"among its best {one['most']:,} documents some vector has {'it' if single else 'them all'}"
    if one["most"] == one["least"]:
        return f"{text} But {found}."
    return f"{text} But {found}, and none has {it if single else 'them'} among its best {one['least'] - 1:,}."


def _listed(rows: Sequence[int], names: Sequence[str] | None) -> str:
    words = [names[row] if names is not None else f"document {row}" for row in rows[:MOST_NAMES]]
    if len(rows) > MOST_NAMES:
        words.append(f"{len(rows) - MOST_NAMES:,} more")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
