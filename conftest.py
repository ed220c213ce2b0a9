"""What pytest needs to know: doctests of an integration run only where its library is installed."""

from importlib.util import find_spec

OPTIONAL = ("capymoa",)  # heavy, and in need of Java: not among the tools of development

missing = [name for name in OPTIONAL if find_spec(name) is None]
collect_ignore = [f"src/heros/integrations/{name}.py" for name in missing]


def pytest_report_header() -> list[str]:
    """What the run leaves out."""
    return [f"{name} is not installed: its doctests are left out, its tests skipped" for name in missing]
