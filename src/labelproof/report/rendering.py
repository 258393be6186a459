"""Write the report: one HTML file that holds its style, its script and its data, and may load nothing."""

import base64
import hashlib
import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from labelproof.auditing.document import AuditDocument
from labelproof.foundation.optional_packages import need
from labelproof.foundation.wording import plural, separator
from labelproof.foundation.writing import write_text
from labelproof.pages import base_style
from labelproof.pages.names import visible
from labelproof.report.audit_page import Findings
from labelproof.report.model_differences import agreement
from labelproof.report.opening import Opening, open_comparison
from labelproof.report.page import compare, lay_out
from labelproof.report.set_table import KINDS, MOST_SETS
from labelproof.report.shown_numbers import number, times
from labelproof.report.table import Cell, Table

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render_findings", "render_report", "write_findings", "write_report"]

OPEN_CONFLICTS = 6  # the others are folded
FIRST_ROWS = 10  # of pairs and dead labels; the others are folded


def write_report(
    path: str | os.PathLike[str],
    documents: Sequence[AuditDocument],
    *,
    title: str | None = None,
    opening: Opening | None = None,
    tables: Sequence[Table] = (),
) -> None:
    """Write the report of one audit, or of several side by side, as one HTML file.

    The file is written beside its place and then renamed: it is there complete, or as it was before.

    Parameters
    ----------
    path
        The file, in a folder that exists.
    documents, title, opening, tables
        As in `render_report`.

    Examples
    --------
    >>> import tempfile
    >>> import labelproof as lp
    >>> found = lp.audit([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0], [0, 1, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/report.html", [found.document])
    ...     os.listdir(folder)
    ['report.html']
    """
    write_text(path, render_report(documents, title=title, opening=opening, tables=tables))


def write_findings(path: str | os.PathLike[str], page: Findings) -> None:
    """Write the report of an audit of a vocabulary or an index, as one HTML file, complete or not at all.

    Parameters
    ----------
    path
        The file, in a folder that exists.
    page
        As in `render_findings`.

    Examples
    --------
    >>> from labelproof.auditing import audit_vocabulary
    >>> from labelproof.report import vocabulary_page
    >>> page = vocabulary_page(audit_vocabulary([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]]).document)
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_findings(f"{folder}/report.html", page)
    ...     os.listdir(folder)
    ['report.html']
    """
    write_text(path, render_findings(page))


def render_findings(page: Findings) -> str:
    """Return the report of an audit that is no list of label sets, as HTML.

    Parameters
    ----------
    page
        What `vocabulary_page` or `index_page` lays out.

    Returns
    -------
    str

    Examples
    --------
    >>> from labelproof.auditing import audit_vocabulary
    >>> from labelproof.report import vocabulary_page
    >>> page = vocabulary_page(audit_vocabulary([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]]).document)
    >>> "1 of 4 tokens can never be ranked first" in render_findings(page)
    True
    """
    style = base_style() + _static("report.css") + _static("findings.css")
    policy = f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    return _environment().get_template("findings.html.j2").render(page=page, style=style, policy=policy)


def render_report(
    documents: Sequence[AuditDocument],
    *,
    title: str | None = None,
    opening: Opening | None = None,
    tables: Sequence[Table] = (),
) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    documents
        The audits, at least one.
    title
        What stands above; default: the model's name, or how many models there are.
    opening
        What is said first of several audits, with one caption for each; default: who loses the most label sets.
    tables
        Shown above the audits.

    Raises
    ------
    ValueError
        If there is no audit.
    ImportError
        If jinja2 is not installed.

    Examples
    --------
    >>> import labelproof as lp
    >>> found = lp.audit([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0], [0, 1, 2]])
    >>> "1 of 2 distinct label sets can never be predicted" in render_report([found.document], title="Mine")
    True
    """
    if not documents:
        raise ValueError("documents must hold at least one audit, got none")
    if opening is not None and len(opening.captions) != len(documents):
        raise ValueError(f"opening must have {len(documents)} captions, one an audit, got {len(opening.captions)}")
    sections = [lay_out(document, f"audit{i}") for i, document in enumerate(documents, start=1)]
    style, script = base_style() + _static("report.css"), _static("report.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    names = [document["layer"]["model"] for document in documents]
    if len(documents) > 1:
        opening = opening or open_comparison(documents)
    return _environment().get_template("report.html.j2").render(
        title=title or (names[0] if len(names) == 1 else f"{len(names)} models side by side"),
        sections=sections,
        opening=opening,
        models=() if opening is None else compare(sections, opening.captions),
        agreement=agreement(documents),
        tables=tables,
        style=style,
        script=script,
        policy=policy,
    )  # fmt: skip


def _static(name: str) -> str:
    """Read a file of the package; universal newlines, since the browser hashes what it reads so."""
    return files("labelproof.report").joinpath("static", name).read_text("utf-8")


def _hash(text: str) -> str:
    """Name an inline element's text for the Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment() -> "Environment":
    need("jinja2", "a report")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("labelproof.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters.update(number=number, plural=plural, times=times, cell=_cell, part=_part, separator=separator)
    environment.globals.update(kinds=KINDS, open_conflicts=OPEN_CONFLICTS, first_rows=FIRST_ROWS, most_sets=MOST_SETS)
    return environment


def _shown(value: Any) -> Any:
    """Make the hidden characters of every text visible, whatever its source."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _cell(value: Cell) -> str:
    """Write a cell of a table: whole numbers in full, others with four digits that count."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _part(value: float | None) -> str:
    """Write a share between 0 and 1."""
    return "" if value is None else f"{100 * value:.0f} %" if value >= 0.01 else "< 1 %"
