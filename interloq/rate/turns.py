# SPDX-License-Identifier: Apache-2.0
"""Several turns as one text, joined by a control character: raters can read a context in place of an utterance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from interloq.records import Pair

BETWEEN = "\x1e"  # "record separator" of ASCII


def joined(turns: Iterable[str], most: int) -> str:
    """The last turns that have text, as one text."""
    return BETWEEN.join([turn.replace(BETWEEN, " ") for turn in turns if turn.strip()][-most:])


def with_contexts(pairs: Iterable[Pair], most: int) -> Iterator[Pair]:
    """Pairs with up to `most` turns before the response as their utterance.

    The turns before an utterance are those of the pair that it responds in: `to` is the id of an earlier pair of the
    thread. If a log lacks that pair, for example because it overlaps test samples, the context starts with the
    utterance.
    """
    thread, known = "", dict[str, list[str]]()
    for pair in pairs:
        if not pair.thread or pair.thread != thread:
            thread, known = pair.thread, {}
        turns = [*known.get(pair.to, ()), pair.utterance][-most:]
        known[pair.id] = turns
        yield replace(pair, utterance=joined(turns, most)) if pair.utterance.strip() else pair
