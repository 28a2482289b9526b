# SPDX-License-Identifier: Apache-2.0
"""Drawing records at random from logs that do not fit in memory.

Every record has a number that depends only on the seed and its content, and the n records with the smallest numbers are
drawn: the same ones for any order of the log. The log is read once; records that may be among the drawn ones wait in a
temporary file, about n · (1 + ln(log / n)) of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import IO

import numpy as np
import orjson

from interloq.data.corpus.times import microseconds
from interloq.data.files.write_errors import writing
from interloq.data.records.jsonl import record_line
from interloq.errors import InputError
from interloq.records import Pair

NUMBERS = 2**64  # random numbers are below
HELD = 2**16  # numbers beyond the n smallest that are held in memory before the largest are discarded
DIGITS = 16  # of a number in the temporary file


def random_number(seed: int, *names: str) -> int:
    """Return a number below NUMBERS that depends only on the seed and the names."""
    data = "\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def pair_number(pair: Pair, seed: int) -> int:
    """Return the random number of a pair. Its id is not used: without one, it would be the number of its line."""
    return random_number(seed, pair.to, pair.thread, pair.time, pair.utterance, pair.response)


def draw_pairs(pairs: Iterable[Pair], n: int, *, seed: int = 0) -> Iterator[Pair]:
    """Yield n pairs drawn at random, in the order of the log; all of them if there are no more than n."""
    with writing(tempfile.gettempdir()), tempfile.TemporaryFile() as waiting:
        largest, ties = _keep_smallest(pairs, n, seed, waiting)
        waiting.seek(0)
        for line in waiting:
            number = int(line[:DIGITS], 16)
            ties -= number == largest
            if number < largest or (number == largest and ties >= 0):
                yield Pair(**orjson.loads(line[DIGITS:]))


def _keep_smallest(pairs: Iterable[Pair], n: int, seed: int, waiting: IO[bytes]) -> tuple[int, int]:
    """Write pairs that may be drawn, each after its number; return the largest number drawn, and how often it is."""
    smallest = np.empty(n + HELD, dtype=np.uint64)
    held, limit = 0, NUMBERS
    for pair in pairs:
        number = pair_number(pair, seed)
        if number >= limit:
            continue
        waiting.write(b"%016x" % number + record_line(pair))
        smallest[held] = number
        held += 1
        if held == len(smallest):
            smallest[:n] = np.partition(smallest, n - 1)[:n]
            held, limit = n, int(smallest[:n].max()) + 1
    drawn = np.sort(smallest[:held])[:n]
    if not len(drawn):
        return 0, 0
    return int(drawn[-1]), int((drawn == drawn[-1]).sum())


def read_date(text: str, name: str) -> int:
    """Return a date given by the user in microseconds, or NO_TIME if it is empty. A number is no date, nor a year."""
    hint = "for example 2019-01-01"
    if text.isdecimal():
        raise InputError(f"{name}: {text!r} is not a date", hint=hint)
    try:
        return microseconds(text)
    except InputError as error:
        raise InputError(f"{name}: {error.what}", hint=hint) from error
