"""Test, then train, over a stream: the loop, what it knows on its way, and what it gives."""

from heros.run.loop import evaluate
from heros.run.predictions import Predictions
from heros.run.result import Curves, Price, Run
from heros.run.windows import Window

__all__ = ["Curves", "Predictions", "Price", "Run", "Window", "evaluate"]
