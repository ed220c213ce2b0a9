"""Formats of dates and times, and conversion of dates and times to microseconds since 1970."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.lazy import pa, pc
from heros.data.values import NUMBER

CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d++))?)?"
    r"\s*+(?P<half>[AaPp][Mm])?\s*+(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
EPOCH = datetime(1970, 1, 1)
LONGEST = 1000  # maximum number of characters of a date; matching text of several MB would take seconds
LAST_YEAR = 290_000  # years before or after 1970 for which the microseconds fit into 64 bits
ORDERS = ("day first", "month first")
SINCE_1970 = {"seconds since 1970": 1.0, "milliseconds since 1970": 1e-3}
"""The numeric date formats, each with the length of its unit in seconds."""


@dataclass(frozen=True)
class DateFormat:
    """A date format: its name, and a regular expression or a format for `strptime`."""

    name: str
    pattern: str = ""
    format: str = ""

    @property
    def written(self) -> str:
        """The format as the schema stores it; empty if every date is unambiguous."""
        return self.format or (self.name if self.name in ORDERS or self.name in SINCE_1970 else "")

    @classmethod
    def of(cls, written: str) -> DateFormat | None:
        """Return the format stored in a feature, or None if the format is inferred for each date."""
        if not written:
            return None
        known = {one.name: one for one in (*FORMATS, *NUMBERS)}
        return known[written] if written in known else cls(f"written {written}", format=written)

    def moment(self, text: str) -> datetime | None:
        """Parse a string as a naive datetime (UTC if a time zone is given); None if the format differs."""
        if len(text) > LONGEST:
            return None
        try:
            if self.name in SINCE_1970:
                return EPOCH + timedelta(seconds=float(text) * SINCE_1970[self.name])
            if self.format:
                return _without_zone(datetime.strptime(text, self.format))
            found = re.fullmatch(self.pattern, text)
            return None if found is None else _moment(found.groupdict())
        except (ValueError, OverflowError):
            return None


FORMATS = (
    *(
        DateFormat(name, rf"{date}(?:(?:T|,? +){CLOCK})?")
        for name, date in (
            ("year first", r"(?P<year>\d{4})(?P<gap>[-/.])(?P<month>\d{1,2})(?:(?P=gap)(?P<day>\d{1,2}))?"),
            ("day first", r"(?P<day>\d{1,2})(?P<gap>[-/.])(?P<month>\d{1,2})(?P=gap)(?P<year>\d{4}|\d{2})"),
            ("month first", r"(?P<month>\d{1,2})(?P<gap>[-/.])(?P<day>\d{1,2})(?P=gap)(?P<year>\d{4}|\d{2})"),
            ("names of months", r"(?P<day>\d{1,2})[ -](?P<named>[A-Za-z]{3,9})\.?,?[ -](?P<year>\d{4})"),
            ("names of months", r"(?P<named>[A-Za-z]{3,9})\.? (?P<day>\d{1,2}),? (?P<year>\d{4})"),
        )
    ),
    DateFormat("times of day", CLOCK),
)
DATES, TIMES = FORMATS[:-1], FORMATS[-1]
CLEAR = tuple(one for one in DATES if one.name not in ORDERS)
NUMBERS = tuple(map(DateFormat, SINCE_1970))


def _moment(parts: Mapping[str, str | None]) -> datetime:
    """Return the datetime with these parts; raise a ValueError if the date does not exist."""
    hour = int(parts.get("hour") or 0)
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + 12 * (half.lower() == "pm")
    fraction = int(((parts.get("fraction") or "") + "000000")[:6])
    clock = (hour, int(parts.get("minute") or 0), int(parts.get("second") or 0), fraction)
    if parts.get("year") is None:
        return EPOCH.replace(hour=hour, minute=clock[1], second=clock[2], microsecond=fraction)
    written = parts["year"] or ""
    year = int(written)
    if len(written) == 2:
        year += 2000 if year < 70 else 1900
    named = parts.get("named")
    month = int(parts["month"] or 0) if named is None else 1 + MONTHS.index(named[:3].lower())
    return _without_zone(datetime(year, month, int(parts.get("day") or 1), *clock, _zone(parts.get("zone"))))


def _zone(text: str | None) -> timezone | None:
    if text is None or text[0] not in "+-":
        return None if text is None else UTC
    ahead = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-ahead if text[0] == "-" else ahead)


def _without_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def date_format_of(counts: Mapping[str, int]) -> tuple[DateFormat, bool] | None:
    """Return the date format of a column, and whether another format matches equally well.

    Return None if no format matches at least nine in ten values.

    Examples
    --------
    >>> date_format_of({"2024-03-31T10:00:00Z": 1, "2024-04-01": 1})[0].name
    'year first'
    >>> date_format_of({"31/03/2024": 1, "01/04/2024": 1})[0].name
    'day first'
    >>> date_format_of({"03/31/24 4:05 PM": 1})[0].name
    'month first'
    >>> form, other = date_format_of({"03/04/2024": 1})
    >>> form.name, other, date_format_of({"red": 1})
    ('day first', True, None)
    """
    first_values = list(counts)[:20]
    best = [
        (sum(count for text, count in counts.items() if reading.moment(text) is not None), reading)
        for reading in FORMATS
        if any(map(reading.moment, first_values))
    ]
    best.sort(key=lambda pair: -pair[0])
    if not best or best[0][0] < 0.9 * sum(counts.values()):
        return None
    return best[0][1], len(best) > 1 and best[1][0] == best[0][0]


def date_format_of_numbers(counts: Mapping[str, int]) -> DateFormat | None:
    """Return the numeric date format: seconds or milliseconds since 1970, or None if no format matches."""
    if not counts or not all(NUMBER.fullmatch(text) for text in counts):
        return None
    least, largest = min(map(float, counts)), max(map(float, counts))
    units = ((one, SINCE_1970[one.name]) for one in NUMBERS)
    # Years 1973 to 2286: in this range the two units do not overlap.
    return next((one for one, unit in units if least * unit >= 1e8 and largest * unit < 1e10), None)


def micros_of(value: object, reading: DateFormat | None) -> int | None:
    """Convert a date or time to microseconds since 1970 (in UTC if it has a time zone); None if invalid.

    `value` is a trimmed string, a `date`, `datetime` or `time`, a NumPy or pandas equivalent, or a number if
    the format is numeric. `reading` is the format of strings; if it is None, all formats are tried.

    Examples
    --------
    >>> micros_of("1970-01-02 12:30", None), micros_of(datetime(1970, 1, 2, 12, 30), None)
    (131400000000, 131400000000)
    >>> micros_of("02/01/1970", None) == micros_of(date(1970, 1, 2), None)  # day first by default
    True
    """
    if isinstance(value, str):
        moment = _moment_in(value, reading)
    elif isinstance(value, np.datetime64):
        with suppress(OverflowError):  # in units finer than picoseconds, all dates are near 1970
            if abs(value.astype("datetime64[Y]").astype(np.int64)) > LAST_YEAR:
                return None
        return int(value.astype("datetime64[us]").astype(np.int64))
    elif isinstance(value, datetime):
        try:
            moment = _without_zone(value.replace(fold=0) if value.tzinfo is None else value)
        except OverflowError:  # the time zone moves the date out of the calendar's range
            return None
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    elif isinstance(value, time):
        moment = datetime.combine(EPOCH, value.replace(tzinfo=None, fold=0))
    elif reading is not None and reading.name in SINCE_1970 and isinstance(value, int | float):
        moment = reading.moment(repr(value))
    else:
        return None
    return None if moment is None else (moment - EPOCH) // timedelta(microseconds=1)


def _moment_in(text: str, reading: DateFormat | None) -> datetime | None:
    """Parse a string as a date in the column's format or, if this fails, in the first matching format."""
    if reading is not None:
        moment = reading.moment(text)
        if moment is not None or reading == TIMES:
            return moment
    fixed = reading is not None and reading.written  # a fixed order of day and month excludes the other order
    others = CLEAR if fixed else DATES
    return next((moment for one in others if (moment := one.moment(text)) is not None), None)


def to_microseconds(array: pa.Array) -> pa.Array:
    """Convert times and durations to microseconds, rounded down; Python's datetime types use this unit."""
    kind, types = array.type, pa.types
    if types.is_time64(kind):
        return pc.cast(array, pa.time64("us"), safe=False)
    if not (types.is_timestamp(kind) or types.is_duration(kind)) or kind.unit != "ns":
        return array
    given = pc.fill_null(pc.cast(array, pa.int64()), 0).to_numpy(zero_copy_only=False)
    micros = pa.array(np.floor_divide(given, 1000), mask=np.asarray(array.is_null()))
    return micros.cast(pa.duration("us") if types.is_duration(kind) else pa.timestamp("us", kind.tz))


def cell(array: pa.Array, row: int) -> Any:
    """Return a value of an array; a date outside of Python's calendar becomes a NumPy scalar."""
    scalar = array[row]
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        kind = scalar.type
        if pa.types.is_duration(kind):
            return np.timedelta64(scalar.value, kind.unit)
        if not pa.types.is_timestamp(kind) and not pa.types.is_date(kind):
            return []  # for example, a list of dates
        unit: Any = kind.unit if pa.types.is_timestamp(kind) else "D" if pa.types.is_date32(kind) else "ms"
        return np.datetime64(scalar.value, unit)


def micros_of_array(array: pa.Array, reading: DateFormat | None) -> NDArray[np.datetime64]:
    """Convert an array of dates, times or numbers to datetimes, with NaT for missing or invalid values."""
    kind = array.type
    if reading is not None and reading.name in SINCE_1970 and not is_date(kind):
        unit = SINCE_1970[reading.name]
        seconds = np.asarray(pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        micro = seconds * unit * 1e6
        absent = ~(np.abs(micro) < 2e17)  # outside the range of datetime
        moments = np.where(absent, 0, np.round(micro)).astype(np.int64).astype("datetime64[us]")
        moments[absent] = np.datetime64("NaT", "us")
        return moments
    if pa.types.is_time(kind):
        array = pc.cast(pc.cast(array, pa.time64("us"), safe=False), pa.int64())
    elif pa.types.is_timestamp(kind) and kind.tz is not None:
        array = pc.cast(array, pa.timestamp(kind.unit))
    moments = pc.cast(to_microseconds(array), pa.timestamp("us"), safe=False)
    dates = np.asarray(moments.to_numpy(zero_copy_only=False), dtype="datetime64[us]")
    if kind in (pa.timestamp("us"), pa.timestamp("ns")) or pa.types.is_time(kind):
        return dates
    given = array.to_numpy(zero_copy_only=False).astype("datetime64[Y]").astype(np.int64)
    return np.where(np.abs(given) > LAST_YEAR, np.datetime64("NaT", "us"), dates)


def is_date(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a date, a timestamp or a time of day."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))
