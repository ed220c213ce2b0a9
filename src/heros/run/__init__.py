"""Test-then-train evaluation of a model on a stream: the loop, its state and its result."""

from heros.run.curves import Curves
from heros.run.loop import evaluate
from heros.run.predictions import Predictions
from heros.run.result import Price, Run, Window

__all__ = ["Curves", "Predictions", "Price", "Run", "Window", "evaluate"]
