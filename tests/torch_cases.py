"""The perceptrons trained by PyTorch: see make_golden.py.

The cases of torch_trajectories.npz: optimizer, learning rate, hidden units, values per feature, classes. Cases of
torch_numbers.npz have a numeric target: the loss replaces the classes.
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
    """Return PyTorch's result for one of NUMBERS."""
    with np.load(NUMBERS_FILE) as golden:
        return {
            name.removeprefix(case + "/"): golden[name]
            for name in golden.files
            if name.startswith(case + "/")
        }
