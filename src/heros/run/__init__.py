"""Test, then train, over a stream: the loop, what it knows on its way, and what it gives."""

from heros.run.loop import evaluate
from heros.run.result import Curves, Price, Run

__all__ = ["Curves", "Price", "Run", "evaluate"]
