"""Columns of dates and times, each a few numeric features."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
from numpy.typing import NDArray

from heros.lazy import pa, pc
from heros.schema import Feature
from heros.streams.columns import Faults, Values, counts_of, encode, is_text
from heros.values import NUMBER

__all__ = [
    "DateColumn",
    "Reading",
    "date_column",
    "date_columns",
    "has_clock",
    "is_date",
    "reading_of",
    "reading_of_numbers",
]

CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?"
    r"\s*(?P<half>[AaPp][Mm])?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
YEAR_FIRST = r"(?P<year>\d{4})(?P<gap>[-/.])(?P<month>\d{1,2})(?:(?P=gap)(?P<day>\d{1,2}))?"
DAY_FIRST = r"(?P<day>\d{1,2})(?P<gap>[-/.])(?P<month>\d{1,2})(?P=gap)(?P<year>\d{4}|\d{2})"
MONTH_FIRST = r"(?P<month>\d{1,2})(?P<gap>[-/.])(?P<day>\d{1,2})(?P=gap)(?P<year>\d{4}|\d{2})"
DAY_AND_NAME = r"(?P<day>\d{1,2})[ -](?P<named>[A-Za-z]{3,9})\.?,?[ -](?P<year>\d{4})"
NAME_AND_DAY = r"(?P<named>[A-Za-z]{3,9})\.? (?P<day>\d{1,2}),? (?P<year>\d{4})"
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
EPOCH = datetime(1970, 1, 1)
SURE = 0.9
"""The share of a column's values that must be dates for it to be one of dates."""


ORDERS = ("day first", "month first")
SINCE_1970 = {"seconds since 1970": 1.0, "milliseconds since 1970": 1e-3}
"""Readings of numbers, and what one of them is in seconds."""

FEATURE = re.compile(r"(?P<name>.*) \((?P<part>day|weekday|day of year|hour)(?:; (?P<how>.*))?\)", re.DOTALL)


@dataclass(frozen=True)
class Reading:
    """One way in which dates are written: its name, and its pattern or a format of `strptime`."""

    name: str
    pattern: str = ""
    format: str = ""

    @property
    def written(self) -> str:
        """What must be known besides the dates themselves to read them so."""
        told = self.name in ORDERS or self.name in SINCE_1970
        return f"; {self.format or self.name}" if self.format or told else ""

    def moment(self, text: str) -> datetime | None:
        """The date and time, without a zone (in UTC if it had one); None if it is none."""
        try:
            if self.name in SINCE_1970:
                return EPOCH + timedelta(seconds=float(text) * SINCE_1970[self.name])
            if self.format:
                return _without_zone(datetime.strptime(text, self.format))
            found = re.fullmatch(self.pattern, text)
            return None if found is None else _moment(found.groupdict())
        except (ValueError, OverflowError):
            return None


READINGS = (
    *(
        Reading(name, rf"{date}(?:(?:T|,? +){CLOCK})?")
        for name, date in (
            ("year first", YEAR_FIRST),
            ("day first", DAY_FIRST),
            ("month first", MONTH_FIRST),
            ("names of months", DAY_AND_NAME),
            ("names of months", NAME_AND_DAY),
        )
    ),
    Reading("times of day", CLOCK),
)
NUMBERS = tuple(map(Reading, SINCE_1970))


def _moment(parts: Mapping[str, str | None]) -> datetime:
    """The date and time from what was written; a ValueError if there is no such one."""
    hour = int(parts.get("hour") or 0)
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + 12 * (half.lower() == "pm")
    fraction = int(((parts.get("fraction") or "") + "000000")[:6])
    clock = (hour, int(parts.get("minute") or 0), int(parts.get("second") or 0), fraction)
    if parts.get("year") is None:
        return EPOCH.replace(hour=hour, minute=clock[1], second=clock[2], microsecond=fraction)
    year = int(parts["year"] or 0)
    year += 0 if year >= 100 else 2000 if year < 70 else 1900
    named = parts.get("named")
    month = int(parts["month"] or 0) if named is None else 1 + MONTHS.index(named[:3].lower())
    return _without_zone(datetime(year, month, int(parts.get("day") or 1), *clock, _zone(parts.get("zone"))))


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    ahead = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-ahead if text[0] == "-" else ahead)


def _without_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def reading_of(counts: Mapping[str, int]) -> tuple[Reading, bool] | None:
    """How the dates of a column are written, and whether another way would do as well; None: no dates.

    Examples
    --------
    >>> reading_of({"2024-03-31T10:00:00Z": 1, "2024-04-01": 1})[0].name
    'year first'
    >>> reading_of({"31/03/2024": 1, "01/04/2024": 1})[0].name, reading_of({"03/31/24 4:05 PM": 1})[0].name
    ('day first', 'month first')
    >>> [(found[0].name, found[1]) for found in [reading_of({"03/04/2024": 1})]], reading_of({"red": 1})
    ([('day first', True)], None)
    """
    total = sum(counts.values())
    few = dict(list(counts.items())[:20])
    best: list[tuple[int, Reading]] = []
    for reading in READINGS:
        if total and any(reading.moment(text) for text in few):
            matched = sum(count for text, count in counts.items() if reading.moment(text) is not None)
            best.append((matched, reading))
    best.sort(key=lambda pair: -pair[0])
    if not best or best[0][0] < SURE * total:
        return None
    return best[0][1], len(best) > 1 and best[1][0] == best[0][0]


def reading_of_numbers(counts: Mapping[str, int]) -> Reading | None:
    """How numbers that are said to be times are read: as seconds or milliseconds since 1970; None: neither.

    Examples
    --------
    >>> reading_of_numbers({"1767225600": 1}).name, reading_of_numbers({"1767225600123": 1}).name
    ('seconds since 1970', 'milliseconds since 1970')
    >>> reading_of_numbers({"17": 1}) is None
    True
    """
    if not counts or not all(NUMBER.fullmatch(text) for text in counts):
        return None
    least, largest = min(map(float, counts)), max(map(float, counts))
    for reading in NUMBERS:  # from 1973 to 2286: where the two do not meet
        unit = SINCE_1970[reading.name]
        if least * unit >= 1e8 and largest * unit < 1e10:
            return reading
    return None


@dataclass
class DateColumn:
    """A column of dates or times: the day (from 1970 on), the weekday, the day of the year, the hour.

    Parameters
    ----------
    name
        Its name.
    reading
        How text is read; None if the table has dates as such, or if the text tells. Where it could be read
        otherwise, it is part of a feature's name, so that a schema alone says how.
    dates, clock
        Whether there are dates, whether there are times of day.
    missing
        Whether values may be missing.

    Examples
    --------
    >>> column = DateColumn("when", READINGS[0], clock=True)
    >>> column.names
    ['when (day)', 'when (weekday)', 'when (day of year)', 'when (hour)']
    >>> column.convert(pa.array(["1970-01-02 12:30"]))[0].tolist()
    [[1.5208333333333333, 4.0, 2.0, 12.5]]
    """

    name: str
    reading: Reading | None = None
    dates: bool = True
    clock: bool = False
    missing: bool = False
    settled = True

    @property
    def names(self) -> list[str]:
        """The names of its features."""
        how = self.reading.written if self.reading is not None else ""
        parts = [f"day{how}", "weekday", "day of year"] * self.dates + ["hour"] * self.clock
        return [f"{self.name} ({part})" for part in parts]

    @property
    def width(self) -> int:
        """How many features it makes."""
        return 3 * self.dates + self.clock

    def convert(self, array: pa.Array) -> tuple[Values, Faults]:
        """The features (n, width), NaN where missing, and the rows that hold no date."""
        unit = None if self.reading is None else SINCE_1970.get(self.reading.name)
        if not is_text(array.type):
            return self._features(_typed(array) if unit is None else _since_1970(array, unit)), {}
        codes, labels = encode(array)
        reading = self.reading or (reading_of(counts_of(array)) or (READINGS[0],))[0]
        moments = [None if label is None else reading.moment(label) for label in labels]
        known = np.array([*(np.datetime64(m or "NaT", "us") for m in moments), np.datetime64("NaT", "us")])
        wrong = np.array(
            [label is not None and m is None for label, m in zip(labels, moments, strict=True)] + [False]
        )
        rule = f"be a date, {reading.name} (or be named in nominal= or ignore=)"
        faults = {int(row): (repr(labels[codes[row]]), rule) for row in np.flatnonzero(wrong[codes])}
        return self._features(known[codes]), faults

    def _features(self, when: NDArray[np.datetime64]) -> Values:
        absent = np.isnat(when)
        micro = np.where(absent, 0, when.astype("datetime64[us]").astype(np.int64)).astype(np.float64)
        days = micro / 86_400e6
        whole = np.floor(days)
        columns = []
        if self.dates:
            dates = when.astype("datetime64[D]")
            years = dates.astype("datetime64[Y]").astype("datetime64[D]")
            ordinal = np.where(absent, 0, (dates - years).astype(np.int64)) + 1.0
            columns = [days if self.clock else whole, (whole + 3) % 7, ordinal]
        if self.clock:
            columns.append((micro - whole * 86_400e6) / 3_600e6)
        values = np.column_stack(columns).astype(np.float64)
        values[absent] = math.nan
        return values

    def row(self, value: object) -> dict[str, float]:
        """The features of one value, by their names; a ValueError if it is no date."""
        if value is None or isinstance(value, str):
            array = pa.array([value or None], pa.string())
        else:
            array = pa.array([value])
        number = self.reading in NUMBERS and pa.types.is_primitive(array.type)
        if not (is_text(array.type) or is_date(array.type) or number):
            raise ValueError
        values, faults = self.convert(array)
        if faults:
            raise ValueError
        return dict(zip(self.names, values[0].tolist(), strict=True))

    def adopt(self, values: Values) -> None:
        """Take note of the good rows of a block."""
        self.missing = self.missing or bool(np.isnan(values).any())

    def features(self, size: int, missing: bool) -> list[Feature]:
        """The column as features."""
        return [Feature(name, None, missing) for name in self.names]


def date_columns(features: Iterable[Feature]) -> dict[str, DateColumn]:
    """The columns of dates that some of the features came from, by the names these columns had.

    Examples
    --------
    >>> names = DateColumn("when", READINGS[2]).names
    >>> names
    ['when (day; month first)', 'when (weekday)', 'when (day of year)']
    >>> date_columns(map(Feature, ["age", *names]))["when"].reading.name
    'month first'
    """
    found: dict[str, dict[str, re.Match[str]]] = {}
    missing: dict[str, bool] = {}
    for feature in features:
        match = FEATURE.fullmatch(feature.name) if feature.values is None else None
        if match is not None:
            found.setdefault(match["name"], {})[match["part"]] = match
            missing[match["name"]] = feature.missing
    return {
        name: DateColumn(name, _reading(parts), "day" in parts, "hour" in parts, missing[name])
        for name, parts in found.items()
        if {"day", "weekday", "day of year"} <= parts.keys() or parts.keys() == {"hour"}
    }


def _reading(parts: Mapping[str, re.Match[str]]) -> Reading | None:
    how = parts["day"]["how"] if "day" in parts else None
    if not how:
        return READINGS[-1] if "day" not in parts else None
    known = {reading.name: reading for reading in (*READINGS, *NUMBERS)}
    return known[how] if how in ORDERS or how in SINCE_1970 else Reading(f"written {how}", format=how)


def has_clock(reading: Reading, labels: Iterable[str]) -> bool:
    """Whether a date among these has a time of day other than midnight."""
    moments = (reading.moment(label) for label in labels)
    return any(m is not None and (m.hour, m.minute, m.second, m.microsecond) != (0, 0, 0, 0) for m in moments)


def _typed(array: pa.Array) -> NDArray[np.datetime64]:
    """Dates and times of a table that has them as such."""
    kind = array.type
    if pa.types.is_time(kind):
        array = pc.cast(pc.cast(array, pa.time64("us")), pa.int64())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        array = pc.cast(array, pa.timestamp(kind.unit))
    moments = pc.cast(array, pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(moments, dtype="datetime64[us]")


def _since_1970(array: pa.Array, unit: float) -> NDArray[np.datetime64]:
    """Numbers as moments; a date of the table's own is one already."""
    if is_date(array.type):
        return _typed(array)
    micro = np.asarray(pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)) * unit * 1e6
    absent = ~(np.abs(micro) < 2e17)  # the years that a datetime has
    moments = np.where(absent, 0, np.round(micro)).astype(np.int64).astype("datetime64[us]")
    moments[absent] = np.datetime64("NaT", "us")
    return moments


def date_column(name: str, kind: pa.DataType) -> DateColumn:
    """The column of a table that has dates, timestamps or times of day as such."""
    return DateColumn(name, None, not pa.types.is_time(kind), not pa.types.is_date(kind))


def is_date(kind: pa.DataType) -> bool:
    """Whether a type is one of dates, timestamps or times of day."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))
