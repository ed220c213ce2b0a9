"""Reports: what records say, as one page to look at."""

from heros.report.page import write_report

__all__ = ["write_report"]
