"""Texts that may trigger a combination: the documents of its witness, each with as many words as its weight."""

from collections.abc import Sequence

__all__ = ["splices"]

LENGTHS = (60, 40, 30, 120, 200)  # words; encoders of 64 tokens read about 40
FIRST_WORDS = 48  # of each document, where they are repeated
LEAST = 4  # words that say anything
MOST_DOCUMENTS = 12


def splices(documents: Sequence[str], weights: Sequence[float]) -> list[str]:
    r"""Return different texts of the documents' first words, by weight; the plainest first.

    Parameters
    ----------
    documents
        The heaviest first, at least one.
    weights
        Positive; their sum does not matter.

    Examples
    --------
    >>> splices(["a b c d e f", "u v w x y z"], [2.0, 1.0])[0]
    'a b c d e f\n\nu v w x y z'
    >>> [len(text.split()) for text in splices(["a b c d"], [0.5])]
    [4, 60]
    """
    words = [document.split() for document in documents[:MOST_DOCUMENTS]]
    texts = []
    for n_documents in dict.fromkeys((len(words), min(3, len(words)), 1)):
        whole = sum(weights[:n_documents])
        for length in LENGTHS:
            parts = [
                some[: max(LEAST, round(length * weight / whole))]
                for some, weight in zip(words[:n_documents], weights, strict=False)
            ]
            texts.append(_joined(parts))
    whole = sum(weights[: len(words)])
    repeated = [
        _filled(some[:FIRST_WORDS], max(LEAST, round(LENGTHS[0] * weight / whole)))
        for some, weight in zip(words, weights, strict=False)
    ]
    return list(dict.fromkeys([*texts, _joined(repeated)]))


def _filled(words: list[str], n: int) -> list[str]:
    """Repeat words until there are n."""
    return (words * (n // max(1, len(words)) + 1))[:n]


def _joined(parts: Sequence[Sequence[str]]) -> str:
    return "\n\n".join(" ".join(part) for part in parts if part)
