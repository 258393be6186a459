"""The tokens of a Hugging Face folder's vocabulary, by their numbers, from the files that its tokenizer comes with."""

from pathlib import Path
from typing import Any

from labelproof.foundation.json_files import read_json

__all__ = ["read_token_names"]


def read_token_names(folder: Path, n_rows: int) -> tuple[tuple[str, ...] | None, str]:
    """Return a name for each row of the output layer, or None where no file tells, and a note for people or "".

    Rows that belong to no token, with which a vocabulary is padded, are called so.
    """
    by_number = _by_number(folder)
    if not by_number:
        return None, "The folder names no tokens (tokenizer.json, vocab.json, vocab.txt): they are called by number."
    lacking = sum(number not in by_number for number in range(n_rows))
    names = tuple(by_number.get(number, f"⟨no token {number}⟩") for number in range(n_rows))
    more = f"{lacking:,} of {n_rows:,} rows belong to no token of the tokenizer." if lacking else ""
    return names, more


def _by_number(folder: Path) -> dict[int, str]:
    if (folder / "tokenizer.json").is_file():
        return _of_tokenizer(read_json(folder / "tokenizer.json"))
    if (folder / "vocab.json").is_file():
        return _of_pairs(read_json(folder / "vocab.json"))
    if (folder / "vocab.txt").is_file():
        lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
        return dict(enumerate(line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)))
    return {}


def _of_tokenizer(content: Any) -> dict[int, str]:
    model = content.get("model") if isinstance(content, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, list):  # of a unigram model: pairs of a token and its score
        names = {i: str(pair[0]) for i, pair in enumerate(vocabulary) if isinstance(pair, list) and pair}
    else:
        names = _of_pairs(vocabulary)
    added = content.get("added_tokens") if isinstance(content, dict) else None
    for one in added if isinstance(added, list) else []:
        if isinstance(one, dict) and isinstance(one.get("id"), int):
            names[one["id"]] = str(one.get("content"))
    return names


def _of_pairs(vocabulary: Any) -> dict[int, str]:
    if not isinstance(vocabulary, dict):
        return {}
    return {number: str(token) for token, number in vocabulary.items() if isinstance(number, int)}
