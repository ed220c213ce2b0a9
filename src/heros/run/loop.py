"""Test, then train: how a model does on a stream, and what that cost."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros import streams
from heros._base.lazy import pa
from heros._base.parameters import expect_list, one_of, whole
from heros._base.progress import progress as progress_bar
from heros.data.frames import is_frame, table_of
from heros.data.weights import checked_weights
from heros.ensemble import Heros
from heros.errors import DataError, DataNotice, ParameterError
from heros.measures import Measure
from heros.measures.own import Own, expect_measure
from heros.meters import Cpu, Meter
from heros.run.checkpoints import Checkpointer, CheckpointWarning
from heros.run.curves import Curves
from heros.run.interrupt import Interrupts
from heros.run.result import Callback, Run, checked_callbacks
from heros.run.state import Evaluation
from heros.streams.live import END, Source, expect_source
from heros.streams.live.bad_rows import BrokenOff
from heros.streams.live.base import Signal

__all__ = ["Run", "evaluate"]

TIMEOUT = 0.2
"""Seconds after which rows are learnt even if a block is not full, and the display lives on if none came."""


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
) -> Run:
    """Test, then train `model` on what is left of `stream`.

    Ctrl-C ends the evaluation after the block at hand: what was learnt until then is a Run with
    `interrupted`, and the last checkpoint. Pressed again, or before anything was learnt, it is a
    KeyboardInterrupt. A stream in which more than one row in twenty is bad ends the evaluation in the same
    way, with a `heros.errors.DataNotice`; the run's `bad_rows` has the first of them.

    Parameters
    ----------
    model
        Bound to the stream's schema here, if it is not yet.
    stream
        Read from its current position to its end; what comes is learnt when it comes. A stream, or any
        object with a `schema` and a ``poll(most, timeout)`` (see `heros.streams.live.Source`). A data frame
        (pandas, polars, Arrow), a pair ``(X, y)`` of rows and labels, and an iterable of (features, label)
        pairs, such as a data set of River's (see `heros.streams.from_iter`), are streams, too.
    target
        The column of a frame that has the class; by default the last.
    weights
        What each instance counts where the model learns (see `Heros.learn`): an array in the order in which
        they come, or the column of a frame or stream that has it, which is no feature then (see also
        `weights` of `heros.streams.read`). Measures count every instance once all the same.
    measures
        What is measured; by default what the model's task says: AUROC, accuracy, κ and log-loss. Objects of
        `heros.measures`, or any with a `name`, an ``update(y, output)`` and a `value` (see
        `heros.measures.Measure` for what else one may have). They are not changed: each run has empty ones
        of its own.
    window
        Over how many instances a point of the curves is taken.
    block
        How many instances are read at a time, at most.
    meter
        What reads the energy; `heros.meters.Cpu()` by default.
    exact
        Whether figures over the whole stream that need all probabilities are exact, for which these are
        kept (8 bytes per class and instance). If not, they come from a histogram in constant memory, as
        endless streams need (see `heros.measures.RunningAuroc`), and the curves have at most 1000 points.
    predictions
        Whether the run has all predictions (`Run.predictions`): by default if a measure needs them
        anyway, as the exact AUROC does.
    callback
        A function that is called with a `heros.run.Window` whenever a window is over, or several. If one
        returns True, the run ends there, and is `interrupted`.
    progress
        Whether to show a progress bar; by default if the output is a terminal or a notebook. A text is
        what the bar calls the run then, instead of by the stream's name.
    checkpoint
        A directory, of this run only, to which checkpoints are written: all it takes to go on after a
        kill, with the results of a run that was not killed, bit for bit (see docs/reliability.md).
    every
        After how many instances one is written, besides one at the end of the stream or where it breaks
        off.
    keep
        How many of the last checkpoints stay.
    resume
        Whether to go on from the newest checkpoint that is whole, or from the file named; from the start
        if there is none. Model, stream, measures and settings have to be those of the run; the stream goes
        to where it was, or is read over from its start, and what the model has learnt is replaced.
    on_checkpoint_error
        What happens if a checkpoint cannot be written: "raise" a HerosError, or "warn" with a
        `heros.run.checkpoints.CheckpointWarning` and go on. The checkpoints before it stay as they are.
    allow_code
        Whether checkpoints may hold models of other libraries and your own (`heros.pools.Models`), as
        pickles. A pickle is a program: to resume such a run is to run what is in its directory, so let nobody
        write there whom you would not let run code. Without it such a pool has no checkpoints.
    on_interrupt
        What happens at Ctrl-C: "return" the Run so far, or "raise" a KeyboardInterrupt at once, which
        suits a program that makes several runs.

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
    source = _source_of(stream, target, column, model.task_asked)
    counts = None if weights is None or column else _counts_of(weights, source)
    callbacks = checked_callbacks(callback)
    window, block = whole(window, "window", "evaluate", 1), whole(block, "block", "evaluate", 1)
    meter = Cpu() if meter is None else meter
    if not isinstance(meter, Meter):
        raise ParameterError.of("meter", "evaluate", "a meter, e.g. heros.meters.Cpu()", meter)
    if checkpoint is None and resume:
        raise ParameterError.of("resume", "evaluate", "used with 'checkpoint'", resume)
    if checkpoint is not None:
        _expect_keepable(model, allow_code)
    choices = ("return", "raise")
    one_of(on_interrupt, "on_interrupt", "evaluate", choices, "'return' or 'raise'")
    if model.schema is not None:
        source.read_as(model.schema, model.instances)
    model.suit(source.schema)
    wanted = model.task.measures() if measures is None else measures
    empty = _empty_ones(wanted, bool(exact), checkpoint is not None)
    _expect_fitting(empty, model)
    with ExitStack() as at_the_end:
        checkpointer = None
        if checkpoint is not None:
            checkpointer = Checkpointer(
                checkpoint,
                every=every,
                keep=keep,
                resume=resume,
                on_error=on_checkpoint_error,
                allow_code=allow_code,
            )
            at_the_end.callback(checkpointer.close)
        meter.start(checkpointer.earlier if checkpointer else None)
        at_the_end.callback(meter.abandon)
        evaluation = Evaluation(
            model,
            source,
            meter,
            empty,
            window=window,
            exact=bool(exact),
            keep=predictions,
            callbacks=callbacks,
            weights=counts,
        )
        if checkpointer:
            names, weighed = [measure.name for measure in empty], source.weighed or _sum_of(counts)
            settings = {"window": window, "exact": bool(exact), "measures": names, "weights": weighed}
            checkpointer.restore(evaluation, settings, block, None if isinstance(progress, str) else progress)
        source.meet(model)
        interrupted = _learn(evaluation, block, checkpointer, progress, on_interrupt)
        if interrupted and evaluation.taken == 0:
            raise KeyboardInterrupt
        return evaluation.result(interrupted)


def _learn(
    evaluation: Evaluation,
    block: int,
    checkpointer: Checkpointer | None,
    progress: bool | str | None,
    on_interrupt: str,
) -> bool:
    """Learn until the stream ends; return whether it was stopped before."""
    stream = evaluation.stream
    label, wanted = (progress, None) if isinstance(progress, str) else (stream.name, progress)
    with (
        progress_bar("count", "{task.fields[standing]}", wanted=wanted) as bar,
        Interrupts(wanted=on_interrupt == "return") as interrupts,
    ):
        task = bar.add_task(label, total=_instances_left(stream), standing="")
        while not (interrupts.pressed or evaluation.stopped):
            try:
                most = block if checkpointer is None else min(block, checkpointer.room(evaluation))
                most = min(most, evaluation.room or most)
                came = interrupts.poll(stream, most, TIMEOUT)
            except BrokenOff as error:
                if evaluation.taken == 0:
                    raise
                warnings.warn(f"The run ends early: {error}", DataNotice, stacklevel=3)
                evaluation.stopped = True
                break
            except Exception:  # what was learnt so far is kept; the stream may be mended
                if checkpointer:
                    checkpointer.write(evaluation)
                raise
            if came is END:
                break
            if isinstance(came, Signal):
                evaluation.wait()
            else:
                evaluation.learn(*came)
                if checkpointer:
                    checkpointer.learnt(came, evaluation)
                bar.advance(task, len(came[1]))
            bar.update(task, standing="" if bar.disable else evaluation.standing())
    if checkpointer:
        checkpointer.write(evaluation, at_the_end=True)
    return interrupts.pressed or evaluation.stopped


def _counts_of(weights: ArrayLike, source: Source) -> NDArray[np.float64]:
    """What was said that the instances of the source count, one number each."""
    if source.weighed is not None:
        rule = f"left out, as {source.weighed!r} of the stream has them"
        raise ParameterError.of("weights", "evaluate", rule, weights)
    counts, left = checked_weights(weights, np.size(weights)).reshape(-1), _instances_left(source)
    if left is not None and left != len(counts):
        raise DataError(f"weights must have one per instance ({left}). Got {len(counts)} instead.")
    return counts


def _sum_of(weights: NDArray[np.float64] | None) -> int | None:
    """By which weights are known again."""
    return None if weights is None else zlib.crc32(np.ascontiguousarray(weights).tobytes())


def _source_of(stream: Any, target: str | int | None, weights: str | None, task: str | None) -> Source:
    """A source as it is; a frame, rows and labels, or pairs, as a stream; with a column of weights."""
    if is_frame(stream):
        return streams.from_frame(stream, target=target, weights=weights, task=task)
    if target is not None:
        raise ParameterError.of("target", "evaluate", "left out, unless the stream is a data frame", target)
    if isinstance(stream, tuple) and len(stream) == 2:
        return _labelled(*stream, weights, task)
    pairs = _are_pairs(stream)
    source = streams.from_iter(stream, task=task) if pairs else expect_source(stream, "stream", "evaluate")
    if weights is None:
        return source
    if not isinstance(source, streams.Stream):
        rule = "an array, unless the stream is a data frame or can be read over"
        raise ParameterError.of("weights", "evaluate", rule, weights)
    return source.with_weights(weights)


def _are_pairs(stream: Any) -> bool:
    """Whether it may give (features, label) pairs, one after the other, and is nothing else."""
    if isinstance(stream, Source | str | bytes | Mapping | np.ndarray) or hasattr(stream, "poll"):
        return False
    return isinstance(stream, Iterable | AsyncIterable)


def _labelled(X: Any, y: Any, weights: str | None, task: str | None) -> Source:
    """Rows and their labels as a stream."""
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


def _expect_keepable(model: Heros, allow_code: bool) -> None:
    """Refuse, before the run, checkpoints of what only pickle can keep, unless that was asked for."""
    if model.pool.plain:
        return
    if not allow_code:
        rule = (
            "left out, as files hold data, no code, and this pool holds Python objects (allow_code=True "
            "keeps them as pickles, which run code when the run is resumed)"
        )
        raise ParameterError.of("checkpoint", "evaluate", rule, model.pool)
    text = (
        "The checkpoints of this run hold pickles: to resume it is to run what is in their directory. Let "
        "nobody write there whom you would not let run code."
    )
    warnings.warn(text, CheckpointWarning, stacklevel=3)


def _empty_ones(measures: object, exact: bool, kept: bool) -> list[Measure]:
    """An empty measure of each kind, to be changed by this run; an error if they will not do."""
    listed = expect_list(measures, "measures", "evaluate")
    given = [expect_measure(measure, "measures", "evaluate") for measure in listed]
    names = [measure.name for measure in given]
    taken = [name for name in names if names.count(name) > 1 or hasattr(Run, name) or name in _COLUMNS]
    if taken:
        rule = "measures of different names that a Run and its curves do not have already"
        raise ParameterError.of("measures", "evaluate", rule, taken[0])
    if kept and (without := [measure for measure in given if not measure.resumable]):
        rule = "measures with methods 'state()' and 'restore(state)', which checkpoints need"
        raise ParameterError.of("measures", "evaluate", rule, without[0])
    return [measure.fresh() if exact else measure.bounded() for measure in given]


def _expect_fitting(measures: list[Measure], model: Heros) -> None:
    """Refuse measures of classes where a number is learnt, and the reverse."""
    for measure in measures:
        if not isinstance(measure, Own) and measure.numeric != model.task.numeric:
            rule = f"measures of {'numbers' if model.task.numeric else 'classes'}, as the task asks for"
            raise ParameterError.of("measures", "evaluate", rule, measure)


_COLUMNS = {*Run.__dataclass_fields__, *Curves.__dataclass_fields__}


def _instances_left(stream: Source) -> int | None:
    return None if stream.n_instances is None else stream.n_instances - stream.position
