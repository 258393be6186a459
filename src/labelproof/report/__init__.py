"""The audit as one HTML file for people: it needs no network, prints, and shows what every verdict rests on."""

from labelproof.report.index_page import index_page
from labelproof.report.model_differences import Difference, agreement
from labelproof.report.opening import Opening
from labelproof.report.rendering import render_findings, render_report, write_findings, write_report
from labelproof.report.table import Table
from labelproof.report.vocabulary_page import vocabulary_page

__all__ = [
    "Difference",
    "Opening",
    "Table",
    "agreement",
    "index_page",
    "render_findings",
    "render_report",
    "vocabulary_page",
    "write_findings",
    "write_report",
]
