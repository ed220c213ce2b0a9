"""The command-line options for reading a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

from heros.cli import options
from heros.cli.parsing import reading


@dataclass(frozen=True)
class FileOptions:
    r"""The values of the options for reading a file, one field per option.

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
        """The options that were given, except the target, as parameters of `heros.streams.read`."""
        said = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "target"}
        return reading(**said)


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `files` of a command by the options of `FileOptions`."""
    return with_options(command, "files", FileOptions)


def with_options(command: Callable[..., None], place: str, kind: Any) -> Callable[..., None]:
    """Replace a parameter of a command by one option per field of the dataclass `kind`."""
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
