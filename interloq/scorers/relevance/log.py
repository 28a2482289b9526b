# SPDX-License-Identifier: Apache-2.0
"""Exchanges from logs of dialogues or pairs, and from contexts with written replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.opening import lines
from interloq.errors import InputError
from interloq.records import Dialogue, Pair, Sample
from interloq.retrieve.leaks import Guard, guard, normalise_text, originals
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.relevance.examples import Exchange
from interloq.signature import file_fingerprint, fingerprint

POSITIVE, ADVERSARIAL = "positive_responses", "adversarial_negative_responses"


class ExchangeLog:
    """Exchanges of a log and of files with written replies, excluding those that overlap test samples.

    No turn of an exchange matches a turn or a gold reply of a sample, up to case and punctuation. A dialogue that has
    two consecutive turns of a sample is a copy of it and is excluded as a whole.
    """

    def __init__(self, log: TrainingLog, written: Sequence[str] = (), *, turns: int) -> None:
        every = TrainingLog([*log.files, *written], log.without, reading=log.reading)
        every.dropped = log.dropped  # exclusions are counted there
        self.log, self.turns, self.written, self.files = every, turns, set(written), every.files
        guards = list(map(guard, every.samples))
        utterances = frozenset[str]().union(*(each.utterances for each in guards))
        responses = frozenset[str]().union(*(each.responses for each in guards))
        self._guard = Guard(utterances=utterances, responses=responses)
        self._rows = _neighbours(every.samples)

    @property
    def fingerprint(self) -> str:
        """Short hash of the log and of the files with written replies."""
        prints = sorted(file_fingerprint(Path(path)) for path in self.written)
        if not prints:
            return self.log.fingerprint
        return fingerprint(self.log.fingerprint, *prints)

    def exchanges(self) -> Iterator[Exchange]:
        """Yield the exchanges of all logs."""
        for origin, path in enumerate(self.files):
            dropped = self.log.dropped[path] = Counter()
            for talk, exchanges in self._talks(path, origin):
                if self._rows and not self._rows.isdisjoint(pairwise(map(normalise_text, talk))):
                    dropped["copied"] += len(exchanges)
                    continue
                for exchange in exchanges:
                    if reason := self._reason(exchange):
                        dropped[reason] += 1
                    else:
                        yield self._remove_shared(exchange)

    def _talks(self, path: str, origin: int) -> Iterator[tuple[list[str], list[Exchange]]]:
        """Yield the turns and exchanges of each dialogue."""
        if path in self.written:
            yield from _read_written(path, origin)
            return
        for record in self.log.records(path):
            yield self._exchanges_of(record, origin)

    def _exchanges_of(self, record: Pair | Dialogue, origin: int) -> tuple[list[str], list[Exchange]]:
        if isinstance(record, Pair):
            exchange = Exchange((record.utterance,), record.response, record.utterance, origin)
            return [record.utterance, record.response], [exchange]
        turns = [turn.text for turn in record.turns]
        return turns, list(_of_dialogue(record, turns, self.turns, origin))

    def _reason(self, exchange: Exchange) -> str:
        if not self.log.samples:
            return ""
        for turn in exchange.context:
            if reason := self._guard.reason(Pair("", turn, exchange.reply)):
                return reason
        return ""

    def _remove_shared(self, exchange: Exchange) -> Exchange:
        """Return the exchange without wrong replies that match a text of a sample."""
        shared = self._guard.utterances
        if not shared or not exchange.wrong:
            return exchange
        return replace(exchange, wrong=tuple(text for text in exchange.wrong if normalise_text(text) not in shared))


def _of_dialogue(dialogue: Dialogue, turns: list[str], most: int, origin: int) -> Iterator[Exchange]:
    """Yield each turn whose speaker differs from the previous speaker, with the turns before it."""
    talk = "\n".join(turns)
    for i, (before, turn) in enumerate(pairwise(dialogue.turns), start=1):
        if not before.speaker or before.speaker != turn.speaker:
            yield Exchange(tuple(turns[max(0, i - most) : i]), turn.text, talk, origin, speaker=turn.speaker)


def _read_written(path: str, origin: int) -> Iterator[tuple[list[str], list[Exchange]]]:
    """Yield contexts with several good replies and optionally wrong ones, in the layout of DailyDialog++."""
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            item = orjson.loads(line)
            context, good = _texts(item["context"], "context"), _texts(item[POSITIVE], POSITIVE)
            wrong = _texts(item.get(ADVERSARIAL, ()), ADVERSARIAL)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(
                f"not a context with replies: {error}",
                hint=f"write {{context: […], {POSITIVE}: […], {ADVERSARIAL}: […]}} on each line",
                where=f"{path}:{number}",
            ) from error
        if context:
            talk = "\n".join(context)
            yield context, [Exchange(tuple(context), reply, talk, origin, tuple(wrong)) for reply in good]


def _texts(texts: Any, name: str) -> list[str]:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{name} must be a list of texts")
    return list(texts)


def _neighbours(samples: list[Sample]) -> frozenset[tuple[str, str]]:
    """Return consecutive turns of samples, including the gold reply."""
    neighbours: set[tuple[str, str]] = set()
    for sample in samples:
        turns = [turn.text for turn in sample.context]
        replies = [reference.text for reference in originals(sample)] or [""]
        for reply in replies:
            for first, second in pairwise(map(normalise_text, [*turns, reply])):
                if first and second:
                    neighbours.add((first, second))
    return frozenset(neighbours)
