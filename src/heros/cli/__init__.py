"""The command line: `heros`."""

from heros.cli import checkpoints, compare, doctor, listing, report, run, streams  # each adds its commands
from heros.cli.app import app

__all__ = ["app", "checkpoints", "compare", "doctor", "listing", "report", "run", "streams"]
