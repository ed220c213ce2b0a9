"""Reports: one HTML page about recorded runs."""

from heros.run.report.page import write_report

__all__ = ["write_report"]
