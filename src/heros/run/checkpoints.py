"""Checkpoints: write the state of a run to disk during the run, and resume a run from it."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError, ParameterError
from heros._base.notices import notice
from heros._base.parameters import one_of, whole
from heros._base.progress import progress as progress_bar
from heros.data.schema import Schema
from heros.ensemble import serialization
from heros.meters import Reading
from heros.run.state import Evaluation
from heros.storage import archive
from heros.storage.checkpoint_directory import (
    KIND,
    Checkpoint,
    CheckpointWarning,
    Content,
    PredictionsFile,
    drafts,
    found,
    name_of,
    newest_first,
    opened,
)
from heros.storage.locks import DirectoryLock
from heros.streams.live.base import Block, Signal, Source

__all__ = ["Checkpoint", "CheckpointWarning", "Checkpointer", "found"]

Path_ = str | os.PathLike[str]
DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
"""The exceptions that a damaged checkpoint may raise when it is used."""


class Checkpointer:
    """An object that writes the checkpoints of a run and can resume a run.

    The parameters are those of `evaluate`.
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
        if not os.fspath(directory):
            raise ParameterError.of("checkpoint", "evaluate", "the path of a directory", directory)
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
        content = self.content
        self._predictions = PredictionsFile(self.directory) if content is None else content.predictions
        self._written = 0  # number of windows whose predictions are in the file
        self._crc: tuple[int, ...] = (0, 0)  # checksums of the training instances so far
        self._last = 0  # number of instances at the last attempt to write a checkpoint
        self._settings: dict[str, Any] = {}
        self._latest = 0  # number of instances in the latest checkpoint of this run

    def close(self) -> None:
        """Release the lock on the directory."""
        self._lock.release()

    @property
    def earlier(self) -> Reading | None:
        """The energy used up to the checkpoint from which the run resumes; None for a new run."""
        if self.content is None:
            return None
        spent = self.content.document.get("spent")
        kinds = {"joules": float, "detail": str, "cpu_seconds": float, "wall_seconds": float}
        if not isinstance(spent, dict) or {name: type(one) for name, one in spent.items()} != kinds:
            raise _damaged_error(self.content.path, "it has no energy reading")
        return Reading(**spent)

    # -- writing ----------------------------------------------------------------------------------------

    def until_checkpoint(self, evaluation: Evaluation) -> int:
        """Return the number of instances until the next checkpoint is due."""
        return self.every - evaluation.instances % self.every

    def add(self, block: Block, evaluation: Evaluation) -> None:
        """Add a block of training instances to the checksums, and write a checkpoint if one is due."""
        self._crc = _crc(self._crc, block, evaluation.stream.weights())
        if evaluation.instances % self.every == 0:
            self.write(evaluation)

    def write(self, evaluation: Evaluation, at_the_end: bool = False) -> None:
        """Write a checkpoint if the model was trained since the last attempt to write one."""
        if evaluation.instances == self._last:
            return
        failed = "No checkpoint was written"
        try:
            where = self._write_one(evaluation)
            failed = "A checkpoint was written, but the stream could not be told,"
            if where is not None:
                evaluation.stream.acknowledge(where)
        except HerosError as error:
            if self.on_error == "raise" and not at_the_end:  # a finished run still returns its results
                raise
            text = f"{failed} after {evaluation.instances:,} instances. {error}"
            notice(text, CheckpointWarning)
        self._last = evaluation.instances

    def _write_one(self, evaluation: Evaluation) -> Mapping[str, Any] | None:
        """Write a checkpoint; return the position of the stream in it."""
        self._lock.expect_held()
        model_document, model_arrays = serialization.pack(evaluation.model, allow_code=self.allow_code)
        document, arrays = evaluation.state()
        spent = evaluation.meter.so_far()
        later = [path for instances, path in newest_first(self.directory) if instances > self._latest]
        _remove(*later, *drafts(self.directory))  # later checkpoints need predictions that `append` truncates
        predictions = evaluation.predictions
        self._predictions.append(predictions[self._written :])
        self._written = len(predictions)
        stream, where = evaluation.stream, evaluation.stream.where()
        place = None if where is None else dict(where)
        content = {
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "stream": {"name": stream.name, "crc": list(self._crc), "where": place},
            "instances": evaluation.instances,
            "meter": evaluation.meter.source,
            "spent": asdict(replace(spent, joules=float(spent.joules))),
            "predictions": self._predictions.extent(),
            "settings": self._settings,
            "model": model_document,
            "evaluation": document,
        }
        groups = archive.grouped({"model": model_arrays, "evaluation": arrays})
        archive.write(self.directory / name_of(evaluation.instances), KIND, content, groups)
        self._latest = evaluation.instances
        _remove(*(path for _, path in newest_first(self.directory)[self.keep :]))
        return where

    # -- resuming -----------------------------------------------------------------------------------------

    def restore(
        self, evaluation: Evaluation, settings: Mapping[str, Any], block: int, show: bool | None = None
    ) -> None:
        """Restore the model, the evaluation and the stream from the checkpoint, if there is one."""
        self._settings = dict(settings)
        if self.content is None:
            return
        document, arrays, path = self.content.document, self.content.arrays, self.content.path
        try:
            described, crc = document["model"], tuple(document["stream"]["crc"])
            instances = document["instances"]
            self._expect_same(evaluation, settings)
            parts = {role: getattr(evaluation.model, role) for role in serialization.PARTS}
            learner, learnt = type(evaluation.model), archive.subset(arrays, "model")
            model = serialization.unpack(learner, described, learnt, **parts, allow_code=self.allow_code)
            state = archive.subset(arrays, "evaluation")
            evaluation.restore(document["evaluation"], state, self.content.parts)
        except ParameterError:
            raise
        except DAMAGE as error:
            raise _damaged_error(path, error) from None
        if instances != evaluation.instances:
            why = f"its model has {instances} instances, but its evaluation has {evaluation.instances}"
            raise _damaged_error(path, why)
        self._written, self._last, self._latest = len(self.content.parts), instances, instances
        where = document["stream"].get("where")
        if where is not None and evaluation.stream.where() is not None:
            try:
                evaluation.stream.seek(where)
            except HerosError:
                raise
            except DAMAGE as error:
                raise _damaged_error(path, f"it has no valid position in the stream: {error!r}") from None
            self._crc = crc
        else:
            self._read_again(evaluation.stream, instances, block, show)
        if self._crc != crc:
            rule = f"the stream of {path.name} (the first {instances:,} instances differ)"
            raise ParameterError.of("stream", "evaluate", rule, evaluation.stream)
        if where is None and model.schema is not None:
            _expect_same_columns(model.schema, evaluation.stream, path)
        evaluation.model.become(model)
        self.content = None  # releases the memory of its arrays

    def _read_again(self, stream: Source, n: int, block: int, show: bool | None) -> None:
        """Read the stream again up to the checkpoint; the schema is extended at the same instances as before.

        The checksums of the instances are computed again.
        """
        with progress_bar("count", wanted=show) as bar:
            task = bar.add_task(f"{stream.name}: reading up to the checkpoint", total=n)
            done = 0
            while done < n:
                polled = stream.poll(min(block, n - done))
                if isinstance(polled, Signal):
                    raise ParameterError.of("stream", "evaluate", f"at least {n:,} instances long", stream)
                self._crc = _crc(self._crc, polled, stream.weights())
                done += len(polled[1])
                bar.update(task, completed=done)

    def _expect_same(self, evaluation: Evaluation, settings: Mapping[str, Any]) -> None:
        """Raise an error if the model, stream, meter or settings differ from those of the checkpoint."""
        assert self.content is not None
        document, name = self.content.document, self.content.path.name

        def expect(parameter: str, saved: object, value: object, rule: str) -> None:
            if saved != value:
                raise ParameterError.of(parameter, "evaluate", rule, value)

        for setting, value in settings.items():
            saved = document["settings"].get(setting)
            expect(setting, saved, value, f"{saved!r}, as in {name}")
        for part, value in serialization.description(evaluation.model).items():
            saved = document["model"][part]
            expect("model", saved, value, f"the model of {name}, with {part} = {saved}")
        saved = document["stream"]["name"]
        expect("stream", saved, evaluation.stream.name, f"the stream of {name}, {saved!r}")
        saved = document["meter"]
        expect("meter", saved, evaluation.meter.source, f"the kind of meter in {name}, {saved!r}")

    # -- the directory --------------------------------------------------------------------------------------

    def _choose(self, resume: bool | Path_) -> Content | None:
        paths = [path for _, path in newest_first(self.directory)]
        if not isinstance(resume, bool):
            path = Path(resume)
            if path.resolve() not in [one.resolve() for one in paths]:
                rule = f"True, False or a checkpoint in {self.directory}"
                raise ParameterError.of("resume", "evaluate", rule, str(path))
            return opened(path)
        if not resume and paths:
            raise HerosError(
                f"The checkpoint directory {self.directory} must be empty, unless the run is resumed "
                f"(resume=True). It contains {paths[0].name}."
            )
        for path in paths:
            try:
                return opened(path)
            except DataError as error:
                notice(f"{error} The previous checkpoint is used.", CheckpointWarning)
        if paths:
            raise DataError(f"No checkpoint in {self.directory} can be read. All {len(paths)} are damaged.")
        return None


def _expect_same_columns(saved: Schema, stream: Source, path: Path) -> None:
    """Raise an error if the columns of a stream that was read again differ from those of its checkpoint."""
    if stream.schema == saved or stream.schema.extends(saved):
        return
    pairs = zip(saved.features, stream.schema.features, strict=False)
    names = [was.name for was, now in pairs if was != now]
    what = f"the feature {names[0]!r}" if names else "the features and classes"
    rule = f"the stream of the checkpoint {path.name}, without a change of {what}"
    raise ParameterError.of("stream", "evaluate", rule, stream)


def _crc(so_far: tuple[int, ...], block: Block, weights: NDArray[Any] | None) -> tuple[int, ...]:
    """Return the updated checksums of rows, targets and weights, which do not depend on the block size."""
    arrays = block if weights is None else (*block, weights)
    earlier = (*so_far, 0)[: len(arrays)]
    return tuple(zlib.crc32(array.tobytes(), crc) for array, crc in zip(arrays, earlier, strict=True))


def _remove(*paths: Path) -> None:
    for path in paths:
        with suppress(OSError):  # an old checkpoint that cannot be removed is harmless
            path.unlink()


def _damaged_error(path: Path, error: object) -> DataError:
    return DataError(f"The checkpoint {path} is damaged: {error}")
