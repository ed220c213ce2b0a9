"""Test, then train: how a model does on a stream, and what that cost."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import MofNCompleteColumn, TextColumn

from heros.ensemble import PHASES, Block, Heros
from heros.errors import ParameterError
from heros.meters import Cpu, Energy, Meter
from heros.metrics import Confusion, RunningAuroc, auroc, log_loss
from heros.parameters import whole
from heros.points import MOST_POINTS, add_point
from heros.progress import progress as progress_bar
from heros.settings import settings_of
from heros.streams import BadRows, DriftPoint, Stream

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
        streams need (see `heros.metrics.RunningAuroc`), and the curves have at most 1000 points.
    progress
        Whether to show a progress bar; by default if the output is a terminal.

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
    meter.start()
    try:
        book = _Book(model, stream, window, meter, exact)
        with progress_bar(
            MofNCompleteColumn(), TextColumn("{task.fields[standing]}"), wanted=progress
        ) as bar:
            task = bar.add_task(stream.name, total=_instances_left(stream), standing="")
            for X, y in stream.blocks(block):
                model.bind(stream.schema)
                book.take(X, y)
                bar.update(task, advance=len(y), standing="" if bar.disable else book.standing())
        return book.close()
    finally:
        meter.abandon()


def _instances_left(stream: Stream) -> int | None:
    return None if stream.n_instances is None else stream.n_instances - stream.position


class _Book:
    """What an evaluation writes down as it goes."""

    def __init__(self, model: Heros, stream: Stream, window: int, meter: Meter, exact: bool) -> None:
        self.model, self.stream, self.window, self.meter = model, stream, window, meter
        self.confusion = Confusion()
        self.running = None if exact else RunningAuroc()
        self.labels: list[NDArray[np.int64]] = []
        self.probabilities: list[NDArray[np.float64]] = []
        self.parts: list[tuple[NDArray[np.int64], Block]] = []  # of the window at hand
        self.rows: dict[str, list[Any]] = {name: [] for name in Curves.__dataclass_fields__}
        self.pending = self.n = 0
        self.loss = self.spent = self.reward = 0.0
        self.began, self.started = time.perf_counter(), time.thread_time()
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
        best = " ".join(
            f"{value:g}" if isinstance(value, float) else str(value)
            for value in self.model.best_model.values()
        )
        share = self.spent / self.n
        figures = f"accuracy {self.confusion.accuracy:.4f}, AUROC {self.rows['auroc'][-1]:.4f} now"
        return f"{rate:,.0f}/s  {figures}  γ {share:.0%}  best {best}"

    def _auroc(self) -> float:
        if self.running is not None:
            return self.running.value
        return auroc(np.concatenate(self.labels), _stack(self.probabilities))

    def _cpu(self) -> NDArray[np.float64]:
        """CPU seconds by phase since the start; what no phase accounts for is "other"."""
        earlier = self.earlier or dict.fromkeys(PHASES, 0.0)
        cpu = np.array([seconds - earlier[phase] for phase, seconds in self.model.cpu_seconds.items()])
        cpu[-1] = max(0.0, time.thread_time() - self.started - float(cpu[:-1].sum()))
        return cpu

    def _close_window(self) -> None:
        y = np.concatenate([labels for labels, _ in self.parts])
        blocks = [block for _, block in self.parts]
        p = _stack([block.probabilities for block in blocks])
        if self.running is None:
            self.labels.append(y)
            self.probabilities.append(p)
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
