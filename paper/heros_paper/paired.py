"""Paired measurement of the cost of policies, for machines with a varying load.

The runs of a grid are hours apart, and the load of the machine varies. Here the policies take turns on the
same short blocks of a stream, so that load affects all of them equally. AUROC, which does not depend on the
machine, comes from the grid; CPU time comes from this module.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from heros import DataError, ParameterError, streams
from heros._base.parameters import whole
from heros._base.progress import progress as progress_bar
from heros._base.registry import policy_id, pool_id
from heros.ensemble import Heros
from heros.policies import Policy
from heros.run.records import provenance
from heros.streams import Stream
from heros_paper.settings import BASES, POLICIES, STREAMS, TWINS

__all__ = ["Paired", "Turns", "in_turn", "paired_costs", "read_paired", "write_paired"]


@dataclass(frozen=True)
class Paired:
    """The cost of a policy on a part of a stream, measured in turn with other policies."""

    stream: str
    pool: str
    policy: str
    n_instances: int
    gamma_share: float  # Σγ per instance; 1 is the cost of training every model
    encode: float  # CPU seconds, like the next three
    evaluate: float
    choose: float
    train: float
    commit: str = ""  # empty in old files, like the next two
    cpu: str = ""
    isa: str = ""
    start: int = 0  # number of skipped instances

    @property
    def cpu_seconds(self) -> float:
        """The total CPU seconds."""
        return self.encode + self.evaluate + self.choose + self.train


Turns = Mapping[tuple[str, str], Paired]
"""Paired measurements by stream and policy."""


def paired_costs(
    base: str = "mlp",
    names: Iterable[str] = tuple(STREAMS),
    policies: Iterable[Policy] = POLICIES,
    *,
    n: int = 20_000,
    block: int = 250,
    seed: int = 1,
    progress: bool | None = None,
) -> list[Paired]:
    """Run the policies in turn on blocks of the first `n` instances of each stream.

    AGR_g and LED_g equal AGR_a and LED_a before the first drift; the `n` instances around it are used.

    Parameters
    ----------
    base
        ``"mlp"`` or ``"trees"``.
    names
        The names of the streams.
    policies
        The policies to compare.
    n
        The number of instances of each stream.
    block
        The number of instances before the next policy takes its turn.
    seed
        The seed of the initial weights and the policies' draws.
    progress
        Whether to show a progress bar; by default if the output is a terminal.

    Examples
    --------
    >>> from heros.policies import Cheapest, Everything
    >>> cheap, dear = paired_costs("mlp", ["agr_a"], [Cheapest(), Everything()], n=1000)
    >>> cheap.policy, cheap.train < dear.train
    ('cheapest', True)
    """
    if base not in BASES:
        raise ParameterError.of("base", "paired_costs", f"one of {', '.join(BASES)}", base)
    n, block = whole(n, "n", "paired_costs", 1), whole(block, "block", "paired_costs", 1)
    chosen, names = list(policies), list(names)
    measured = []
    with progress_bar("{task.description}", wanted=progress) as bar:
        task = bar.add_task("", total=len(names) * n)
        for name in names:
            bar.update(task, description=name)
            stream, start = _stretch(name, n, block)
            models = [Heros(BASES[base].pool, policy, BASES[base].k, seed=seed) for policy in chosen]
            spent = [0.0] * len(models)
            for X, y in islice(stream.blocks(block), start // block, None):
                for i, model in enumerate(models):
                    spent[i] += float(model.bind(stream.schema).test_then_train(X, y).spent.sum())
                bar.advance(task, len(y))
            each = zip(models, spent, strict=True)
            measured += [_paired(name, model, share, start) for model, share in each]
    return measured


def _stretch(name: str, n: int, block: int) -> tuple[Stream, int]:
    """Return the stream up to the end of the measurement, and the number of skipped instances."""
    stream = streams.load(name)
    start = max(stream.drifts[0].position - n // 2, 0) // block * block if name in TWINS else 0
    return stream.take(start + n), start


def _paired(name: str, model: Heros, spent: float, start: int) -> Paired:
    cpu = model.cpu_seconds
    return Paired(
        name,
        pool_id(model.pool),
        policy_id(model.policy),
        model.instances,
        spent / model.instances,
        cpu["encode"],
        cpu["evaluate"],
        cpu["choose"],
        cpu["train"],
        *made_by(),
        start,
    )


def write_paired(measured: Sequence[Paired], path: str | Path) -> None:
    """Write the measurements as a CSV file."""
    write_rows(Paired, measured, path)


def made_by() -> tuple[str, str, str]:
    """Return commit, processor and instruction set of this installation."""
    by = provenance()
    return by["commit"], by["machine"]["cpu"], by["machine"]["isa"]


def write_rows(kind: type[Any], measured: Sequence[Any], path: str | Path) -> None:
    """Write dataclasses of one kind as the rows of a CSV file, with six digits."""
    text = io.StringIO()
    rows = csv.DictWriter(text, [one.name for one in fields(kind)], lineterminator="\n")
    rows.writeheader()
    for one in measured:
        figures = {name: round(value, 6) for name, value in asdict(one).items() if isinstance(value, float)}
        rows.writerow(asdict(one) | figures)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text.getvalue(), encoding="utf-8")


def read_paired(path: str | Path) -> list[Paired]:
    """Return the measurements in a CSV file.

    Examples
    --------
    >>> import tempfile
    >>> one = Paired("agr_a", "mlp50", "cand", 1000, 0.6, 0.01, 0.02, 0.001, 0.03)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_paired([one], f"{directory}/paired.csv")
    ...     read_paired(f"{directory}/paired.csv") == [one]
    True
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            return [_row(row) for row in csv.DictReader(file)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"The file {path} must hold paired measurements. Got: {error!r}") from None


def in_turn(records_dir: str | os.PathLike[str], base: str) -> Turns:
    """Return the paired measurements of a base learner by stream and policy; empty without a file."""
    path = Path(records_dir, "paired", f"{base}.csv")
    return {(one.stream, one.policy): one for one in read_paired(path)} if path.exists() else {}


def _row(row: dict[str, str]) -> Paired:
    return Paired(
        row["stream"],
        row["pool"],
        row["policy"],
        int(row["n_instances"]),
        float(row["gamma_share"]),
        float(row["encode"]),
        float(row["evaluate"]),
        float(row["choose"]),
        float(row["train"]),
        row.get("commit", ""),
        row.get("cpu", ""),
        row.get("isa", ""),
        int(row.get("start", 0)),
    )
