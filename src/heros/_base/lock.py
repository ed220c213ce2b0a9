"""A non-blocking lock that raises an error for a second caller and is released even after Ctrl-C."""

from __future__ import annotations

import sys
from types import FrameType

from heros._base.errors import HerosError

Place = dict[str, "FrameType | Place"]


class ExclusiveUse:
    """A lock for one caller at a time; a second caller gets an error, even in the same thread.

    A lock that is released in a ``finally`` block stays locked if Ctrl-C arrives just before or during the
    release. This lock belongs to the function that acquired it, and is released when that function ends for
    any reason. A caller that finds the lock taken checks whether this function is still running.
    """

    __slots__ = ("_message", "_place")

    def __init__(self, message: str) -> None:
        self._message = message
        self._place: Place = {}  # "holder": the frame that holds the lock; "next": the next dictionary

    def __enter__(self) -> None:
        caller = sys._getframe(1)
        place = self._place
        while (holder := place.setdefault("holder", caller)) is not caller:  # setdefault is atomic
            if _is_running(holder):
                raise HerosError(self._message)
            if place.get("holder") is holder:  # the holder has ended without releasing the lock
                place = self._place = _after(place)

    def __exit__(self, *raised: object) -> None:
        caller = sys._getframe(1)
        place = self._place
        while place.get("holder") is not caller:
            place = _after(place)
        del place["holder"]


def _after(place: Place) -> Place:
    """Return the dictionary that replaces `place` if its function ended without releasing the lock."""
    found = place.setdefault("next", {})
    assert isinstance(found, dict)
    return found


def _is_running(frame: object) -> bool:
    # Python refuses to clear a running frame. Walking over the frames of all threads would miss this frame if
    # a generator that it called is suspended meanwhile.
    assert isinstance(frame, FrameType)
    try:
        frame.clear()
    except RuntimeError:
        return True
    return False
