"""One at a time: who works with an object keeps others out, and whoever was interrupted does not."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from heros.errors import HerosError

__all__ = ["Alone"]

Place = dict[str, "FrameType | Place"]


class Alone:
    """Lets one in at a time; others, and whoever is inside already, are refused with a message.

    A lock that is taken and then given back in a ``finally`` stays taken if Ctrl-C comes between the two, or
    as it is given back. So here it belongs to the function that took it, and is free once that function has
    ended, however it did. Only who finds it taken looks after that.

    Parameters
    ----------
    message
        What others are told.

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
        self._place: Place = {}  # "holder": a function at work; "next": the place that counts if it has ended

    def __enter__(self) -> None:
        me = sys._getframe(1)
        place = self._place
        while (holder := place.setdefault("holder", me)) is not me:  # in one step, as all that follows
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
    """Where all go on who have found that the holder of this place has ended: the same for each of them."""
    found = place.setdefault("next", {})
    assert isinstance(found, dict)
    return found


def _is_running(frame: object) -> bool:
    """Whether a function is at work in any thread."""
    for top in sys._current_frames().values():
        at: FrameType | None = top
        while at is not None:
            if at is frame:
                return True
            at = at.f_back
    return False
