"""Test, then train: how a model does on a stream, and what that cost."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich.progress import MofNCompleteColumn, TextColumn

from heros.ensemble import Block, Heros
from heros.errors import ParameterError
from heros.measures import Confusion, RunningAuroc, auroc, log_loss
from heros.meters import Cpu, Energy, Meter
from heros.parameters import whole
from heros.phases import PHASES
from heros.progress import progress as progress_bar
from heros.run.curves import MOST_POINTS, add_point
from heros.settings import settings_of
from heros.storage.checkpoints import Checkpointer
from heros.storage.checkpoints.fit import PENDING, expect_fit
from heros.storage.checkpoints.predictions import Part
from heros.streams import BadRows, DriftPoint, Stream
from heros.text_table import words

__all__ = ["Curves", "Run", "evaluate"]


@dataclass(frozen=True)
class Curves:
    """What happened over time, one row per window of the stream.

    In an evaluation that is not `exact` there are at most 1000 rows: neighbouring windows are merged, and
    `end` tells how far each row goes. The figures of a merged row are means and sums over its windows.
    """

    end: NDArray[np.int64]  # (W,) the instance after the window's last
    accuracy: NDArray[np.float64]  # (W,) within the window, as are the next four
    auroc: NDArray[np.float64]
    log_loss: NDArray[np.float64]
    spent: NDArray[np.float64]  # (W,) Σγ
    reward: NDArray[np.float64]  # (W,) R
    trained: NDArray[np.int64]  # (W, M) how often each model was trained
    scores: NDArray[np.float64]  # (W, M) L at the window's end
    invested: NDArray[np.float64]  # (W, M) r at the window's end
    cpu: NDArray[np.float64]  # (W, phases) CPU seconds


@dataclass(frozen=True)
class Run:
    """How a model did on a stream, and what that cost."""

    stream: str
    model: str
    n_instances: int
    auroc: float  # over the whole stream, at its end
    accuracy: float
    kappa: float
    log_loss: float
    confusion: Confusion = field(repr=False)
    gamma_spent: float  # Σγ over all steps; n_instances is the price of training everything
    reward: float  # ΣR over all steps
    trained: NDArray[np.int64] = field(repr=False)  # (M,) how often each model was trained
    invested: NDArray[np.float64] = field(repr=False)  # (M,) r
    diverged: int  # models that ever gave a prediction that is not finite
    cpu: dict[str, float]  # CPU seconds by phase
    energy: Energy  # the bill
    curves: Curves = field(repr=False)
    window: int
    settings: dict[str, Any] = field(repr=False)  # of the model, as plain data
    drifts: tuple[DriftPoint, ...] = field(default=(), repr=False)  # where the stream is known to change
    bad_rows: BadRows = field(default=BadRows(), repr=False)  # what the stream skipped

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds in all."""
        return sum(self.cpu.values())

    @property
    def gamma_share(self) -> float:
        """Σγ as a share of the price of training everything at every step."""
        return self.gamma_spent / self.n_instances


def evaluate(
    model: Heros,
    stream: Stream,
    *,
    window: int = 1000,
    block: int = 4096,
    meter: Meter | None = None,
    exact: bool = True,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 100_000,
    keep: int = 3,
    resume: bool | str | os.PathLike[str] = False,
    on_checkpoint_error: Literal["raise", "warn"] = "raise",
) -> Run:
    """Test, then train `model` on what is left of `stream`.

    Parameters
    ----------
    model
        Bound to the stream's schema here, if it is not yet.
    stream
        Read from its current position to its end.
    window
        Over how many instances a point of the curves is taken.
    block
        How many instances are read at a time.
    meter
        What reads the energy; `heros.meters.Cpu()` by default.
    exact
        Whether the AUROC over the whole stream is exact, for which all probabilities are kept (8 bytes
        per class and instance). If not, it comes from a histogram in constant memory, as endless
        streams need (see `heros.measures.RunningAuroc`), and the curves have at most 1000 points.
    progress
        Whether to show a progress bar; by default if the output is a terminal.
    checkpoint
        A directory, of this run only, to which checkpoints are written: all it takes to go on after a
        kill, with the results of a run that was not killed, bit for bit (see docs/reliability.md).
    every
        After how many instances one is written (at the end of the block that reaches them; blocks are
        never longer), besides one at the end of the stream or where it breaks off.
    keep
        How many of the last checkpoints stay.
    resume
        Whether to go on from the newest checkpoint that is whole, or from the file named; from the start
        if there is none. Model, stream and settings have to be those of the run; the stream is read over
        from its start, and what the model has learnt is replaced.
    on_checkpoint_error
        What happens if a checkpoint cannot be written: "raise" a HerosError, or "warn" with a
        `heros.storage.checkpoints.CheckpointWarning` and go on. The checkpoints before it stay as they are.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools, streams
    >>> model = Heros(pools.MLPGrid(hidden=[16, 64], learning_rates=[0.05, 0.005]), k=4, seed=1)
    >>> run = evaluate(model, streams.RandomRBF(classes=3).take(5000))
    >>> run.n_instances, run.accuracy > 0.7, len(run.curves.end)
    (5000, True, 5)
    """
    if not isinstance(model, Heros):
        raise ParameterError.of("model", "evaluate", "a Heros", model)
    if not isinstance(stream, Stream):
        raise ParameterError.of("stream", "evaluate", "a stream, e.g. heros.streams.load('agr_a')", stream)
    window, block = whole(window, "window", "evaluate", 1), whole(block, "block", "evaluate", 1)
    meter = Cpu() if meter is None else meter
    if not isinstance(meter, Meter):
        raise ParameterError.of("meter", "evaluate", "a meter, e.g. heros.meters.Cpu()", meter)
    if checkpoint is None and resume:
        raise ParameterError.of("resume", "evaluate", "used with 'checkpoint'", resume)
    with ExitStack() as at_the_end:
        keeper = None
        if checkpoint is not None:
            keeper = Checkpointer(
                checkpoint, every=every, keep=keep, resume=resume, on_error=on_checkpoint_error
            )
            at_the_end.callback(keeper.close)
            block = min(block, keeper.every)
        meter.start(keeper.earlier if keeper else None)
        at_the_end.callback(meter.abandon)
        book = _Book(model, stream, window, meter, exact)
        if keeper:
            keeper.restore(book, {"window": window, "block": block, "exact": bool(exact)}, progress)
        blocks = keeper.through(stream, block, book) if keeper else stream.blocks(block)
        with progress_bar(
            MofNCompleteColumn(), TextColumn("{task.fields[standing]}"), wanted=progress
        ) as bar:
            task = bar.add_task(stream.name, total=_instances_left(stream), standing="")
            for X, y in blocks:
                model.bind(stream.schema)
                book.take(X, y)
                bar.update(task, advance=len(y), standing="" if bar.disable else book.standing())
        return book.close()


def _instances_left(stream: Stream) -> int | None:
    return None if stream.n_instances is None else stream.n_instances - stream.position


class _Book:
    """What an evaluation writes down as it goes."""

    def __init__(self, model: Heros, stream: Stream, window: int, meter: Meter, exact: bool) -> None:
        self.model, self.stream, self.window, self.meter = model, stream, window, meter
        self.confusion = Confusion()
        self.running = None if exact else RunningAuroc()
        self.answers: list[Part] = []  # of all windows, if the AUROC is to be exact
        self.parts: list[tuple[NDArray[np.int64], Block]] = []  # of the window at hand
        self.rows: dict[str, list[Any]] = {name: [] for name in Curves.__dataclass_fields__}
        self.pending = self.n = 0
        self.loss = self.spent = self.reward = 0.0
        self.began, self.started = time.perf_counter(), meter.clock()
        self.earlier: dict[str, float] | None = None  # what the model had spent before
        self.trained_before: NDArray[np.int64] | int = 0
        self.invested_before: NDArray[np.float64] | float = 0.0
        self.last_cpu = np.zeros(len(PHASES))

    def take(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Test and train on a block, cut where a window ends."""
        if self.earlier is None:
            self.earlier = self.model.cpu_seconds
            self.trained_before, self.invested_before = self.model.trained, self.model.invested
        start = 0
        while start < len(y):
            stop = min(len(y), start + self.window - self.pending)
            labels = y[start:stop]
            self.parts.append((labels, self.model.test_then_train(X[start:stop], labels)))
            self.pending += stop - start
            start = stop
            if self.pending == self.window:
                self._close_window()

    def close(self) -> Run:
        """The run, with a last window that may be shorter."""
        if self.pending:
            self._close_window()
        if self.n == 0:
            raise ParameterError.of("stream", "evaluate", "a stream with instances left", self.stream)
        area = self._auroc()
        model, cpu = self.model, dict(zip(PHASES, self._cpu().tolist(), strict=True))
        return Run(
            stream=self.stream.name,
            model=repr(model),
            n_instances=self.n,
            auroc=area,
            accuracy=self.confusion.accuracy,
            kappa=self.confusion.kappa,
            log_loss=self.loss / self.n,
            confusion=self.confusion,
            gamma_spent=self.spent,
            reward=self.reward,
            trained=model.trained - self.trained_before,
            invested=model.invested - self.invested_before,
            diverged=int(model.diverged.sum()),
            cpu=cpu,
            energy=Energy.of(self.meter.stop(), self.meter.source, cpu, self.meter.carbon),
            curves=Curves(**{name: _column(rows) for name, rows in self.rows.items()}),
            window=self.window,
            settings=settings_of(model),
            drifts=self.stream.drifts,
            bad_rows=self.stream.bad_rows,
        )

    def standing(self) -> str:
        """How things stand, for the progress bar."""
        if self.n == 0:
            return ""
        rate = self.n / (time.perf_counter() - self.began)
        best = words(self.model.best_model)
        share = self.spent / self.n
        figures = f"accuracy {self.confusion.accuracy:.4f}, AUROC {self.rows['auroc'][-1]:.4f} now"
        return f"{rate:,.0f}/s  {figures}  γ {share:.0%}  best {shorten(best, 40)}"

    def _auroc(self) -> float:
        if self.running is not None:
            return self.running.value
        return auroc(np.concatenate([y for y, _ in self.answers]), _stack([p for _, p in self.answers]))

    def _cpu(self) -> NDArray[np.float64]:
        """CPU seconds by phase since the start; what no phase accounts for is "other"."""
        earlier = self.earlier or dict.fromkeys(PHASES, 0.0)
        cpu = np.array([seconds - earlier[phase] for phase, seconds in self.model.cpu_seconds.items()])
        cpu[-1] = max(0.0, self.meter.clock() - self.started - float(cpu[:-1].sum()))
        return cpu

    @property
    def taken(self) -> int:
        """How many instances it has seen."""
        return self.n + self.pending

    def kept(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What it takes to go on from here, but for the answers."""
        spent = self.meter.clock() - self.started, time.perf_counter() - self.began
        arrays = {
            "totals": np.array([self.loss, self.spent, self.reward, *spent]),
            "confusion": self.confusion.counts,
            "earlier": np.array(list((self.earlier or {}).values())),
            "trained_before": np.asarray(self.trained_before),
            "invested_before": np.asarray(self.invested_before),
            "last_cpu": self.last_cpu,
            **{f"curves/{name}": _column(rows) for name, rows in self.rows.items() if rows},
        }
        if self.running is not None:
            arrays["running"] = self.running.counts
        if self.parts:
            blocks = [block for _, block in self.parts]
            arrays["pending/labels"] = np.concatenate([labels for labels, _ in self.parts])
            arrays["pending/probabilities"] = _stack([block.probabilities for block in blocks])
            arrays["pending/chosen"] = np.concatenate([block.chosen for block in blocks]).view(np.uint8)
            arrays["pending/spent"] = np.concatenate([block.spent for block in blocks])
            arrays["pending/reward"] = np.concatenate([block.reward for block in blocks])
        return {"n": self.n, "pending": self.pending}, arrays

    def take_back(
        self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], answers: list[Part]
    ) -> None:
        """Go on from what `kept` gave, and the answers until then."""
        self.n, self.pending = int(document["n"]), int(document["pending"])
        windows = -(-self.n // self.window)
        expect_fit(arrays, self.model.pool.n_models, len(PHASES), windows, self.pending)
        self.loss, self.spent, self.reward, cpu, wall = arrays["totals"].tolist()
        self.started, self.began = self.meter.clock() - cpu, time.perf_counter() - wall
        self.confusion = Confusion(arrays["confusion"])
        self.earlier = dict(zip(PHASES, arrays["earlier"].tolist(), strict=True))
        self.trained_before, self.invested_before = arrays["trained_before"], arrays["invested_before"]
        self.last_cpu = arrays["last_cpu"]
        self.rows = {name: list(arrays.get(f"curves/{name}", ())) for name in self.rows}
        self.answers = answers
        if self.running is not None:
            self.running.counts = arrays["running"]
        if self.pending:
            labels, p, chosen, spent, reward = (arrays[f"pending/{name}"] for name in PENDING)
            nobody = np.full(self.pending, -1, dtype=np.int32)  # is not asked again who answered
            self.parts = [(labels, Block(p, nobody, chosen != 0, spent, reward))]

    def _close_window(self) -> None:
        y = np.concatenate([labels for labels, _ in self.parts])
        blocks = [block for _, block in self.parts]
        p = _stack([block.probabilities for block in blocks])
        if self.running is None:
            self.answers.append((y, p))
        else:
            self.running.update(y, p)
        self.meter.sample()
        predicted = p.argmax(axis=1)
        self.confusion.update(y, predicted, p.shape[1])
        loss = log_loss(y, p) * len(y)
        spent = float(np.concatenate([block.spent for block in blocks]).sum())
        reward = float(np.concatenate([block.reward for block in blocks]).sum())
        self.n += len(y)
        self.loss, self.spent, self.reward = self.loss + loss, self.spent + spent, self.reward + reward
        cpu = self._cpu()
        row = {
            "end": self.n,
            "accuracy": float((predicted == y).mean()),
            "auroc": auroc(y, p),
            "log_loss": loss / len(y),
            "spent": spent,
            "reward": reward,
            "trained": sum((block.chosen.sum(axis=0) for block in blocks[1:]), blocks[0].chosen.sum(axis=0)),
            "scores": self.model.scores,
            "invested": self.model.invested - self.invested_before,
            "cpu": cpu - self.last_cpu,
        }
        add_point(self.rows, row, None if self.running is None else MOST_POINTS)
        self.last_cpu, self.parts, self.pending = cpu, [], 0


def _column(rows: list[Any]) -> NDArray[Any]:
    return np.array(rows)


def _stack(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Probabilities one below the other; classes that came later had probability 0 before."""
    classes = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, classes - part.shape[1]))) for part in parts])
