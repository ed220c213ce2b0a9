"""What policies cost, side by side: on a noisy machine only times taken in turn can be compared.

The runs of a grid are hours apart, and so are the loads of the machine they met. Here the policies take turns
on the same short blocks of a stream, so that whatever slows one down slows down the others as well. AUROC,
which does not depend on the machine, comes from the grid; CPU time comes from here.
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

from heros import streams
from heros._base.parameters import whole
from heros._base.progress import progress as progress_bar
from heros._base.registry import policy_id, pool_id
from heros.ensemble import Heros
from heros.errors import DataError, ParameterError
from heros.policies import Policy
from heros.run.records import provenance
from heros.streams import Stream
from heros_paper.settings import BASES, POLICIES, STREAMS, TWINS

__all__ = ["Paired", "Turns", "in_turn", "paired_costs", "read_paired", "write_paired"]


@dataclass(frozen=True)
class Paired:
    """What a policy cost on a stretch of a stream, measured in turn with others."""

    stream: str
    pool: str
    policy: str
    n_instances: int
    gamma_share: float  # Σγ per instance; 1 is the price of training everything
    encode: float  # CPU seconds, as are the next three
    evaluate: float
    choose: float
    train: float
    commit: str = ""  # empty in files written before they said so, as are the next two
    cpu: str = ""
    isa: str = ""
    start: int = 0  # how many instances of the stream were passed over

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds in all."""
        return self.encode + self.evaluate + self.choose + self.train


Turns = Mapping[tuple[str, str], Paired]
"""What was measured in turn, by stream and policy."""


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
    """Let the policies take turns on blocks of the first `n` instances of each stream.

    AGR_g and LED_g are AGR_a and LED_a until they drift: of these it is the `n` around the first drift.

    Parameters
    ----------
    base
        ``"mlp"`` or ``"trees"``.
    names
        Of the streams.
    policies
        What to compare.
    n
        How many instances of each stream.
    block
        How many instances a policy works on before the next one takes its turn.
    seed
        Of the initial weights and the policies' draws.
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
    """The stream up to where it is measured, and how many instances, in whole blocks, are before that."""
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
    """Commit, processor and instruction set of what is measured here."""
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
    """The measurements in a CSV file.

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
    """The measurements of a base learner by stream and policy; none where there is no file of them."""
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
