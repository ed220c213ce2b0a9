"""Writes data/torch_trajectories.npz: what PyTorch makes of perceptrons in 200 steps.

Run with torch 2.13 installed: python tests/make_golden.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from torch_cases import CASES

STEPS = 200


def instances(values, rng):
    """X with codes, and the dense inputs PyTorch sees: numbers first, then one input per category."""
    columns = [
        rng.integers(0, n, STEPS) if n else rng.standard_normal(STEPS).astype(np.float32) for n in values
    ]
    X = np.array(columns, dtype=np.float64).T
    numbers = [X[:, f : f + 1] for f, n in enumerate(values) if not n]
    categories = [np.eye(n)[X[:, f].astype(int)] for f, n in enumerate(values) if n]
    return X, np.concatenate(numbers + categories, axis=1).astype(np.float32)


def trajectory(optimizer, rate, hidden, values, classes, seed):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    X, dense = instances(values, rng)
    y = (np.abs(X[:, 0]) * 2 + X[:, -1]).astype(np.int64) % classes
    net = torch.nn.Sequential(
        torch.nn.Linear(dense.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes)
    )
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    trainer = kind(net.parameters(), lr=rate)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    logits = []
    for t in range(STEPS):
        output = net(torch.from_numpy(dense[t : t + 1]))
        logits.append(output.detach().numpy()[0].copy())
        trainer.zero_grad()
        torch.nn.functional.cross_entropy(output, torch.tensor(y[t : t + 1])).backward()
        trainer.step()
    arrays = {"X": X.astype(np.float32), "y": y.astype(np.int8), "logits": np.array(logits)}
    arrays |= {f"before/{name}": value.numpy() for name, value in before.items()}
    arrays |= {f"after/{name}": value.detach().numpy() for name, value in net.state_dict().items()}
    return arrays


if __name__ == "__main__":
    golden = {
        f"{case}/{name}": value
        for seed, (case, settings) in enumerate(CASES.items())
        for name, value in trajectory(*settings, seed).items()
    }
    np.savez_compressed(Path(__file__).parent / "data" / "torch_trajectories.npz", **golden)
