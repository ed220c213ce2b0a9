"""The files that `heros run` writes: record, report, model and predictions; and `heros report`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from heros._base.errors import HerosError
from heros.cli.app import app, say
from heros.ensemble import Heros
from heros.ensemble.serialization import expect_plain
from heros.run import Run, records
from heros.run.report import write_report
from heros.storage.disk import expect_writable
from heros.storage.outputs import expect_other_files, expect_table_place

Task = tuple[str, Path, Callable[[Path], object]]
"""The name and the path of a result, and the function that writes it."""


@dataclass(frozen=True, slots=True)
class Results:
    """The paths of the results to write. The path is None if a result is not requested."""

    out: Path | None  # a directory for the record and the report
    save: Path | None  # a file for the model
    predictions: Path | None  # a file for the predictions
    replace: bool  # whether existing files may be replaced

    @property
    def _files(self) -> list[Path]:
        return [path for path in (self.save, self.predictions) if path is not None]

    @property
    def exist(self) -> bool:
        """Whether the requested files of the model and the predictions already exist."""
        return all(path.is_file() for path in self._files)

    def expect_places(self, model: Heros, stream: str) -> None:
        """Check before training that all results can be written at the end."""
        if self.out is not None:
            expect_writable(self.out / "report.html")
        if self.save is not None:
            expect_plain(model.pool)
            expect_writable(self.save)
        if self.predictions is not None:
            expect_table_place(self.predictions, "predictions", "heros run")
        expect_other_files(self._files, [stream])
        for path in () if self.replace else self._files:
            if path.exists():
                way = "Pass --force to replace it, or choose another name"
                raise HerosError(f"The file {path} already exists. {way}.")

    @contextmanager
    def save_on_error(self, model: Heros) -> Iterator[None]:
        """If the stream fails, save the model (if requested), because training may have taken days.

        If the file already exists, the new file gets a name that ends in ``.partial.heros``.
        """
        try:
            yield
        except Exception:
            if self.save is not None and model.schema is not None and model.instances:
                place = self.save
                if place.exists():
                    place = place.with_name(f"{place.stem}.partial{place.suffix}")
                with suppress(OSError, HerosError):
                    model.save(_with_parents(place))
                    say(f"heros: the model, trained on {model.instances:,} instances, is saved to {place}")
            raise

    def write(
        self, run: Run, model: Heros, *, force: bool = False, only: str = ""
    ) -> tuple[list[str], HerosError | None]:
        """Write all results; return a line about each result, and the first error, if any.

        The caller raises the error after it has printed the results of the run. With `only`, only the
        result with this name is written, because the other results exist already.
        """
        lines: list[str] = []
        faults: list[HerosError] = []
        for name, path, write in self._tasks(run, model, force):
            if name == "report" and not any(line.startswith("record: ") for line in lines):
                continue  # the record could not be written
            try:
                if name == only or not only:
                    write(path)
                lines.append(f"{name}: {path}")
            except OSError as error:
                faults.append(HerosError(f"The file {path} cannot be written: {error.strerror}."))
            except HerosError as error:
                faults.append(error)
        return lines, faults[0] if faults else None

    def _tasks(self, run: Run, model: Heros, force: bool) -> Iterator[Task]:
        """Yield the name and path of each requested result, and the function that writes it."""
        if self.save is not None:
            yield "model", self.save, lambda path: model.save(_with_parents(path))
        if self.predictions is not None:
            kept: Any = run.predictions  # None if the run was finished before: its file exists already
            yield "predictions", self.predictions, lambda path: kept.save(_with_parents(path))
        if (out := self.out) is not None:
            yield "record", out / records.run_id(run), lambda _: records.save(run, out, force=force)
            yield "report", out / "report.html", lambda path: write_report(out, path)


def fault_of_report(out: Path) -> str | None:
    """Write a report on all records under a directory; return an error message, or None on success."""
    try:
        write_report(out, out / "report.html")
    except HerosError as error:
        return str(error)
    return None


def _with_parents(path: Path) -> Path:
    """Create the directory of a file, and return the path of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@app.command("report")
def report_command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory with records, also in its subdirectories.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page about all runs recorded under a directory."""
    count = write_report(directory, out)
    typer.echo(f"{out}: {count} {'run' if count == 1 else 'runs'}")
