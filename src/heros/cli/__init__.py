"""The command line: `heros`."""

from heros.cli import compare, doctor, listing, paper, report, run, streams  # each adds its commands
from heros.cli.app import app

__all__ = ["app", "compare", "doctor", "listing", "paper", "report", "run", "streams"]
