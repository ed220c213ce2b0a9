"""The perceptrons of torch_trajectories.npz: optimiser, learning rate, hidden units, values per feature, classes."""

CASES = {
    "adam-dense": ("adam", 0.005, 20, [0] * 10, 5),
    "adam-dense-wide": ("adam", 0.0005, 80, [0] * 6, 3),
    "adam-one-hot": ("adam", 0.005, 20, [0, 0, 5, 20, 9], 2),
    "sgd-dense": ("sgd", 0.05, 20, [0] * 10, 5),
    "sgd-one-hot": ("sgd", 0.05, 20, [0, 0, 5, 20, 9], 2),
}
