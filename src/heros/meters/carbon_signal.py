"""The carbon intensity of the grid over time, read from a file or a URL."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from heros._base.addresses import WEB_ADDRESS, is_web_address, without_secrets
from heros._base.errors import DataError, HerosError, ParameterError, WaitNotice
from heros._base.notices import notice

MOST_BYTES = 10_000_000
AGAIN = {"file": 60.0, "URL": 900.0}  # seconds after which a file or a URL is read again
TIMEOUT = 10.0  # seconds to wait for a URL at the start
LONGEST = 30.0  # seconds within which a URL must reply
LATEST = 1e11  # seconds since 1970 (year 5138); larger numbers are rejected, as they may be milliseconds
RULE = "a file or URL with a time and a carbon intensity in g CO2e per kWh in each row"


class IntensityAt(NamedTuple):
    """A time, in seconds since 1970, and its carbon intensity in grams of CO2e per kWh."""

    time: float
    grams: float


class CarbonSignal:
    """The measured or forecast carbon intensity of grid electricity.

    A value is valid from its time to the time of the next value; the last value is valid for the same length
    of time as the value before it. Times are ISO 8601 (UTC if they have no zone) or seconds since 1970.
    Outside the known times, the intensity is None, and one notice is given. If a URL does not reply or a file
    is damaged later, the error is reported and the known values are kept.

    Parameters
    ----------
    source
        A path or a URL with http:// or https://. The content is CSV (the first column is the time, the second
        the intensity) or a JSON list of such pairs. A file is read again when it changes, a URL every 15
        minutes in a separate thread. The source can also be an iterable of pairs.
    notify
        The function that is called with each notice; by default it issues a warning.

    Examples
    --------
    >>> now = datetime(2026, 11, 18, 10, 30, tzinfo=UTC).timestamp()
    >>> signal = CarbonSignal([("2026-11-18T10:00Z", 310), ("2026-11-18T11:00Z", 120)])
    >>> signal.at(now), signal.cleanest(now, now + 7200).grams
    (310.0, 120.0)
    """

    def __init__(
        self, source: str | os.PathLike[str] | Iterable[Any], notify: Callable[[str], object] | None = None
    ) -> None:
        self._notify = partial(notice, category=WaitNotice) if notify is None else notify
        self._last_notice: str | None = None
        self._times: list[float] = []
        self._values: list[float] = []
        self._read_at = -math.inf
        self._changed: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        if not isinstance(source, str | os.PathLike):
            self.name, self.kind = "carbon intensity", ""
            self._take(source)
            return
        self._source = self.name = os.fspath(source)
        self.kind = "URL" if self.name.startswith(("http://", "https://")) else "file"
        if self.kind == "file":
            self._read_file()
            return
        self.name = without_secrets(self._source)
        if not is_web_address(self._source):
            raise ParameterError.of("carbon", "CarbonSignal", WEB_ADDRESS, self.name)
        self._start_reading().join(TIMEOUT)

    def at(self, now: float) -> float | None:
        """Return the intensity at a time in g CO2e per kWh, or None if it is not known."""
        times, values = self._times, self._values
        index = bisect_right(times, now) - 1
        return values[index] if index >= 0 and now < self._end() else None

    def cleanest(self, start: float, end: float, share: float = 0.0) -> IntensityAt | None:
        """Return the first time from `start` to `end` at which the carbon intensity is among the lowest.

        The lowest intensities together cover the share `share` of the known time from `start` to `end`. If
        `share` is 0, return the first time with the lowest intensity. Return None if no intensity is known.
        """
        times, values = (*self._times, self._end()), self._values
        first, last = max(bisect_right(self._times, start) - 1, 0), bisect_right(self._times, end)
        known = [(max(times[i], start), min(times[i + 1], end), values[i]) for i in range(first, last)]
        known = [one for one in known if start <= one[0] < times[-1]]
        needed, limit = share * sum(stop - begin for begin, stop, _ in known), -math.inf
        for begin, stop, grams in sorted(known, key=itemgetter(2)):
            if needed > 0 or limit == -math.inf:
                limit, needed = grams, needed - (stop - begin)
        return next((IntensityAt(begin, grams) for begin, _, grams in known if grams <= limit), None)

    def refresh(self, now: float) -> None:
        """Read the source again if a new reading is due; warn once if the current intensity is unknown."""
        if self.kind and not 0 <= now - self._read_at < AGAIN[self.kind]:
            self._read_at = now
            if self.kind == "URL":
                self._start_reading()
            else:
                try:
                    self._read_file()
                except HerosError as error:
                    self._notify_once(f"{error} The values that were read before are used.")
        if self.at(now) is not None:
            self._last_notice = None
        elif self._last_notice is None:
            known = "is not known"
            if self._times:
                known = f"is known only from {_text(self._times[0])} to {_text(self._end())}"
            self._notify_once(
                f"The carbon intensity of {self.name} {known}. Training continues without a current value."
            )

    def _end(self) -> float:
        """Return the time up to which the last value is valid."""
        times = self._times
        if not times:
            return -math.inf
        return times[-1] + (times[-1] - times[-2] if len(times) > 1 else 3600.0)

    def _notify_once(self, text: str) -> None:
        if text != self._last_notice:
            self._last_notice = text
            self._notify(text)

    def _read_file(self) -> None:
        try:
            found = os.stat(self.name)
            changed = (found.st_mtime_ns, found.st_size)
            if changed == self._changed:
                return
            with Path(self.name).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            got = f"{self.name}: {error.strerror}"
            raise ParameterError.of("carbon", "CarbonSignal", RULE, got) from None
        self._take(_rows(data, self.name))
        self._changed = changed

    def _start_reading(self) -> threading.Thread:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._read_url, name="heros reads the grid", daemon=True)
            self._thread.start()
        return self._thread

    def _read_url(self) -> None:
        """Read the URL, in a separate thread; report an error and keep the known values."""
        from urllib.request import Request  # noqa: PLC0415  slow to import

        from heros._base.web import fetched  # noqa: PLC0415  slow to import

        headers = {"user-agent": "heros", "accept": "application/json, text/csv"}
        try:
            data = fetched(Request(self._source, headers=headers), LONGEST, MOST_BYTES + 1)
            self._take(_rows(data, self.name))
        except (OSError, ValueError, HerosError) as error:
            self._notify_once(f"{self.name} returned no carbon intensity: {error} Training continues.")

    def _take(self, rows: Iterable[Any]) -> None:
        """Replace the known values; raise a DataError if a row is not a time and a number."""
        values = {}
        for number, row in enumerate(rows, 1):
            pair = _pair(row)
            if pair is None:
                rule = "a time (ISO 8601 or seconds since 1970) and a carbon intensity in g CO2e per kWh"
                raise DataError(f"Row {number} of {self.name} must be {rule}. Got {repr(row)[:80]} instead.")
            values[pair[0]] = pair[1]
        if not values:
            raise DataError(f"{self.name} must have at least one row with a time and an intensity.")
        times = sorted(values)
        self._values = [values[time] for time in times]
        self._times = times


def _rows(data: bytes, name: str) -> list[Any]:
    """Return the pairs in a JSON list or CSV data; skip the header and rows without a value."""
    if len(data) > MOST_BYTES:
        raise DataError(f"{name} must have at most {MOST_BYTES:,} bytes.")
    try:
        text = data.decode("utf-8-sig").strip()
        if text.startswith(("[", "{")):
            rows = json.loads(text)
            if not isinstance(rows, list):
                raise DataError(f"{name} must be a list of pairs [time, g CO2e per kWh].")
            return rows
        delimiter = ";" if ";" in text.partition("\n")[0] else ","
        rows = [row[:2] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except (ValueError, csv.Error, RecursionError) as error:
        if isinstance(error, HerosError):
            raise
        raise DataError(f"{name} must be CSV or JSON. The error was: {error}") from None
    if rows and (len(rows[0]) < 2 or not _is_number(rows[0][1])):
        rows = rows[1:]
    return [row for row in rows if len(row) < 2 or row[1].strip()]


def _pair(row: Any) -> tuple[float, float] | None:
    """Return a time in seconds since 1970 and an intensity, or None if the row is not such a pair."""
    try:
        time, grams = row
        pair = _seconds(time), float(grams)
    except (TypeError, ValueError, OverflowError):
        return None
    return pair if 0 <= pair[0] < LATEST and 0 <= pair[1] < math.inf else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _seconds(time: Any) -> float:
    if isinstance(time, str) and not _is_number(time):
        time = datetime.fromisoformat(time.strip())
    if isinstance(time, datetime):
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return float(time)


def _text(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
