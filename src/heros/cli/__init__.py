"""The command line, `heros`. Each module adds its commands to the application."""

from heros.cli import checkpoints, compare, demo, listing, predict, results, run, serve, streams
from heros.cli.app import app

__all__ = ["app"]
