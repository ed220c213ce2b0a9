"""What keeps a run on disk while it goes on, and brings it back."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from heros._base.parameters import one_of, whole
from heros._base.progress import progress as progress_bar
from heros.ensemble import Heros, files
from heros.errors import DataError, HerosError, ParameterError
from heros.measures.base import Predicted
from heros.meters import Meter, Reading
from heros.run.checkpoints.files import (
    KIND,
    CheckpointWarning,
    Content,
    drafts,
    name_of,
    newest_first,
    opened,
)
from heros.run.checkpoints.lock import DirectoryLock
from heros.run.checkpoints.predictions import Predictions
from heros.storage import archive
from heros.streams.live import Block, Source
from heros.streams.live.base import Signal

__all__ = ["Checkpointer", "Resumable"]

Path_ = str | os.PathLike[str]


class Resumable(Protocol):
    """An evaluation, as far as checkpoints need to know."""

    model: Heros
    stream: Source
    meter: Meter

    @property
    def taken(self) -> int:
        """How many instances it has learnt."""
        ...

    @property
    def predictions(self) -> list[Predicted]:
        """Labels and probabilities, window by window, if they are all kept."""
        ...

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The rest of it, as plain data and arrays."""
        ...

    def restore(
        self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], predictions: list[Predicted]
    ) -> None:
        """Go on from what `state` and `predictions` gave."""
        ...


class Checkpointer:
    """Writes checkpoints of a run to a directory, and brings a run back from one.

    Parameters
    ----------
    directory
        Where they are; for one run only. Made if it is not there.
    every
        After how many instances one is written.
    keep
        How many of the last ones stay.
    resume
        Whether to go on from the newest one that is whole (from the start, if there is none at all), or
        from which one.
    on_error
        What happens if one cannot be written: "raise" ends the run, "warn" lets it go on.
    allow_code
        Whether models that are Python objects are kept, as pickles.
    """

    def __init__(
        self,
        directory: Path_,
        *,
        every: int,
        keep: int,
        resume: bool | Path_,
        on_error: str,
        allow_code: bool = False,
    ) -> None:
        self.directory = Path(directory)
        self.every = whole(every, "every", "evaluate", 1)
        self.keep = whole(keep, "keep", "evaluate", 1)
        rule = "'raise' or 'warn'"
        self.on_error = one_of(on_error, "on_checkpoint_error", "evaluate", ("raise", "warn"), rule)
        self.allow_code = allow_code
        self._lock = DirectoryLock(self.directory)
        try:
            self.content = self._choose(resume)
        except BaseException:
            self.close()
            raise
        self._predictions = Predictions(self.directory) if self.content is None else self.content.predictions
        self._written = 0  # parts of the evaluation's predictions that are in the file
        self._crc: tuple[int, ...] = (0, 0)  # of what was learnt
        self._last = 0  # instances, when it was last tried to write
        self._settings: dict[str, Any] = {}
        self._tip = 0  # instances of the checkpoint the run stands on

    def close(self) -> None:
        """Let others have the directory."""
        self._lock.release()

    @property
    def earlier(self) -> Reading | None:
        """What the run had spent up to the checkpoint it goes on from."""
        if self.content is None:
            return None
        match self.content.document.get("spent"):
            case {
                "joules": float(joules),
                "detail": str(detail),
                "cpu_seconds": float(cpu),
                "wall_seconds": float(wall),
            }:
                return Reading(joules, detail, cpu, wall)
        raise _not_whole(self.content.path, "no bill")

    # -- writing ----------------------------------------------------------------------------------------

    def room(self, evaluation: Resumable) -> int:
        """How many instances may be learnt before the next checkpoint is due."""
        return self.every - evaluation.taken % self.every

    def learnt(self, block: Block, evaluation: Resumable) -> None:
        """Take note of a block that was learnt from, and write a checkpoint if it is time."""
        self._crc = _crc(self._crc, block, evaluation.stream.weights())
        if evaluation.taken % self.every == 0:
            self.write(evaluation)

    def write(self, evaluation: Resumable, at_the_end: bool = False) -> None:
        """Write a checkpoint, if anything was learnt since the last."""
        if evaluation.taken == self._last:
            return
        try:
            self._write_one(evaluation)
        except HerosError as error:
            if self.on_error == "raise" and not at_the_end:  # the results of a run that is over are not lost
                raise
            text = f"No checkpoint was written after {evaluation.taken:,} instances. {error}"
            warnings.warn(text, CheckpointWarning, stacklevel=2)
        self._last = evaluation.taken

    def _write_one(self, evaluation: Resumable) -> None:
        self._lock.expect_held()
        model_document, model_arrays = files.pack(evaluation.model, allow_code=self.allow_code)
        document, arrays = evaluation.state()
        spent = evaluation.meter.so_far()
        self._forget_later_ones()
        predictions = evaluation.predictions
        self._predictions.append(predictions[self._written :])
        self._written = len(predictions)
        where = evaluation.stream.where()
        archive.write(
            self.directory / name_of(evaluation.taken),
            KIND,
            {
                "written": datetime.now(UTC).isoformat(timespec="seconds"),
                "stream": {
                    "name": evaluation.stream.name,
                    "crc": list(self._crc),
                    "where": None if where is None else dict(where),
                },
                "instances": evaluation.taken,
                "meter": evaluation.meter.source,
                "spent": {
                    "joules": float(spent.joules),
                    "detail": spent.detail,
                    "cpu_seconds": spent.cpu_seconds,
                    "wall_seconds": spent.wall_seconds,
                },
                "predictions": self._predictions.extent(),
                "settings": self._settings,
                "model": model_document,
                "evaluation": document,
            },
            archive.grouped({"model": model_arrays, "evaluation": arrays}),
        )
        self._tip = evaluation.taken
        if where is not None:
            evaluation.stream.acknowledge(where)
        for _, path in newest_first(self.directory)[self.keep :]:
            with suppress(OSError):  # then there is one more than there need be
                path.unlink()

    def _forget_later_ones(self) -> None:
        """Remove what a run left that has gone on from an earlier checkpoint: its predictions are cut off."""
        later = [path for instances, path in newest_first(self.directory) if instances > self._tip]
        for path in (*later, *drafts(self.directory)):
            with suppress(OSError):
                path.unlink()

    # -- going on -----------------------------------------------------------------------------------------

    def restore(
        self, evaluation: Resumable, settings: Mapping[str, Any], block: int, show: bool | None = None
    ) -> None:
        """Bring model, evaluation and stream to where the checkpoint was written, if there is one."""
        self._settings = dict(settings)
        if self.content is None:
            return
        document, arrays, path = self.content.document, self.content.arrays, self.content.path
        try:
            kept, crc, taken = document["model"], tuple(document["stream"]["crc"]), document["instances"]
            self._expect_same(evaluation, settings)
            parts = {role: getattr(evaluation.model, role) for role in files.PARTS}
            learnt = archive.subset(arrays, "model")
            model = files.unpack(type(evaluation.model), kept, learnt, **parts, allow_code=self.allow_code)
            evaluation.restore(
                document["evaluation"], archive.subset(arrays, "evaluation"), self.content.parts
            )
        except ParameterError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise _not_whole(path, error) from None
        if taken != evaluation.taken:
            raise _not_whole(path, f"{taken} instances")
        self._written, self._last, self._tip = len(self.content.parts), taken, taken
        where = document["stream"].get("where")
        if where is not None and evaluation.stream.where() is not None:
            self._go_to(evaluation.stream, where, path)
            self._crc = crc
        else:
            self._read_over(evaluation.stream, taken, block, show)
        if self._crc != crc:
            rule = f"the one that {path.name} was written on (its first {taken:,} instances differ)"
            raise ParameterError.of("stream", "evaluate", rule, evaluation.stream)
        evaluation.model.become(model)
        self.content = None  # its arrays are needed no more

    @staticmethod
    def _go_to(stream: Source, where: Any, path: Path) -> None:
        """Have a stream that knows places go to one."""
        try:
            stream.seek(where)
        except HerosError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise _not_whole(path, f"no place in the stream: {error!r}") from None

    def _read_over(self, stream: Source, n: int, block: int, show: bool | None) -> None:
        """Move the stream on; its schema grows at the same instances, however they are asked for."""
        with progress_bar("count", wanted=show) as bar:
            task = bar.add_task(f"{stream.name}: reading up to the checkpoint", total=n)
            done = 0
            while done < n:
                came = stream.poll(min(block, n - done))
                if isinstance(came, Signal):
                    raise ParameterError.of("stream", "evaluate", f"at least {n:,} instances long", stream)
                self._crc = _crc(self._crc, came, stream.weights())
                done += len(came[1])
                bar.update(task, completed=done)

    def _expect_same(self, evaluation: Resumable, settings: Mapping[str, Any]) -> None:
        """Refuse to go on with another model, stream, meter or other windows than there were."""
        assert self.content is not None
        document, name = self.content.document, self.content.path.name
        for setting, value in settings.items():
            if (kept := document["settings"].get(setting)) != value:
                rule = f"{kept!r}, as in {name}"
                raise ParameterError.of(setting, "evaluate", rule, value)
        kept = document["model"]
        for part, value in files.description(evaluation.model).items():
            if kept[part] != value:
                rule = f"the one of {name}, with {part} = {kept[part]}"
                raise ParameterError.of("model", "evaluate", rule, value)
        if document["stream"]["name"] != evaluation.stream.name:
            rule = f"the one of {name}, {document['stream']['name']!r}"
            raise ParameterError.of("stream", "evaluate", rule, evaluation.stream.name)
        if document["meter"] != evaluation.meter.source:
            rule = f"of the kind in {name}, {document['meter']!r}"
            raise ParameterError.of("meter", "evaluate", rule, evaluation.meter.source)

    # -- the directory --------------------------------------------------------------------------------------

    def _choose(self, resume: bool | Path_) -> Content | None:
        """The checkpoint to go on from; None to begin."""
        there = [path for _, path in newest_first(self.directory)]
        if not isinstance(resume, bool):
            path = Path(resume)
            if path.resolve() not in [one.resolve() for one in there]:
                rule = f"True, False or a checkpoint in {self.directory}"
                raise ParameterError.of("resume", "evaluate", rule, str(path))
            return opened(path)
        if not resume and there:
            raise HerosError(
                f"The checkpoint directory {self.directory} must be empty, unless the run is resumed. "
                f"Got {len(there)} checkpoints of a run."
            )
        for path in there:
            try:
                return opened(path)
            except DataError as error:
                warnings.warn(f"{error} The checkpoint before it is used.", CheckpointWarning, stacklevel=5)
        if there:
            raise DataError(
                f"One checkpoint in {self.directory} must be whole. Got {len(there)} broken ones."
            )
        return None


def _crc(so_far: tuple[int, ...], block: Block, weights: NDArray[Any] | None) -> tuple[int, ...]:
    """Sums of rows, of targets and, if there are any, of weights: however blocks are cut."""
    arrays = block if weights is None else (*block, weights)
    earlier = (*so_far, 0)[: len(arrays)]
    return tuple(zlib.crc32(array.tobytes(), crc) for array, crc in zip(arrays, earlier, strict=True))


def _not_whole(path: Path, error: object) -> DataError:
    return DataError(f"The checkpoint {path} must be whole. Got: {error}")
