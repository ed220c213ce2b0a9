"""All that a command may be told about how a file is read, in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

from heros.cli import options
from heros.cli.parsing import reading

__all__ = ["FileOptions", "reads_files", "with_options"]


@dataclass(frozen=True)
class FileOptions:
    r"""What was said about a file: a field per option.

    Examples
    --------
    >>> FileOptions(target="late", ignore=["id,note"], delimiter=r"\t").how
    {'ignore': ['id', 'note'], 'delimiter': '\t'}
    """

    target: options.Target = None
    task: options.TaskName = None
    ignore: options.Ignore = None
    nominal: options.Nominal = None
    numeric: options.Numeric = None
    dates: options.Dates = None
    classes: options.Classes = None
    weights: options.WeightsColumn = None
    delimiter: options.Delimiter = None
    missing: options.Missing = None
    encoding: options.EncodingName = None
    most_values: options.MostValues = None
    columns: options.ColumnsFile = None
    format: options.FormatName = None

    @property
    def how(self) -> dict[str, Any]:
        """It as parameters of `heros.streams.read`, but for the target; no more than was said."""
        said = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "target"}
        return reading(**said)


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `FileOptions`, in the place of its parameter `files`."""
    return with_options(command, "files", FileOptions)


def with_options(command: Callable[..., None], place: str, kind: Any) -> Callable[..., None]:
    """Give a command an option per field of a dataclass, in the place of a parameter that gets the whole."""
    own = inspect.signature(command, eval_str=True)
    hints = get_type_hints(kind, localns={"Path": Path}, include_extras=True)
    shared = [
        inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name]
        )
        for one in fields(kind)
    ]

    @wraps(command)
    def with_them(**given: Any) -> None:
        command(**{place: kind(**{one.name: given.pop(one.name) for one in shared})}, **given)

    parameters: list[inspect.Parameter] = []
    for one in own.parameters.values():
        parameters += shared if one.name == place else [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    with_them.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_them.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_them
