"""The audit as one HTML file for people: it needs no network, prints, and shows what every verdict rests on."""

from labelproof.report.rendering import render_report, write_report
from labelproof.report.table import Table

__all__ = ["Table", "render_report", "write_report"]
