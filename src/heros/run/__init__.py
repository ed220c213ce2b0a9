"""Test, then train, over a stream: the loop, what it knows on its way, and what it gives."""

from heros.run.loop import Curves, Run, evaluate

__all__ = ["Curves", "Run", "evaluate"]
