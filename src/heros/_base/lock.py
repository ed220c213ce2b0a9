"""A lock of an object that refuses a second user at once, and is never left behind by an interrupt."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from heros.errors import HerosError

__all__ = ["Alone"]

Place = dict[str, "FrameType | Place"]


class Alone:
    """Admits one caller at a time; a second one, also in the same thread, gets an error.

    A lock released in a ``finally`` stays locked if Ctrl-C comes just before or during the release. This lock
    belongs to the function that acquired it, and is free when that function has ended, however it ended.
    Only a caller that finds it locked checks this.

    Parameters
    ----------
    message
        The error of a second caller.

    Examples
    --------
    >>> alone = Alone("Somebody is at work.")
    >>> with alone:
    ...     1 + 1
    2
    """

    __slots__ = ("_message", "_place")

    def __init__(self, message: str) -> None:
        self._message = message
        self._place: Place = {}  # "holder": the frame that holds it; "next": the place to use if it has ended

    def __enter__(self) -> None:
        me = sys._getframe(1)
        place = self._place
        while (holder := place.setdefault("holder", me)) is not me:  # atomic, as all that follows
            if _is_running(holder):
                raise HerosError(self._message)
            place = self._place = _after(place)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        me = sys._getframe(1)
        place = self._place
        while place.get("holder") is not me:
            place = _after(place)
        del place["holder"]


def _after(place: Place) -> Place:
    """The place to use after the holder of this one has ended: the same for all callers."""
    found = place.setdefault("next", {})
    assert isinstance(found, dict)
    return found


def _is_running(frame: object) -> bool:
    """Whether a frame is still running in any thread."""
    for top in sys._current_frames().values():
        at: FrameType | None = top
        while at is not None:
            if at is frame:
                return True
            at = at.f_back
    return False
