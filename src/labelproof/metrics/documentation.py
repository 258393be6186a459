"""What the parameters of metrics are, said once: a docstring names them in braces, and `documented` fills them in."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["documented"]

Function = TypeVar("Function", bound=Callable[..., Any])

_PARAMETERS = {
    "labels": (
        "y_true, y_pred",
        "Bool or 0/1 arrays, or scipy sparse matrices, of shape (n_examples, n_labels), in any mix.",
    ),
    "y_true": ("y_true", "Bool or 0/1 array, or scipy sparse matrix, of shape (n_examples, n_labels)."),
    "y_score": ("y_score", "Scores of any scale, of the same shape."),
    "true_distributions": (
        "y_true",
        "Non-negative array or scipy sparse matrix of shape (n_examples, n_labels); rows are normalised.",
    ),
    "distributions": ("y_prob", "Predicted distributions, of the same shape; every row sums to 1."),
    "k": ("k", "From 1 to n_labels."),
    "average": ("average", '"micro", "macro", "weighted", "samples", or None for every label.'),
    "average_of_entries": (
        "average",
        '"macro", "weighted" or None per label; "micro" over all entries at once; "samples" per example.',
    ),
    "zero_division": ("zero_division", "The value of 0/0, from 0 to 1; NaN leaves it out of the mean."),
    "zero_division_of_example": (
        "zero_division",
        "The value of an example without true labels; NaN leaves it out of the mean.",
    ),
    "sample_weight": ("sample_weight", "Weights of the examples, (n_examples,)."),
}


def documented(function: Function) -> Function:
    """Write out the parameters that the docstring of a function names in braces, each on a line of its own.

    Examples
    --------
    >>> @documented
    ... def at(k):
    ...     '''Return k.
    ...
    ...     {k}
    ...     '''
    >>> print(at.__doc__)
    Return k.
    <BLANKLINE>
        k
            From 1 to n_labels.
    <BLANKLINE>
    """
    if function.__doc__:  # python -OO leaves none
        function.__doc__ = re.sub(r"^( *)\{(\w+)\}$", _spell_out, function.__doc__, flags=re.MULTILINE)
    return function


def _spell_out(place: re.Match[str]) -> str:
    indent, (name, meaning) = place[1], _PARAMETERS[place[2]]
    return f"{indent}{name}\n{indent}    {meaning}"
