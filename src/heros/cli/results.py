"""The files that `heros run` writes: record, report, model and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from heros.ensemble import Heros
from heros.ensemble.serialization import expect_plain
from heros.errors import HerosError
from heros.report import write_report
from heros.run import Run, records
from heros.storage.disk import expect_place
from heros.storage.outputs import expect_table_place

__all__ = ["Results"]


@dataclass(frozen=True, slots=True)
class Results:
    """The paths of the results; None for a result that is not wanted.

    Parameters
    ----------
    out
        A directory for the record and the report.
    save
        A file for the model.
    predictions
        A file for the predictions.
    replace
        Whether existing files may be replaced.
    """

    out: Path | None
    save: Path | None
    predictions: Path | None
    replace: bool

    @property
    def _files(self) -> list[Path]:
        return [path for path in (self.save, self.predictions) if path is not None]

    @property
    def there(self) -> bool:
        """Whether all files already exist."""
        return all(path.is_file() for path in self._files)

    def expect_places(self, model: Heros) -> None:
        """Check before training that all results can be written at the end."""
        if self.out is not None:
            expect_place(self.out / "report.html")
        if self.save is not None:
            expect_plain(model.pool)
            expect_place(self.save)
        if self.predictions is not None:
            expect_table_place(self.predictions, "predictions", "heros run")
        for path in () if self.replace else self._files:
            if path.exists():
                raise HerosError(f"The file {path} already exists; pass --force to replace it.")

    def written(self, run: Run, model: Heros, force: bool) -> HerosError | None:
        """Write all results; return the first error, which the caller raises after printing the results."""
        faults: list[HerosError] = []
        for path in self._files:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                if path == self.save:
                    model.save(path)
                elif run.predictions is not None:
                    run.predictions.save(path)
            except OSError as error:
                faults.append(HerosError(f"The file {path} must be writable. Got: {error.strerror}."))
            except HerosError as error:
                faults.append(error)
        if self.out is not None:
            try:
                records.save(run, self.out, force=force)
            except HerosError as error:
                faults.append(error)
            else:
                faults += [fault] if (fault := self.reported()) else []
        return faults[0] if faults else None

    def reported(self) -> HerosError | None:
        """Write the report of all records; return the error, or None."""
        if self.out is not None:
            try:
                write_report(self.out, self.out / "report.html")
            except HerosError as error:
                return error
        return None
