"""The streams of the league, and their lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from heros import streams
from heros._base.extras import needed
from heros.streams import Stream
from heros_league.data import flights, from_river, from_sklearn, from_statsmodels, pairs, shuffled

__all__ = [
    "ALL",
    "ARENA",
    "DELAYS",
    "FURTHER",
    "LENGTH",
    "NUMBERS",
    "OTHERS",
    "PARTS",
    "SMALL",
    "TABLES",
    "WHOLE",
    "Arena",
]

LENGTH = 100_000
"""Instances of the synthetic streams, with three drifts at the quarters, and of long real streams."""

SHORT = 20_000
"""Instances of the held-out streams, and of most regression streams."""


@dataclass(frozen=True)
class Arena:
    """A stream of the league.

    Parameters
    ----------
    name
        The name in records.
    label
        The name in tables.
    open
        A function that opens the stream at its start.
    window
        The number of instances per point of the curves.
    long
        Whether the stream has 50,000 instances or more, so that learners of other libraries are run with one
        seed.
    """

    name: str
    label: str
    open: Callable[[], Stream]
    window: int = 1000
    long: bool = False


def _known(name: str, label: str, length: int | None = None, window: int = 1000) -> Arena:
    return Arena(name, label, partial(streams.load, name, length=length), window, length is not None)


def _concepts(
    name: str,
    generator: str,
    *concepts: Mapping[str, Any],
    nominal: Sequence[str] = (),
    seed: str = "seed",
    length: int = SHORT,
) -> Stream:
    """Return a stream of several concepts of a River generator in turn, each with its own seed."""
    make = getattr(needed("river.datasets.synth", "This stream", "river"), generator)
    share = length // len(concepts)
    parts = [make(**{seed: number}, **concept).take(share) for number, concept in enumerate(concepts)]
    return pairs(chain.from_iterable(parts), "classification", nominal=nominal, name=name)


def _generated(stream: Callable[[], Stream]) -> Stream:
    return stream().take(SHORT)


def _target(name: str, feature: str) -> Stream:
    """Return the beginning of a real stream, with a numeric feature as the target."""
    return streams.load(name).with_target(feature).take(SHORT)


def _friedman(drift: str) -> Arena:
    made = partial(streams.Friedman, drift, length=SHORT)
    return Arena(f"friedman_{drift}", f"Friedman, {drift}", partial(_generated, made))


def _other(name: str, label: str, generator: str, *concepts: Mapping[str, Any], **more: Any) -> Arena:
    return Arena(name, label, partial(_concepts, name, generator, *concepts, **more))


def _functions(*numbers: int) -> list[dict[str, Any]]:
    return [{"classification_function": number} for number in numbers]


def _random_trees(classes: int, numeric: int, nominal: int) -> Arena:
    sizes = {"n_classes": classes, "n_num_features": numeric, "n_cat_features": nominal}
    trees = ({"seed_tree": seed, **sizes} for seed in range(4))
    words = [f"x_cat_{i}" for i in range(nominal)]
    name, label = f"tree_{classes}", f"random trees, {classes} classes"
    return _other(name, label, "RandomTree", *trees, nominal=words, seed="seed_sample")


def _deep_trees() -> Arena:
    depth = {"max_tree_depth": 10, "first_leaf_level": 5, "n_cat_features": 0, "n_num_features": 10}
    trees = ({"seed_tree": seed, **depth} for seed in range(4))
    made = partial(_concepts, "deep_trees", "RandomTree", *trees, seed="seed_sample", length=LENGTH)
    return Arena("deep_trees", "deep random trees", made, long=True)


def _shuffled(name: str, label: str, open: Callable[[], Stream], length: int | None = None) -> Arena:
    name, long = f"{name}_shuffled", length is not None
    return Arena(name, label, partial(_in_random_order, open, length), 1000 if long else 100, long)


def _in_random_order(open: Callable[[], Stream], length: int | None) -> Stream:
    return shuffled(open(), length)


_SYNTHETIC = {"agr_a": "AGR_a", "agr_g": "AGR_g", "led_a": "LED_a", "led_g": "LED_g"} | {
    "rbf_m": "RBF_m",
    "rbf_f": "RBF_f",
}

ARENA: dict[str, Arena] = {
    arena.name: arena
    for arena in (
        _known("airlines", "airlines", LENGTH),
        _known("electricity", "electricity"),
        _known("wisdm", "WISDM", window=100),
        _known("covtype", "covtype", LENGTH),
        _known("nomao", "nomao"),
        *(_known(name, label, LENGTH) for name, label in _SYNTHETIC.items()),
    )
}
"""The eleven streams of the paper; only the first 100,000 instances of the long ones."""

SMALL: dict[str, Arena] = {
    arena.name: arena
    for arena in (
        Arena("phishing", "Phishing", partial(from_river, "Phishing"), 100),
        Arena("bananas", "Bananas", partial(from_river, "Bananas"), 100),
        Arena("segments", "ImageSegments", partial(from_river, "ImageSegments"), 100),
        Arena("digits", "digits", partial(from_sklearn, "digits"), 100),
        Arena("cancer", "breast cancer", partial(from_sklearn, "breast_cancer"), 100),
    )
}
"""Small data sets of River and scikit-learn as streams, in their original order."""

WHOLE: dict[str, Arena] = {
    f"{name}_whole": Arena(f"{name}_whole", name, partial(streams.load, name), long=True)
    for name in ("airlines", "covtype")
}
"""The long real streams in full length, for HEROS only."""

OTHERS: dict[str, Arena] = {
    arena.name: arena
    for arena in (
        _other("sea", "SEA", "SEA", *({"variant": variant, "noise": 0.1} for variant in range(4))),
        _other("sine", "Sine", "Sine", *_functions(0, 1, 2, 3)),
        _other("mixed", "Mixed", "Mixed", *_functions(0, 1, 0, 1)),
        _other("stagger", "STAGGER", "STAGGER", *_functions(0, 1, 2, 0), nominal=("size", "color", "shape")),
        _other("turning", "hyperplane", "Hyperplane", {"n_drift_features": 5, "mag_change": 0.001}),
        _random_trees(classes=2, numeric=5, nominal=5),
        _random_trees(classes=4, numeric=10, nominal=0),
        _other("waveform", "Waveform", "Waveform", {"has_noise": True}),
    )
}
"""Held-out streams, never used for tuning: eight River generators, most with three abrupt drifts."""

TABLES: dict[str, Arena] = {
    arena.name: arena
    for arena in (
        *(_shuffled(name, SMALL[name].label, SMALL[name].open) for name in SMALL),
        _shuffled("affairs", "affairs", partial(from_statsmodels, "fair", "affairs")),
        _shuffled("vote", "vote 1996", partial(from_statsmodels, "anes96", "vote")),
        _shuffled("visits", "doctor visits", partial(from_statsmodels, "randhie", "mdvis")),
        _shuffled("nomao", "nomao", partial(streams.load, "nomao")),
        _shuffled("covtype", "covtype", partial(streams.load, "covtype"), LENGTH),
    )
}
"""Ten tables of scikit-learn, River, statsmodels and the paper in random order, without drift."""

FURTHER: dict[str, Arena] = {
    arena.name: arena
    for arena in (Arena("nycflights", "flights from New York", flights, long=True), _deep_trees())
}
"""A year of flights, and random trees of depth 10 with three abrupt drifts."""

NUMBERS: dict[str, Arena] = {
    arena.name: arena
    for arena in (
        *map(_friedman, ("local", "global", "gradual")),
        Arena("hyperplane", "hyperplane", partial(_generated, streams.Hyperplane)),
        Arena("wave", "wave", partial(_generated, streams.Wave)),
        Arena("price", "electricity's price", partial(_target, "electricity", "nswprice")),
        Arena("elevation", "covtype's elevation", partial(_target, "covtype", "Elevation")),
        Arena("flights", "airlines' length", partial(_target, "airlines", "Length")),
        Arena("trump", "TrumpApproval", partial(from_river, "TrumpApproval", "regression"), 100),
        Arena("chicks", "ChickWeights", partial(from_river, "ChickWeights", "regression"), 100),
        Arena("stocks", "SP500Stocks", partial(from_river, "SP500Stocks", "regression"), 100),
        Arena("diabetes", "diabetes", partial(from_sklearn, "diabetes", "regression"), 100),
    )
}
"""Regression streams: generated, from real streams, and small data sets in their order."""

DELAYS: dict[str, Arena] = {
    "minutes": Arena("minutes", "minutes of delay", partial(flights, "minutes", SHORT))
}
"""The delay of flights as a number; apart from the others, since few learners have been run on it."""

PARTS = {"streams": ARENA, "tables": TABLES, "further": FURTHER, "others": OTHERS, "small": SMALL} | {
    "whole": WHOLE,
    "regression": NUMBERS,
    "delays": DELAYS,
}
ALL = {name: arena for part in PARTS.values() for name, arena in part.items()}
