# SPDX-License-Identifier: Apache-2.0
"""Times of posts: read from many formats as microseconds since 1970 in UTC, and written as ISO 8601."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from interloq.data.corpus.clean import NO_TIME
from interloq.errors import InputError, short_repr

SECOND = 1_000_000
DAY = 86_400 * SECOND
LATEST_SECONDS = 4_102_444_800  # the year 2100
LATEST = LATEST_SECONDS * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ABSENT = ("", "nan", "none", "null", "nat")
_TWITTER = re.compile(r"\w{3} (\w{3}) (\d\d) (\d\d):(\d\d):(\d\d) ([+-]\d\d)(\d\d) (\d{4})")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_NUMBER = re.compile(r"\d{1,20}(?:\.\d{1,20})?")
_DATE = re.compile(r"(?:19|20)\d{6}")


def microseconds(value: Any) -> int:
    """Return a time in microseconds, or NO_TIME. Numbers are seconds, milli-, micro- or nanoseconds."""
    if value.__class__ is int and 0 <= value <= LATEST_SECONDS:  # the most common format
        return int(value) * SECOND
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _read_number(value)
    if value is None:
        return NO_TIME
    if not isinstance(value, str):
        raise _unreadable(value)
    value = value.strip()
    if value.lower() in _ABSENT:
        return NO_TIME
    if _NUMBER.fullmatch(value) and not _DATE.fullmatch(value):
        return _read_number(float(value) if "." in value else int(value))
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = _read_twitter_time(value)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    time = (moment - _EPOCH) // _MICROSECOND
    if not 0 <= time <= LATEST:
        raise _unreadable(value)
    return time


def iso(time: int) -> str:
    """Return `2017-04-18T23:36:43Z`, with a fraction if not 0; empty for NO_TIME."""
    if time == NO_TIME:
        return ""
    moment = _EPOCH + timedelta(microseconds=time)
    return moment.replace(tzinfo=None).isoformat() + "Z"


def _read_number(value: float) -> int:
    """Return a time in microseconds. Its size tells the unit: seconds until 2100 have ten digits."""
    if not math.isfinite(value):
        return NO_TIME
    for factor in (SECOND, 1_000, 1):
        if 0 <= value <= LATEST // factor:
            return round(value * factor)
    if 0 <= value <= LATEST * 1_000:
        return int(value) // 1_000
    raise _unreadable(value)


def _read_twitter_time(value: str) -> datetime:
    """Read `Wed Oct 10 20:19:24 +0000 2018`."""
    parts = _TWITTER.fullmatch(value)
    if not parts or _MONTHS.find(parts[1]) % 3:
        raise _unreadable(value)
    month, day, hour, minute, second, zone_hours, zone_minutes, year = parts.groups()
    try:
        moment = datetime(
            int(year), 1 + _MONTHS.find(month) // 3, int(day), int(hour), int(minute), int(second), tzinfo=UTC
        )
        sign = -1 if zone_hours[0] == "-" else 1
        return moment - timedelta(hours=int(zone_hours), minutes=sign * int(zone_minutes))
    except (ValueError, OverflowError):
        raise _unreadable(value) from None


def _unreadable(value: object) -> InputError:
    hint = "write seconds or milliseconds since 1970, or 2018-10-10T20:19:24Z"
    return InputError(f"cannot read the time {short_repr(value)}", hint=hint)
