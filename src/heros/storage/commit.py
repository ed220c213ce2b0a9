"""Which state of the sources this is."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

__all__ = ["commit"]


@lru_cache
def commit() -> str | None:
    """The commit of the source tree that is imported; None if this is no source tree.

    Read from git's files: no program is started, and there need be no git.

    Examples
    --------
    >>> commit() is None or len(commit()) in {40, 64}
    True
    """
    return commit_of(Path(__file__).parents[3])


def commit_of(tree: Path) -> str | None:
    """The commit that is checked out in this directory; None if it is not the top of a repository."""
    try:
        place = tree / ".git"
        if place.is_file():  # another working tree of a repository
            place = tree / place.read_text().removeprefix("gitdir:").strip()
        head = (place / "HEAD").read_text().strip()
        if not head.startswith("ref:"):
            return _checked(head)
        common = place / "commondir"
        shared = place / common.read_text().strip() if common.is_file() else place
        return _of(head.removeprefix("ref:").strip(), shared)
    except (OSError, UnicodeDecodeError):
        return None


def _of(ref: str, repository: Path) -> str | None:
    path = repository / ref
    if path.is_file():
        return _checked(path.read_text().strip())
    for line in (repository / "packed-refs").read_text().splitlines():
        found, _, name = line.partition(" ")
        if name == ref:
            return _checked(found)
    return None


def _checked(text: str) -> str | None:
    return text if len(text) in {40, 64} and not text.strip("0123456789abcdef") else None
