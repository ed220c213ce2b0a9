"""The compiled core of HEROS. Private: use the classes of the heros package."""

import numpy as np
from numpy.typing import NDArray

class Agrawal:
    def __init__(self, function: int, seed: int, perturbation: float, balance: bool, /) -> None: ...
    def fill(self, X: NDArray[np.float64], y: NDArray[np.int64], /) -> None: ...

class RandomRBF:
    def __init__(
        self,
        classes: int,
        features: int,
        centroids: int,
        model_seed: int,
        instance_seed: int,
        drifting: int,
        speed: float,
        /,
    ) -> None: ...
    def fill(self, X: NDArray[np.float64], y: NDArray[np.int64], /) -> None: ...

class LED:
    def __init__(self, drift: int, seed: int, noise: int, /) -> None: ...
    def fill(self, X: NDArray[np.float64], y: NDArray[np.int64], /) -> None: ...

class Drift:
    def __init__(self, position: int, width: int, seed: int, /) -> None: ...
    def fill(self, after: NDArray[np.bool_], /) -> None: ...
