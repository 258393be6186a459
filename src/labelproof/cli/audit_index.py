"""labelproof audit --index: which relevant documents can no query vector return together?"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from labelproof.cli.audit_options import Running, Searching
from labelproof.cli.console import console, print_json, print_saved_audit, printable, table
from labelproof.cli.kept_parts import kept_beside
from labelproof.foundation.wording import percent

if TYPE_CHECKING:
    from labelproof.auditing.index_document import AtDepth, IndexDocument

__all__ = ["audit_index_of"]

MOST_SETS = 5


def audit_index_of(index: Path, asked: Searching, running: Running) -> bool:
    """Audit an index, print what was found, and return whether all that was required holds."""
    running.require_room()
    from labelproof.auditing import audit_index
    from labelproof.auditing.qrels import read_document_names, read_qrels
    from labelproof.cli.files import read_numbers
    from labelproof.errors import DataFormatError

    output, options = running.output, running.options()
    if asked.qrels is None:
        raise ValueError("--index must come with --qrels: which documents are relevant to which query")
    widths, depths = _numbers("--widths", asked.widths), _numbers("--k", asked.depths)
    options |= {} if depths is None else {"depths": depths}
    embeddings = read_numbers(index)
    if embeddings.ndim != 2:
        raise DataFormatError(f"{index.name}: expected one row for each document, got shape {embeddings.shape}")
    names = None if asked.documents is None else read_document_names(asked.documents, len(embeddings))
    relevant = read_qrels(asked.qrels, len(embeddings), document_names=names)
    with kept_beside(output) as parts:
        found = audit_index(
            embeddings,
            relevant.sets,
            queries=relevant.queries,
            document_names=names,
            cosine=asked.cosine,
            widths=widths,
            n_listed=running.explain,
            name=index.name,
            keep=parts,
            **options,
        )
        document = found.document
        if output is not None:
            from labelproof.report import index_page, write_findings

            found.save(output)
            write_findings(output / "report.html", index_page(document))
    if running.as_json:
        print_json({**_without_names(document), "saved": running.saved})
    else:
        _print(document, relevant.n_without, output)
    return document["passed"]


def _numbers(option: str, text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(word) for word in text.replace(",", " ").split()]
    except ValueError as error:
        raise ValueError(
            f"{option} must be whole numbers separated by commas, as in 64,128,256, got {text!r}"
        ) from error


def _without_names(document: "IndexDocument") -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "document_names"}


def _print(document: "IndexDocument", n_without: int, output: Path | None) -> None:
    out, index, rows = console(), document["index"], document["widths"]
    lost = rows[-1]["depths"][0]["impossible"]
    out.print(Text(document["headline"], style="bold red" if lost else "bold green"))
    ranked = "cosine" if index["cosine"] else "dot product"
    size = f"{index['n_documents']:,} documents × {index['n_features']:,} numbers, {index['dtype']}"
    out.print(f"\n{index['name']}: {size}, ranked by {ranked}; {index['n_queries']:,} queries.")
    if n_without:
        out.print(f"Note: {n_without:,} queries without a relevant document were left out.")
    out.print("Queries whose relevant documents some query vector has on top, or among its best k:")
    heads = ("all on top" if at["k"] is None else f"best {at['k']:,}" for at in rows[0]["depths"])
    shown = table("width", *heads)
    for row in rows:
        shown.add_row(f"{row['width']}", *(_cell(at) for at in row["depths"]))
    out.print(shown)
    for one in document["impossible"][:MOST_SETS]:
        out.print(Text(printable(f"• {one['queries'][0]} (width {one['width']}): {one['sentence']}")))
    for note in document["notes"]:
        out.print(f"Note: {note}")
    if document["fail_under"] is not None:
        out.print("Requirement met." if document["passed"] else "Requirement NOT met.")
    out.print(f"\nAudited in {document['seconds']:.1f} s, every verdict with a proof.")
    if output is not None:
        from labelproof.auditing.index_document import files_of

        print_saved_audit(output, *files_of(rows[-1]["width"]))


def _cell(at: "AtDepth") -> str:
    return percent(at["possible"], at["queries"]) + (f" (+ {at['open']:,} open)" if at["open"] else "")
