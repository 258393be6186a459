"""labelproof count: how many label sets can an output layer with so many features predict?"""

from typing import Annotated

import typer

from labelproof.cli.console import console, print_json, table
from labelproof.cli.options import AsJson

__all__ = ["count"]

MAX_LABELS = 100_000


def count(
    n_labels: Annotated[int, typer.Argument(metavar="LABELS", help="Number of labels.", min=1, show_default=False)],
    d: Annotated[
        int,
        typer.Argument(metavar="FEATURES", help="Number of features of the output layer.", min=1, show_default=False),
    ],
    bias: Annotated[bool, typer.Option("--bias", help="Every label has a bias.")] = False,
    k: Annotated[int | None, typer.Option("-k", help="Also: sets of at most k labels.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Count exactly how many label sets an output layer of this size can predict."""
    from flint import fmpz

    from labelproof.theory.counting import count_argmaxable, count_k_active, log10_argmaxable_fraction, log10_int

    if n_labels > MAX_LABELS:
        raise ValueError(f"LABELS must be at most {MAX_LABELS}, so that the exact count is quick, got {n_labels}")
    argmaxable = count_argmaxable(n_labels, d, bias=bias)
    fraction = log10_argmaxable_fraction(n_labels, d, bias=bias)
    k_active = None if k is None else count_k_active(n_labels, k)
    if as_json:
        report = {
            "n_labels": n_labels,
            "d": d,
            "bias": bias,
            "argmaxable": str(fmpz(argmaxable)),  # a string: other readers of JSON round long numbers
            "log10_argmaxable": log10_int(argmaxable),
            "log10_fraction": fraction,
        }
        if k_active is not None:
            report |= {"k": k, "k_active": str(fmpz(k_active)), "log10_k_active": log10_int(k_active)}
        print_json(report)
        return
    lines = table("weights in general position", "")
    lines.add_row("label sets that can be predicted", shorten(str(fmpz(argmaxable))))
    lines.add_row(f"share of all 2^{n_labels} sets", _share(fraction))
    if k_active is not None:
        lines.add_row(f"sets of at most {k} labels", shorten(str(fmpz(k_active))))
    console().print(f"{n_labels:,} labels on {d:,} features{' and a bias' if bias else ''}")
    console().print(lines)


def shorten(digits: str) -> str:
    """Write a long number by its first digits and its size.

    >>> shorten("1048194"), shorten("1" * 120)
    ('1,048,194', '1.111 × 10^119 (120 digits)')
    """
    if len(digits) <= 24:
        return f"{int(digits):,}"
    return f"{digits[0]}.{digits[1:4]} × 10^{len(digits) - 1} ({len(digits):,} digits)"


def _share(log10: float) -> str:
    if log10 > -0.0005:
        return "all of them" if log10 == 0 else f"all but a share of {-log10 * 2.302585092994046:.2g}"
    return f"{10**log10:.3g}" if log10 > -4 else f"1 in 10^{-log10:.2f}"
