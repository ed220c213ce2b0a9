"""The pool of `torch_pool` with stacked models: all models of one width use one batched product.

Fifty separate modules spend most of their time on calls. Here, all models of a width share one forward pass,
one backward pass and one update. Models that were not chosen get an update of size 0. Initial weights,
encoding, scores, policy and results are those of `TorchPool`, up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heros import Schema, policies
from torch_pool import TorchPool

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # PyTorch's defaults


class Stack:
    """Perceptrons of one width as stacked tensors; models with Adam come first."""

    def __init__(self, nets: Sequence[torch.nn.Module], rates: Sequence[float], adam: int) -> None:
        layers = [(net[0], net[2]) for net in nets]
        stacked = [
            torch.stack([first.weight.T for first, _ in layers]),
            torch.stack([first.bias[None] for first, _ in layers]),
            torch.stack([second.weight.T for _, second in layers]),
            torch.stack([second.bias[None] for _, second in layers]),
        ]
        self.parameters = [tensor.detach().contiguous().requires_grad_() for tensor in stacked]
        self.rates = torch.tensor(rates)
        self.adam, self.steps = adam, torch.zeros(adam)
        self.moments = [tuple(torch.zeros_like(p[:adam]) for _ in range(3)) for p in stacked]

    def logits(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return logits (models, classes) for inputs (1, n)."""
        first, bias, second, last = self.parameters
        hidden = torch.relu(torch.baddbmm(bias, inputs.expand(len(first), 1, -1), first))
        return torch.baddbmm(last, hidden, second)[:, 0]

    def update(self, gradients: Sequence[torch.Tensor], chosen: torch.Tensor) -> None:
        """Perform one step of Adam or SGD for each chosen model."""
        n, mine = self.adam, chosen[: self.adam]
        self.steps += mine
        steps = self.steps.clamp(min=1)
        size = (mine * self.rates[:n] / (1 - BETA1**steps))[:, None, None]
        root = (1 - BETA2**steps).sqrt()[:, None, None]
        first, second = ((mine * (1 - beta))[:, None, None] for beta in (BETA1, BETA2))
        plain = (chosen[n:] * self.rates[n:])[:, None, None]
        with torch.no_grad():
            for p, gradient, (m, v, space) in zip(self.parameters, gradients, self.moments, strict=True):
                g = gradient[:n]
                m.lerp_(g, first)
                v.lerp_(torch.mul(g, g, out=space), second)
                torch.sqrt(v, out=space).div_(root).add_(EPSILON)
                p[:n].sub_(torch.div(m, space, out=space).mul_(size))
                p[n:].sub_(gradient[n:].mul_(plain))


class StackedPool(TorchPool):
    """M perceptrons in one stack per width, with scores and a policy."""

    def __init__(
        self, configurations: Sequence[Mapping[str, Any]], schema: Schema, policy: policies.Policy, k: int
    ) -> None:
        super().__init__(configurations, schema, policy, k)
        self.stacks, places = [], []
        for width in sorted({c["hidden"] for c in configurations}):
            here = [i for i, c in enumerate(configurations) if c["hidden"] == width]
            here.sort(key=lambda i: configurations[i]["optimizer"])  # adam, then sgd
            rates = [configurations[i]["learning_rate"] for i in here]
            adam = sum(configurations[i]["optimizer"] == "adam" for i in here)
            self.stacks.append(Stack([self.nets[i] for i in here], rates, adam))
            places += here
        self.places = np.array(places)
        self.sizes = [len(stack.rates) for stack in self.stacks]
        self.parameters = [p for stack in self.stacks for p in stack.parameters]

    def step(self, x: NDArray[np.float64], y: int) -> None:
        """Evaluate every model, update the scores, choose models and train them."""
        index, value = self.encoder.encode(x)
        self.encoder.learn(x)
        inputs = torch.zeros(1, self.encoder.inputs)
        inputs[0, torch.from_numpy(index).long()] = torch.from_numpy(value)
        logits = torch.cat([stack.logits(inputs) for stack in self.stacks])
        hits = np.empty(len(self.places))
        hits[self.places] = (logits.argmax(1) == y).numpy()
        self.scores.update(hits)
        chosen = self.policy.choose(self.scores.values, self.costs, self.k, self.rng)
        trained = torch.from_numpy(chosen[self.places].astype(np.float32))
        targets = torch.full((len(self.places),), y)
        losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
        gradients = torch.autograd.grad((losses * trained).sum(), self.parameters)
        for i, (stack, part) in enumerate(zip(self.stacks, trained.split(self.sizes), strict=True)):
            stack.update(gradients[4 * i : 4 * i + 4], part)
