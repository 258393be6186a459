"""labelproof audit MODEL --vocabulary: which tokens can a language model never rank first?"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from labelproof.cli.audit_options import Running
from labelproof.cli.console import console, print_json, print_saved_audit, printable, table
from labelproof.cli.kept_parts import kept_beside
from labelproof.cli.models import LayerOptions
from labelproof.foundation.wording import percent

if TYPE_CHECKING:
    from labelproof.auditing.vocabulary import VocabularyDocument

__all__ = ["audit_vocabulary_of"]

MOST_TOKENS = 20


def audit_vocabulary_of(model: Path, asked: LayerOptions, running: Running) -> bool:
    """Audit every token of a model, print what was found, and return whether all that was required holds."""
    running.require_room()
    from labelproof.auditing import audit_vocabulary
    from labelproof.data.label_files import read_label_names
    from labelproof.importers import read_vocabulary

    output, options = running.output, running.options()
    layer = read_vocabulary(model, weight_key=asked.weight_key, bias=asked.bias)
    names = None if asked.label_names is None else read_label_names(asked.label_names, layer.n_labels)
    with kept_beside(output) as parts:
        found = audit_vocabulary(
            layer,
            token_names=names,
            n_explained=running.explain,
            keep=parts,
            **options,
        )
        document = found.document
        if output is not None:
            from labelproof.report import vocabulary_page, write_findings

            found.save(output)
            write_findings(output / "report.html", vocabulary_page(document))
    if running.as_json:
        print_json({**_without_names(document), "saved": running.saved})
    else:
        _print(document, output)
    return document["passed"]


def _without_names(document: "VocabularyDocument") -> dict[str, Any]:
    """Return what ``--json`` prints: all but the names of all tokens, which the folder has."""
    names = document["token_names"]
    never = [{"name": names[one["token"]], **one} for one in document["never"]]
    return {**{key: value for key, value in document.items() if key != "token_names"}, "never": never}


def _print(document: "VocabularyDocument", output: Path | None) -> None:
    out, layer, never = console(), document["layer"], document["never"]
    out.print(Text(document["headline"], style="bold red" if never else "bold green"))
    size = f"{layer['n_tokens']:,} tokens × {layer['n_features']:,} features, {layer['dtype']}"
    bias = "with" if layer["bias"] else "without"
    out.print(f"\n{layer['model']} ({layer['kind']}): {layer['source']}, {size}, {bias} bias.")
    for note in layer["notes"]:
        out.print(f"Note: {note}")
    rows = table("verdict", "tokens", "share")
    counts = (("can be ranked first", document["can"]), ("never first", len(never)))
    for words, count in (*counts, ("undecided", len(document["undecided"]))):
        rows.add_row(words, f"{count:,}", percent(count, layer["n_tokens"]))
    out.print(rows)
    for one in never[:MOST_TOKENS]:
        out.print(Text(printable(f"• {one['sentence']}")))
    if len(never) > MOST_TOKENS:
        out.print(f"… and {len(never) - MOST_TOKENS:,} more (audit.json, --json).")
    if document["fail_under"] is not None:
        out.print("Requirement met." if document["passed"] else "Requirement NOT met.")
    proven = "every verdict with a proof" if not document["undecided"] else "the others with a proof"
    out.print(f"\nAudited in {document['seconds']:.1f} s, {proven}.")
    if output is not None:
        print_saved_audit(output, "proofs-tokens.npz", "layer.npz")
