"""The state of an evaluation: the model, the measures, the curves and the costs so far."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros._base.phases import PHASES
from heros._base.tables import short
from heros.drift.changes import Change, counted_from
from heros.drift.onset import errors_of, losses_of, with_onsets
from heros.ensemble import Block, Heros
from heros.ensemble.settings import settings_of
from heros.measures import Measure
from heros.measures.base import Caption, Predicted, joined, stacked
from heros.measures.classification import Counted
from heros.meters import Carbon, Energy, Meter
from heros.pools.timing import price_list
from heros.run.baselines import Baselines
from heros.run.curves import MOST_POINTS, Curves, Points
from heros.run.predictions import Predictions
from heros.run.result import Callback, Price, Reading, Run, Window
from heros.run.validation import PENDING, expect_fit
from heros.storage import archive
from heros.streams.live import Source

SHOWN = 2  # number of measures in the progress bar
BEFORE = ("earlier", "looked_before", "trained_before", "invested_before")
"""Costs before the run: CPU seconds of each phase; evaluations, training steps, investment of each model."""


class Evaluation:
    """The state of an evaluation, which trains on blocks of instances and returns a `Run`.

    Parameters are as for `evaluate`. The measures must be empty and the meter must be running. `keep`
    sets whether all predictions are kept; with None, predictions are kept only if a measure needs them.
    `weights` holds the weight of each instance, in the order of the stream.
    """

    def __init__(
        self,
        model: Heros,
        stream: Source,
        meter: Meter,
        measures: Sequence[Measure],
        *,
        window: int,
        exact: bool,
        keep: bool | None = None,
        callbacks: Sequence[Callback] = (),
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.model, self.stream, self.meter, self.measures = model, stream, meter, tuple(measures)
        self.window, self.exact, self._weights = window, exact, weights
        self.points = Points([measure.name for measure in measures], None if exact else MOST_POINTS)
        self._keep, self._callbacks, self.stopped = keep, tuple(callbacks), False
        measured = any(measure.predictions is not None for measure in measures)
        # the predictions, if no measure stores predictions
        self._stored: list[Predicted] | None = [] if keep and not measured else None
        self.n = self.pending = 0  # numbers of instances in finished windows, and in the unfinished window
        self.spent = self.reward = 0.0
        self._window: list[tuple[NDArray[np.int64], Block]] = []  # blocks of the unfinished window
        self._began, self._started = time.perf_counter(), meter.clock()
        self._before: dict[str, NDArray[Any]] = {}  # the costs of the model before this run
        self._last_cpu = np.zeros(len(PHASES))
        self._baselines = Baselines(model.task.numeric)

    @property
    def instances(self) -> int:
        """The number of training instances so far."""
        return self.n + self.pending

    @property
    def until_callback(self) -> int | None:
        """The number of instances until the next call of the callbacks; None if there are no callbacks."""
        return self.window - self.pending if self._callbacks else None

    @property
    def predictions(self) -> list[Predicted]:
        """The targets and predictions of each finished window; empty if predictions are not stored."""
        if self._stored is not None:
            return self._stored
        return next((m.predictions for m in self.measures if m.predictions is not None), [])

    def learn(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Predict a block of instances, then train on it; the block is split at the ends of windows."""
        self.model.bind(self.stream.schema)
        if not self._before:
            costs = self._cpu_of_model(), self.model.evaluated, self.model.trained, self.model.invested
            self._before = dict(zip(BEFORE, costs, strict=True))
        start, stream = 0, self.stream
        answers, weights, delays = stream.answers(), stream.weights(), stream.delays()
        while start < len(y):
            stop = min(len(y), start + self.window - self.pending)
            labels = y[start:stop]
            counts = self._next_weights(len(labels)) if weights is None else weights[start:stop]
            late = None if delays is None else delays[start:stop]
            block = self.model.test_then_train(X[start:stop], labels, counts, late)
            if answers is not None:
                block = replace(
                    block, probabilities=_earlier_outputs(answers[start:stop], block.probabilities)
                )
            self._window.append((labels, block))
            self.pending += stop - start
            start = stop
            if self.pending == self.window:
                self._close_window()

    def _next_weights(self, n: int) -> NDArray[np.float64] | None:
        if self._weights is None:
            return None
        if self.stream.bad_rows.count:
            rule = "weights must be a column of the stream if rows are skipped (or use on_bad_row='raise')"
            raise DataError(f"{rule}. Got an array, and {self.stream.bad_rows.text()}")
        if self.instances + n > len(self._weights):
            rule = "weights must have one number per instance."
            raise DataError(f"{rule} Got only {len(self._weights)} numbers.")
        return self._weights[self.instances : self.instances + n]

    def progress_text(self) -> str:
        """Return the progress of the run in one line."""
        if self.n == 0:
            return ""
        rate = self.n / (time.perf_counter() - self._began)
        latest = ", ".join(f"{m.label} {self.points.last(m.name):.4f}" for m in self.measures[:SHOWN])
        best = shorten(short(self.model.best_model), 40)
        return f"{rate:,.0f}/s  {latest} now  γ {self.spent / self.n:.0%}  best {best}"

    def result(self, interrupted: bool = False, carbon: Carbon | None = None) -> Run:
        """Return the run, whose last window may be shorter than the others.

        `carbon` is used if the meter provides no carbon intensity.
        """
        if self.pending:
            self._close_window()
        if self.n == 0:
            if bad := self.stream.bad_rows.count:
                rule = f"{self.stream.name} must have rows that can be read"
                raise DataError(f"{rule}. Got {bad:,} bad rows: {self.stream.bad_rows.first[0]}")
            again = " (call its .restart() to start again)" if hasattr(self.stream, "restart") else ""
            rule = f"a stream with instances left{again}"
            raise ParameterError.of("stream", "evaluate", rule, self.stream)
        figures = {measure.name: measure.value for measure in self.measures}
        counted = (measure.confusion for measure in self.measures if isinstance(measure, Counted))
        model, cpu = self.model, dict(zip(PHASES, self._cpu().tolist(), strict=True))
        energy = Energy.of(self.meter.stop(), self.meter.source, cpu, self.meter.carbon or carbon)
        evaluated = model.evaluated - self._before["looked_before"]
        trained = model.trained - self._before["trained_before"]
        classes = () if model.schema is None else model.schema.classes
        whole = self._keep is not False and _count(self.predictions) == self.n
        predictions = Predictions(*joined(self.predictions), classes) if whole else None
        prices = price_list(model.bound, model.instances)  # takes time, so the meter is stopped first
        shares = [] if prices is None else [part / self.n for part in prices.total(evaluated, trained)]
        return Run(
            stream=self.stream.name,
            model=repr(model),
            n_instances=self.n,
            figures=figures,
            measures=tuple(map(Caption.of, self.measures)),
            confusion=next(counted, None),
            baselines=self._baselines.figures(),
            gamma_spent=self.spent,
            reward=self.reward,
            evaluated=evaluated,
            trained=trained,
            invested=model.invested - self._before["invested_before"],
            diverged=int(model.diverged.sum()),
            price=Price(*shares) if shares else None,
            cpu=cpu,
            energy=energy,
            curves=Curves.of(self.points.columns()),
            window=self.window,
            settings=settings_of(model),
            drifts=self.stream.drifts,
            changes=self._changes(),
            searched=True,
            reading=Reading(self.stream.target, self.stream.schema.ignored, self.stream.schema.words),
            importance=model.importance().since(model.instances - self.n) if model.explainable else None,
            bad_rows=self.stream.bad_rows,
            interrupted=interrupted,
            classes=classes,
            predictions=predictions,
        )

    def _changes(self) -> tuple[Change, ...]:
        """Return the changes; if predictions are stored, use them to estimate when each change began."""
        changes = counted_from(self.model.changes, self.model.instances - self.n)
        if not changes or _count(self.predictions) != self.n:
            return changes
        (labels, outputs), numeric = joined(self.predictions), self.model.task.numeric
        return with_onsets(changes, losses_of(labels, outputs, numeric), errors_of(labels, outputs, numeric))

    # -- for checkpoints ----------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state needed to resume the run, without the model, the stream and the predictions."""
        spent = self.meter.clock() - self._started, time.perf_counter() - self._began
        arrays = {
            "totals": np.array([self.spent, self.reward, *spent]),
            **self._before,
            "last_cpu": self._last_cpu,
        }
        groups = {"baselines": self._baselines.state()}
        if len(self.points):
            groups["curves"] = self.points.columns()
        if self._window:
            groups["pending"] = pending = self._pending()
            pending["chosen"] = pending["chosen"].view(np.uint8)
        stored = [measure for measure in self.measures if measure.predictions is None]
        groups |= {f"measures/{measure.name}": measure.state() for measure in stored}
        return {"n": self.n, "pending": self.pending}, arrays | archive.grouped(groups)

    def _pending(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the unfinished window."""
        return {
            "labels": np.concatenate([labels for labels, _ in self._window]),
            "probabilities": stacked([block.probabilities for _, block in self._window]),
            **{
                name: np.concatenate([getattr(block, name) for _, block in self._window])
                for name in ("chosen", "spent", "reward")
            },
        }

    def restore(
        self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], predictions: list[Predicted]
    ) -> None:
        """Restore the state that `state` returned, and the predictions made before."""
        if not self.model.task.numeric:
            predictions = [(labels.astype(np.int64), p) for labels, p in predictions]
        self.n, self.pending = int(document["n"]), int(document["pending"])
        expect_fit(arrays, self)
        self.spent, self.reward, cpu, wall = arrays["totals"].tolist()
        self._started, self._began = self.meter.clock() - cpu, time.perf_counter() - wall
        self._before, self._last_cpu = {name: arrays[name] for name in BEFORE}, arrays["last_cpu"]
        self._baselines.restore(archive.subset(arrays, "baselines"))
        self.points.restore(archive.subset(arrays, "curves"))
        for measure in self.measures:
            if measure.predictions is None:
                measure.restore(archive.subset(arrays, f"measures/{measure.name}"))
            elif _count(predictions) != self.n:
                raise DataError("The checkpoint must have one prediction per instance of finished windows.")
            else:
                measure.predictions = list(predictions)
        if self._stored is not None:
            if _count(predictions) != self.n:
                rule = "False, because the checkpoint has no predictions"
                raise ParameterError.of("predictions", "evaluate", rule, True)
            self._stored = list(predictions)
        if self.pending:
            labels, p, chosen, spent, reward = (arrays[f"pending/{name}"] for name in PENDING)
            nobody = np.full(self.pending, -1, dtype=np.int32)  # no later step uses the predicting model
            self._window = [(labels, Block(p, nobody, chosen != 0, spent, reward))]

    # -- windows --------------------------------------------------------------------------------------------

    def _close_window(self) -> None:
        window = self._pending()
        y, p = window["labels"], window["probabilities"]
        self.meter.sample()
        figures = {measure.name: measure.add(y, p) for measure in self.measures}
        self._baselines.update(y)
        if self._stored is not None:
            self._stored.append((y, p))
        spent, reward = float(window["spent"].sum()), float(window["reward"].sum())
        self.n += len(y)
        self.spent, self.reward = self.spent + spent, self.reward + reward
        cpu = self._cpu()
        costs = {"spent": spent, "reward": reward, "cpu": cpu - self._last_cpu}
        models = {"trained": window["chosen"].sum(axis=0), "scores": self.model.scores}
        invested = self.model.invested - self._before["invested_before"]
        self.points.add({"end": self.n, **figures, **costs, **models, "invested": invested})
        self._last_cpu, self._window, self.pending = cpu, [], 0
        for callback in self._callbacks:
            result = callback(Window(self.n, figures, self.spent / self.n, self.model, self.measures))
            self.stopped = self.stopped or result is True or (isinstance(result, np.bool_) and bool(result))

    def _cpu(self) -> NDArray[np.float64]:
        """Return the CPU seconds of each phase since the start; the last phase, "other", is the remainder."""
        cpu: NDArray[np.float64] = self._cpu_of_model() - self._before["earlier"]
        cpu[-1] = max(0.0, self.meter.clock() - self._started - float(cpu[:-1].sum()))
        return cpu

    def _cpu_of_model(self) -> NDArray[np.float64]:
        return np.array(list(self.model.cpu_seconds.values()))


def _count(predictions: Sequence[Predicted]) -> int:
    return sum(len(labels) for labels, _ in predictions)


def _earlier_outputs(
    answers: Sequence[NDArray[np.float64] | None], now: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return earlier predictions as an array; classes added after a prediction get probability 0."""
    earlier = np.zeros_like(now)
    for row, answer in zip(earlier, answers, strict=True):
        if answer is None:  # the model was not trained yet
            row[:] = 1 / len(row)
        else:
            row[: len(answer)] = answer
    return earlier
