"""Reports: one HTML page about recorded runs."""

from heros.report.page import write_report

__all__ = ["write_report"]
