"""Select what pytest runs: the doctests, and the tests marked `matrix` or `long`."""

from collections import defaultdict
from importlib.util import find_spec

import pytest

OPTIONAL = ("capymoa",)  # heavy, and in need of Java: not among the tools of development

missing = [name for name in OPTIONAL if find_spec(name) is None]
collect_ignore = [f"src/heros/integrations/{name}.py" for name in missing]


def pytest_report_header() -> list[str]:
    """What the run leaves out."""
    return [f"{name} is not installed: its doctests are left out, its tests skipped" for name in missing]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --all."""
    text = "also run the tests marked `long` and every case of the tests marked `matrix`"
    parser.addoption("--all", action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without --all, deselect tests marked `long`, and all but a few cases of tests marked `matrix`."""
    if config.getoption("--all"):
        return
    matrices = defaultdict(list)
    for item in items:
        if item.get_closest_marker("matrix"):
            matrices[item.function].append(item)  # also where another file imports the test
    left_out = {id(item) for cases in matrices.values() for item in cases}
    left_out -= {id(item) for cases in matrices.values() for item in _representatives(cases)}
    left_out |= {id(item) for item in items if item.get_closest_marker("long")}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
    items[:] = [item for item in items if id(item) not in left_out]


def _representatives(cases: list[pytest.Item]) -> list[pytest.Item]:
    """A few cases in which each value of each parameter occurs once; the file counts as a parameter."""
    values = {id(case): _values(case) for case in cases}
    missing, chosen = set().union(*values.values()), []
    while missing:
        chosen.append(max(cases, key=lambda case: len(values[id(case)] & missing)))
        missing -= values[id(chosen[-1])]
    return chosen[: cases[0].get_closest_marker("matrix").kwargs.get("most")]


def _values(case: pytest.Item) -> set[tuple[str, object]]:
    parameters = case.callspec.params if hasattr(case, "callspec") else {}
    return {("file", case.path), *((name, id(value)) for name, value in parameters.items())}
