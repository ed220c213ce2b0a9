"""The command line: `heros`."""

from heros.cli import (  # each adds its commands
    checkpoints,
    compare,
    doctor,
    listing,
    paper,
    report,
    run,
    streams,
)
from heros.cli.app import app

__all__ = ["app", "checkpoints", "compare", "doctor", "listing", "paper", "report", "run", "streams"]
