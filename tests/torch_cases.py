"""The perceptrons that PyTorch has trained: see make_golden.py.

Those of torch_trajectories.npz: optimiser, learning rate, hidden units, values per feature, classes; those of
torch_numbers.npz, whose target is a number: the loss instead of the classes.
"""

from pathlib import Path

import numpy as np

CASES = {
    "adam-dense": ("adam", 0.005, 20, [0] * 10, 5),
    "adam-dense-wide": ("adam", 0.0005, 80, [0] * 6, 3),
    "adam-one-hot": ("adam", 0.005, 20, [0, 0, 5, 20, 9], 2),
    "sgd-dense": ("sgd", 0.05, 20, [0] * 10, 5),
    "sgd-one-hot": ("sgd", 0.05, 20, [0, 0, 5, 20, 9], 2),
}
NUMBERS = {
    "adam-squared": ("adam", 0.005, 20, [0] * 10, "squared"),
    "adam-huber-one-hot": ("adam", 0.005, 20, [0, 0, 5, 20, 9], "huber"),
    "sgd-squared-one-hot": ("sgd", 0.02, 20, [0, 0, 5, 20, 9], "squared"),
    "sgd-huber-wide": ("sgd", 0.02, 80, [0] * 6, "huber"),
}
NUMBERS_FILE = Path(__file__).parent / "data" / "torch_numbers.npz"


def arrays_of(case):
    """What PyTorch made of one of the NUMBERS."""
    with np.load(NUMBERS_FILE) as golden:
        return {
            name.removeprefix(case + "/"): golden[name]
            for name in golden.files
            if name.startswith(case + "/")
        }
