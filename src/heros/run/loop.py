"""Test-then-train evaluation of a model on a stream, including its cost."""

from __future__ import annotations

import os
import zlib
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros import streams
from heros._base.errors import DataError, DataNotice, ParameterError
from heros._base.lazy import pa
from heros._base.notices import notice
from heros._base.parameters import expect_list, one_of, whole
from heros._base.progress import progress as progress_bar
from heros.data.frames import is_frame, table_of
from heros.data.weights import checked_weights, notify_unknown_classes
from heros.ensemble import Heros
from heros.ensemble.schedule import Schedule
from heros.measures import Measure
from heros.measures.custom import Own, expect_measure
from heros.meters import CarbonSignal, Cpu, Meter
from heros.run.checkpoints import Checkpointer, CheckpointWarning
from heros.run.curves import Curves
from heros.run.interrupt import Interrupts
from heros.run.result import Callback, Run, checked_callbacks
from heros.run.state import Evaluation
from heros.streams.bad_rows import BrokenOff
from heros.streams.live import END, IDLE, Source, expect_source
from heros.streams.live.base import Block, Signal

TIMEOUT = 0.2
"""The time in seconds to wait for a full block before the model is trained on the rows that have arrived."""


def evaluate(
    model: Heros,
    stream: Any,
    *,
    target: str | int | None = None,
    weights: ArrayLike | str | None = None,
    measures: Iterable[Measure] | None = None,
    window: int = 1000,
    block: int = 4096,
    meter: Meter | None = None,
    exact: bool = True,
    predictions: bool | None = None,
    callback: Callback | Sequence[Callback] | None = None,
    progress: bool | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 100_000,
    keep: int = 3,
    resume: bool | str | os.PathLike[str] = False,
    on_checkpoint_error: Literal["raise", "warn"] = "raise",
    allow_code: bool = False,
    on_interrupt: Literal["return", "raise"] = "return",
    carbon: str | os.PathLike[str] | Iterable[Any] | CarbonSignal | None = None,
    carbon_delay: float | str = "6h",
) -> Run:
    """Evaluate and train `model` on the rest of `stream`: predict each instance, then train on it.

    Ctrl-C ends the evaluation after the current block. A checkpoint is written if `checkpoint` is given, and
    the result so far is returned; its `Run.interrupted` is True. A second Ctrl-C, or Ctrl-C before any
    training, raises KeyboardInterrupt. If more than one row in twenty is bad, the evaluation ends in the same
    way, and a `heros.DataNotice` is issued; `Run.bad_rows` shows the first bad rows.

    If the model has a power budget, e.g. ``budget="500 J/h"``, the energy used in a clock hour exceeds the
    budget by at most 1 %. When the energy of an hour is spent, the stream is not read until the next hour
    begins. In this case, a `heros.WaitNotice` is issued; a checkpoint is written if `checkpoint` is given.

    Parameters
    ----------
    model
        The model. It is bound to the stream's schema, unless it is already bound.
    stream
        The stream, read from its current position to its end. Other sources are a data frame (pandas, polars,
        Arrow), a pair ``(X, y)`` of rows and labels, and any object with a `schema` and
        ``poll(most, timeout)`` (see `heros.streams.live.Source`). An iterable of (features, label) pairs,
        such as a River data set, is also accepted (see `heros.streams.from_iter`).
    target
        The target column of a data frame; by default the last column.
    weights
        The weight of each instance in training (see `Heros.learn`): an array in the order of the stream, or
        the name of a column. This column is then not used as a feature (see also `weights` of
        `heros.streams.read`). Measures do not use the weights.
    measures
        The measures to compute: objects of `heros.measures`, or any objects with a `name`, an
        ``update(y, output)`` and a `value` (see `heros.measures.Measure` for optional methods). The run uses
        empty copies of these objects. The default for classification is AUROC, accuracy, κ and log-loss.
    window
        The number of instances per point of the curves.
    block
        The maximum number of instances read at a time.
    meter
        The energy meter; `heros.meters.Cpu()` by default.
    exact
        Whether to keep all probabilities (8 bytes per class and instance) for exact values of measures that
        need them. Otherwise such measures use a histogram in constant memory, for endless streams (see
        `heros.measures.RunningAuroc`), and the curves have at most 1000 points.
    predictions
        Whether to keep all predictions in `Run.predictions`; by default only if a measure needs them, as the
        exact AUROC does.
    callback
        A function, or a list of functions, called with a `heros.run.Window` at the end of each window. If a
        function returns True, the run ends after this window, and `Run.interrupted` is True.
    progress
        Whether to show a progress bar; by default on a terminal and in a notebook. A string replaces the
        stream's name in the bar.
    checkpoint
        A directory for the checkpoints of this run only. If the process is killed and the run is resumed, the
        results are bit for bit the same as without the kill (see docs/reliability.md).
    every
        The number of instances between checkpoints. Another checkpoint is written at the end of the stream,
        or when reading the stream fails.
    keep
        The number of checkpoints to keep.
    resume
        Whether to resume from the newest intact checkpoint, or the path of a checkpoint. If there is no
        checkpoint, a new run starts. Model, stream, measures and settings must be the same as in the
        checkpoint. The stream seeks to its position, or is read again from its start, and the state of the
        model is replaced.
    on_checkpoint_error
        If a checkpoint cannot be written: "raise" a HerosError, or "warn" with a
        `heros.run.checkpoints.CheckpointWarning` and continue. Earlier checkpoints are not changed.
    allow_code
        Whether checkpoints may hold your own models and models of other libraries (`heros.pools.Models`) as
        pickles. Loading a pickle can run any code. Therefore resume such a run only from a directory that
        only you can write to. Without `allow_code`, a run with such models cannot have checkpoints.
    on_interrupt
        On Ctrl-C, "return" the results so far, or "raise" a KeyboardInterrupt immediately, e.g. in a program
        with several runs.
    carbon
        The carbon intensity of the grid over time: a file or URL whose rows hold a time and g CO2e per kWh
        (see `heros.meters.CarbonSignal`). The stream is read when this intensity is lowest within
        `carbon_delay`.
    carbon_delay
        The maximum time for which `carbon` may delay an instance: a number of seconds, or a string like "6h".

    Examples
    --------
    >>> from heros import Heros, evaluate, measures, pools, streams
    >>> model = Heros(pools.MLPGrid(hidden=[16, 64], learning_rates=[0.05, 0.005]), k=4, seed=1)
    >>> run = evaluate(model, streams.RandomRBF(classes=3).take(5000))
    >>> run.n_instances, run.accuracy > 0.7, len(run.curves.end)
    (5000, True, 5)
    >>> model = Heros(pools.MLPGrid(hidden=[16, 64], learning_rates=[0.05, 0.005]), k=4, seed=1)
    >>> run = evaluate(model, streams.RandomRBF(classes=3).take(5000), measures=[measures.F1()])
    >>> run.f1 > 0.7, list(run.figures)
    (True, ['f1'])
    """
    if not isinstance(model, Heros):
        raise ParameterError.of("model", "evaluate", "a Heros", model)
    column = weights if isinstance(weights, str) else None
    source = _source_of(stream, target, column, model.given_task)
    counts = None if weights is None or column else _counts_of(weights, source)
    callbacks = checked_callbacks(callback)
    window, block = whole(window, "window", "evaluate", 1), whole(block, "block", "evaluate", 1)
    meter = Cpu() if meter is None else meter
    if not isinstance(meter, Meter):
        raise ParameterError.of("meter", "evaluate", "a meter, e.g. heros.meters.Cpu()", meter)
    if carbon is not None and meter.carbon is not None:
        rule = "left out, because the meter already provides a carbon intensity"
        raise ParameterError.of("carbon", "evaluate", rule, carbon)
    if checkpoint is not None:
        _expect_storable(model, allow_code)
    elif resume:
        raise ParameterError.of("resume", "evaluate", "used with 'checkpoint'", resume)
    one_of(on_interrupt, "on_interrupt", "evaluate", ("return", "raise"), "'return' or 'raise'")
    if model.schema is not None:
        source.read_as(model.schema, model.instances)
    model.adopt_task(source.schema)
    notify_unknown_classes(model.class_weight, source.schema.classes)
    wanted = model.task.measures() if measures is None else measures
    settings: dict[str, Any] = {"window": window, "exact": bool(exact)}
    empty = _empty_measures(wanted, bool(exact), checkpoint is not None, model.task.numeric)
    with ExitStack() as at_the_end:
        checkpointer = None
        if checkpoint is not None:
            how: dict[str, Any] = {"keep": keep, "on_error": on_checkpoint_error, "allow_code": allow_code}
            checkpointer = Checkpointer(checkpoint, every=every, resume=resume, **how)
            at_the_end.callback(checkpointer.close)
        schedule = Schedule.of(model.budget, carbon, carbon_delay, checkpoint)
        if schedule is not None:
            at_the_end.callback(schedule.close)
        meter.start(checkpointer.earlier if checkpointer else None)
        at_the_end.callback(meter.abandon)
        evaluation = Evaluation(
            model, source, meter, empty, **settings, keep=predictions, callbacks=callbacks, weights=counts
        )
        if checkpointer:
            checksum = None if counts is None else zlib.crc32(counts.tobytes())
            settings |= {"measures": [one.name for one in empty], "weights": source.weighed or checksum}
            checkpointer.restore(evaluation, settings, block, None if isinstance(progress, str) else progress)
        source.meet(model)
        if schedule is not None:
            schedule.begin()
        interrupted = _learn(evaluation, block, checkpointer, schedule, progress, on_interrupt)
        if schedule is not None:
            schedule.close()
        if interrupted and evaluation.instances == 0:
            raise KeyboardInterrupt
        return evaluation.result(interrupted, None if schedule is None else schedule.carbon)


def _learn(
    evaluation: Evaluation,
    block: int,
    checkpointer: Checkpointer | None,
    schedule: Schedule | None,
    progress: bool | str | None,
    on_interrupt: str,
) -> bool:
    """Train until the stream ends; return whether the run was stopped early."""
    stream = evaluation.stream
    label, wanted = (progress, None) if isinstance(progress, str) else (stream.name, progress)
    with (
        progress_bar("count", "{task.fields[standing]}", wanted=wanted) as bar,
        Interrupts(wanted=on_interrupt == "return") as interrupts,
    ):
        task = bar.add_task(label, total=_instances_left(stream), standing="")
        while not (interrupts.requested or evaluation.stopped):
            try:
                polled = _next_block(evaluation, block, checkpointer, schedule, interrupts)
            except BrokenOff as error:
                if evaluation.instances == 0:
                    raise
                notice(f"The run ends early: {error}", DataNotice)
                evaluation.stopped = True
                break
            except Exception:  # write a checkpoint: the run can be resumed when the stream is repaired
                if checkpointer:
                    checkpointer.write(evaluation)
                raise
            if polled is END:
                break
            if isinstance(polled, Signal):
                evaluation.meter.sample()  # otherwise its counters could wrap around unnoticed
            else:
                evaluation.learn(*polled)
                if schedule is not None:
                    schedule.note(len(polled[1]))
                if checkpointer:
                    checkpointer.add(polled, evaluation)
                bar.advance(task, len(polled[1]))
            wait = None if schedule is None else schedule.wait
            standing = evaluation.progress_text() if wait is None else str(wait)
            bar.update(task, standing="" if bar.disable else standing)
    if checkpointer:
        checkpointer.write(evaluation, at_the_end=True)
    return interrupts.requested or evaluation.stopped


def _next_block(
    evaluation: Evaluation,
    block: int,
    checkpointer: Checkpointer | None,
    schedule: Schedule | None,
    interrupts: Interrupts,
) -> Block | Signal:
    """Return the next block; return IDLE if no instance arrives, or after a pause if training must wait."""
    stream = evaluation.stream
    most = block if checkpointer is None else min(block, checkpointer.until_checkpoint(evaluation))
    most = min(most, evaluation.until_callback or most)
    if schedule is None:
        return interrupts.poll(stream, most, TIMEOUT)
    most = schedule.allowed(most)
    if most == 0:
        if checkpointer:
            checkpointer.write(evaluation)
        interrupts.call(partial(schedule.clock.sleep, schedule.pause))
        stream.hold()
        return IDLE
    began = schedule.clock.now()
    came = interrupts.poll(stream, most, TIMEOUT)
    waited = came is IDLE or schedule.clock.now() - began >= TIMEOUT / 2
    if waited and (isinstance(came, Signal) or len(came[1]) < most) and not interrupts.requested:
        schedule.drained(began)  # everything that arrived before this poll has been read
    return came


def _counts_of(weights: ArrayLike, source: Source) -> NDArray[np.float64]:
    """Return the checked weights, one number per instance."""
    if source.weighed is not None:
        rule = f"left out, because the column {source.weighed!r} of the stream has the weights"
        raise ParameterError.of("weights", "evaluate", rule, weights)
    counts, remaining = checked_weights(weights, np.size(weights)).reshape(-1), _instances_left(source)
    if remaining is not None and remaining != len(counts):
        raise DataError(
            f"weights must have one number per instance ({remaining}). Got {len(counts)} instead."
        )
    return counts


def _source_of(stream: Any, target: str | int | None, weights: str | None, task: str | None) -> Source:
    """Convert a data frame, a pair (X, y) or an iterable of pairs to a stream; return a source unchanged."""
    if is_frame(stream):
        return streams.from_frame(stream, target=target, weights=weights, task=task)
    if target is not None:
        raise ParameterError.of("target", "evaluate", "left out, unless the stream is a data frame", target)
    if isinstance(stream, tuple) and len(stream) == 2:
        return _labelled(*stream, weights, task)
    pairs = isinstance(stream, Iterable | AsyncIterable) and not (
        isinstance(stream, Source | str | bytes | Mapping | np.ndarray) or hasattr(stream, "poll")
    )
    source = streams.from_iter(stream, task=task) if pairs else expect_source(stream, "stream", "evaluate")
    if weights is None:
        return source
    if not isinstance(source, streams.Stream):
        rule = "an array, unless the stream is a data frame or can be read again"
        raise ParameterError.of("weights", "evaluate", rule, weights)
    return source.with_weights(weights)


def _labelled(X: Any, y: Any, weights: str | None, task: str | None) -> Source:
    if not is_frame(X):
        stream = streams.from_arrays(X, y, task=task)
        return stream if weights is None else stream.with_weights(weights)
    table = table_of(X, "evaluate")
    labels = y.to_arrow() if hasattr(y, "to_arrow") else pa.array(y)
    if len(labels) != table.num_rows:
        raise DataError(f"y must have one label per row ({table.num_rows}). Got {len(labels)} instead.")
    name = "target"
    while name in table.column_names:
        name += "_"
    labelled = table.append_column(name, labels)
    return streams.from_frame(labelled, target=name, weights=weights, task=task)


def _expect_storable(model: Heros, allow_code: bool) -> None:
    """Before training, raise an error if checkpoints need pickle and `allow_code` is False."""
    if model.pool.plain:
        return
    if not allow_code:
        rule = (
            "left out, because a checkpoint cannot hold the Python objects of this pool as plain data "
            "(allow_code=True keeps them as pickles, which run code when the run is resumed)"
        )
        raise ParameterError.of("checkpoint", "evaluate", rule, model.pool)
    text = (
        "The checkpoints of this run hold pickles, which can run any code when the run is resumed. Give "
        "write access to the checkpoint directory only to people you trust."
    )
    notice(text, CheckpointWarning)


def _empty_measures(measures: object, exact: bool, has_checkpoints: bool, numeric: bool) -> list[Measure]:
    """Return an empty copy of each measure for this run; raise an error if a measure cannot be used."""
    given = expect_list(measures, "measures", "evaluate")
    checked = [expect_measure(measure, "measures", "evaluate") for measure in given]
    names = [measure.name for measure in checked]
    fields = {*Run.__dataclass_fields__, *Curves.__dataclass_fields__}
    invalid = [name for name in names if names.count(name) > 1 or hasattr(Run, name) or name in fields]
    if invalid:
        rule = "measures with distinct names that are not attributes of Run or Curves"
        raise ParameterError.of("measures", "evaluate", rule, invalid[0])
    if has_checkpoints and (without := [measure for measure in checked if not measure.resumable]):
        rule = "measures with methods 'state()' and 'restore(state)', which checkpoints need"
        raise ParameterError.of("measures", "evaluate", rule, without[0])
    empty = [measure.fresh() if exact else measure.bounded() for measure in checked]
    for measure in empty:
        if not isinstance(measure, Own) and measure.numeric != numeric:
            rule = f"measures for the model's task, {'regression' if numeric else 'classification'}"
            raise ParameterError.of("measures", "evaluate", rule, measure)
    return empty


def _instances_left(stream: Source) -> int | None:
    return None if stream.n_instances is None else stream.n_instances - stream.position
