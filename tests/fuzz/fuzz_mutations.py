"""Hostile variants of valid files: JSON values of another type, keys gone, deep nesting, huge numbers, broken bytes.

All chance comes from one `Random`, so a seed names an input.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

# written as they stand, because no JSON writer writes them
RAW = {
    "@deep@": b"[" * 900 + b"]" * 900,
    "@deeper@": b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "@open@": b"[" * 100_000,
    "@digits@": b"9" * 5000,
    "@infinite@": b"1e999",
    "@nan@": b"NaN",
    "@minus@": b"-0",
}
VALUES: tuple[Any, ...] = (
    *RAW,
    *(None, True, False, 0, -1, 1.5, 1e308, -1e308, 5e-324, 2**31, 2**53 + 1, 2**63, 2**64, 10**30),
    *("", " ", "x", "\0", "\ud800", "\u2028", "٣", "²", "9" * 50, "9" * 5000, "../../x", "/etc/passwd", "\x1b[2J"),
    *("2020-99-99T99:99:99Z", "0001-01-01T00:00:00+14:00", "Wed Oct 10 20:19:24 -9999 9999", "1e400", "-1", "nan"),
    *([], {}, [[]], [["x"]], ["x"], [1], [None], {"x": 1}, {"text": ["x"]}, [{}], [[[[1]]]], "bleu", "process('ls')"),
)
TOKENS = (
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n", b"\t", b'"', b"'", b'""', b",", b";", b"(", b")", b"="),
    *(b"[", b"{", b"}", b"]", b"\\", b"\xef\xbb\xbf", b" " * 300, b"9" * 400, b"-1", b"1e308", b"|||", b"..", b"/"),
    b"__eou__",
)  # fmt: skip


def mutate(data: bytes, rng: Random) -> bytes:
    """One variant; now and then several things are wrong with it, or all of it."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        data = (of_json if rng.random() < 0.6 else of_bytes)(data, rng)
    return rng.randbytes(rng.randrange(200)) if rng.random() < 0.01 else data


def of_json(data: bytes, rng: Random) -> bytes:
    """A value of a JSON file, or of one line of JSON lines; other files lose bytes instead."""
    lines = data.split(b"\n") if _parsed(data) is None else [data]
    places = [i for i, line in enumerate(lines) if _parsed(line) is not None]
    if not places:
        return of_bytes(data, rng)
    place = rng.choice(places)
    text = json.dumps(_changed(_parsed(lines[place]), rng), ensure_ascii=rng.random() < 0.5)
    line = text.encode("utf-8", "surrogatepass")
    for name, raw in RAW.items():
        line = line.replace(f'"{name}"'.encode(), raw)
    return b"\n".join([*lines[:place], line, *lines[place + 1 :]])


def _parsed(data: bytes) -> Any:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and len(data) < 100_000 else None


def _changed(value: Any, rng: Random) -> Any:
    """Walks down at random and changes what it meets there."""
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        if rng.random() < 0.7:
            return {**value, key: _changed(value[key], rng)}
        return rng.choice(_OF_OBJECTS)(value, key, rng)
    if isinstance(value, list) and value:
        i = rng.randrange(len(value))
        if rng.random() < 0.8:
            return [*value[:i], _changed(value[i], rng), *value[i + 1 :]]
        return rng.choice(([*value[:i], *value[i + 1 :]], [*value, value[i]], value * 40, [value], {"x": value}))
    return rng.choice((rng.choice(VALUES), rng.choice(VALUES), [value], {"x": value}, str(value) * 3))


_OF_OBJECTS: tuple[Callable[[dict[str, Any], str, Random], Any], ...] = (
    lambda value, key, _: {name: kept for name, kept in value.items() if name != key},
    lambda value, key, rng: {**value, key: rng.choice(VALUES)},
    lambda value, key, rng: {**value, key: value[rng.choice(list(value))]},
    lambda value, key, _: {name + "x" if name == key else name: kept for name, kept in value.items()},
    lambda value, _, rng: {**value, rng.choice(("id", "text", "kind", "schema", "\0", "")): rng.choice(VALUES)},
    lambda _, __, rng: rng.choice(VALUES),
    lambda value, *_: [value],
)


def of_bytes(data: bytes, rng: Random) -> bytes:
    i, j = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    j = min(j, i + rng.choice((1, 4, 40, 4000)))
    way = rng.randrange(8)
    if way == 0:
        return data[:i]
    if way == 1:
        return data[:i] + data[j:]
    if way == 2:
        return data[:j] + data[i:]
    if way == 3:
        return data[:i] + rng.randbytes(j - i) + data[j:]
    if way == 4:
        return data[:i] + bytes([data[i] ^ 1 << rng.randrange(8)]) + data[i + 1 :] if i < len(data) else data
    if way == 5:
        return data.replace(b"\n", rng.choice((b"\r", b"\r\n", b"", b"\n\n", b"\n \n")))
    return data[:i] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 3, 50)) + data[i if way == 6 else j :]
