"""Texts → words: checks of what the user gave, and one way to split it."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["read_texts", "split_words"]

WORD = re.compile(r"\w+")  # a run of letters, digits and underscores


def read_texts(inputs: Any) -> Sequence[str]:
    """Return texts as a sequence of strings; the empty string is one.

    Examples
    --------
    >>> read_texts(["a text", float("nan")])
    Traceback (most recent call last):
    ValueError: inputs must be texts, got nan (float) at place 1
    """
    if isinstance(inputs, str | bytes) or not isinstance(inputs, Iterable):
        raise ValueError(f"inputs must be a list of texts, got {type(inputs).__name__}")
    texts = inputs if isinstance(inputs, list | tuple) else list(inputs)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"inputs must be texts, got {_short(text)} ({type(text).__name__}) at place {place}")
    return texts


def split_words(*, lowercase: bool) -> Callable[[str], list[str]]:
    """Return the function that splits a text into its words.

    Examples
    --------
    >>> split_words(lowercase=True)("Type-2 diabetes, BMI > 30.")
    ['type', '2', 'diabetes', 'bmi', '30']
    """
    return (lambda text: WORD.findall(text.lower())) if lowercase else WORD.findall


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
