"""What the terminal shows first of an audit on real inputs: the bar, examples beyond it, pairs apart, dead labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from labelproof.cli.console import console, printable
from labelproof.foundation.wording import at_least, percent, plural, some_of

if TYPE_CHECKING:
    from labelproof.auditing import Audit, AuditDocument
    from labelproof.auditing.document import StretchFacts

__all__ = ["print_findings", "print_not_tested", "some_names"]

MOST_NAMES, MOST_ROWS = 4, 5


def print_findings(document: "AuditDocument") -> None:
    """Print the bar with what lies beyond it, then pairs and labels; nothing where no features were known."""
    facts, out = document["stretch"], console()
    if facts is None:
        return
    out.print(_about_the_bar(facts))
    for one in facts["instructive"]:
        times = "never" if one["lower"] is None else f"{at_least(one['lower'])} ×"
        name = some_names(document, one["labels"], most=8)
        out.print(Text(f"\n  {times}  {name} ({plural(one['examples'], 'example')})", style="bold"))
        out.print(Text(f"    {printable(one['sentence'])}"))
    if facts["n_pairs"]:
        share = percent(facts["n_apart"] or 0, facts["n_pairs"])
        out.print(
            f"\nPairs of labels in the data that no mixture of these inputs combines: {facts['n_apart'] or 0:,} of "
            f"{facts['n_pairs']:,} ({share})."
        )
        for pair in facts["pairs"][:MOST_ROWS]:
            out.print(Text(f"  {pair['examples']:,} ×  {some_names(document, pair['labels'])}"))
    if facts["n_dead"] is not None:
        out.print(
            f"\nLabels that are not predicted for any of {facts['inputs']:,} inputs: {facts['n_dead']:,} of "
            f"{document['layer']['n_labels']:,}; {facts['n_dead_true'] or 0:,} of them occur in the data."
        )
        for dead in facts["dead"][:MOST_ROWS]:
            reason = f": {dead['reason']}" if dead["reason"] else ""
            name = some_names(document, [dead["label"]])
            out.print(Text(f"  {name}, true for {plural(dead['examples'], 'example')}{reason}"))
    out.print()


def _about_the_bar(facts: "StretchFacts") -> str:
    bar = facts["bar"]
    if bar is None:
        return f"Measured on {plural(facts['examples'], 'input')} ({facts['source']}), without a bar."
    value = "infinite" if bar["value"] is None else f"{bar['value']:.2f}"
    text = (
        f"The bar is a stretch of {value}, from {plural(bar['n'], 'input')} ({facts['held_out']}); mixtures are of "
        f"{plural(facts['examples'], 'input')} ({facts['source']}). "
        f"{bar['assumption']}"
    )
    if facts["exact"] is not None and facts["predicted"]:
        inside = facts["all_examples"] - facts["beyond_examples"]
        text += (
            f" At most the {percent(inside, facts['all_examples'])} within the bar plus "
            f"{100 * bar['alpha']:.10g} % can be exact matches; here {percent(facts['exact'], facts['predicted'])} of "
            f"{facts['predicted']:,} inputs not marked as training data were predicted exactly, "
            f"{facts['exact_beyond'] or 0:,} of them beyond."
        )
    return text


def print_not_tested(found: "Audit", *, model: str, source: str) -> None:
    """Print what the audit does not tell, each with its command, which can be run as printed."""
    for one in found.not_tested(model, source):
        console().print(Text(f"Not tested: {printable(one['what'])}"))
        console().print(Text(f"  {printable(one['command'])}\n"), soft_wrap=True)


def some_names(document: "AuditDocument", labels: Sequence[int], *, most: int = MOST_NAMES) -> str:
    """Return the names of a few labels, without characters that command a terminal."""
    return printable(some_of([document["label_names"][i] for i in labels], most))
