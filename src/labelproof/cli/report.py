"""labelproof report: the HTML report of stored audits, one model or several side by side."""

from pathlib import Path
from typing import Annotated

import typer

from labelproof.cli.console import console, print_json
from labelproof.cli.options import AsJson
from labelproof.foundation.wording import plural

__all__ = ["report"]


def report(
    audits: Annotated[
        list[Path],
        typer.Argument(
            metavar="AUDIT...", help="Folders that labelproof audit wrote, or their audit.json.", show_default=False
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the report here (.html).", show_default=False)],
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Title of the report; by default the model's name.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report of stored audits; several models are compared.

    It is a single file that needs no network.
    """
    from labelproof.auditing import read_document
    from labelproof.cli.outputs import require_free_file
    from labelproof.report import write_report

    files = [path / "audit.json" if path.is_dir() else path for path in audits]
    require_free_file(output, [*files])
    documents = [read_document(path) for path in audits]
    write_report(output, documents, title=title)
    models = [document["layer"]["model"] for document in documents]
    if as_json:
        print_json({"saved": str(output), "bytes": output.stat().st_size, "models": models})
    else:
        console().print(f"Wrote the report on {plural(len(models), 'model')} to {output}.", soft_wrap=True)
