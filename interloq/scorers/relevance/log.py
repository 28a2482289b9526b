# SPDX-License-Identifier: Apache-2.0
"""Exchanges from logs of dialogues or pairs, and from contexts with written replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files import lines
from interloq.errors import InputError
from interloq.records import Dialogue, Pair, Sample
from interloq.retrieve.leaks import Guard, guard, normalised, originals
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.relevance.examples import Exchange
from interloq.signature import file_fingerprint, fingerprint

POSITIVE, ADVERSARIAL = "positive_responses", "adversarial_negative_responses"


class ExchangeLog:
    """Exchanges of a log and of files with written replies, excluding what overlaps with test samples.

    No turn of an exchange matches a turn or a gold reply of a sample, up to case and punctuation. A dialogue that has
    two consecutive turns of a sample is a copy of it and is excluded as a whole.
    """

    def __init__(self, log: TrainingLog, written: Sequence[str] = (), *, turns: int) -> None:
        every = TrainingLog([*log.files, *written], log.without, strict=log.strict, on_reject=log.on_reject)
        every.dropped = log.dropped  # exclusions are counted there
        self.log, self.turns, self.written, self.files = every, turns, set(written), every.files
        self._guard = _merged(every.samples)
        self._rows = _neighbours(every.samples)

    @property
    def fingerprint(self) -> str:
        """Short hash of the log and of the files with written replies."""
        prints = sorted(file_fingerprint(Path(path)) for path in self.written)
        return fingerprint(self.log.fingerprint, *prints) if prints else self.log.fingerprint

    def exchanges(self) -> Iterator[Exchange]:
        """Exchanges of all logs."""
        for origin, path in enumerate(self.files):
            dropped = self.log.dropped[path] = Counter()
            for talk, found in self._talks(path, origin):
                if self._copied(talk):
                    dropped["copied"] += len(found)
                    continue
                for exchange in found:
                    if reason := self._reason(exchange):
                        dropped[reason] += 1
                    else:
                        yield self._cleared(exchange)

    def _talks(self, path: str, origin: int) -> Iterator[tuple[list[str], list[Exchange]]]:
        """Turns and exchanges of each dialogue."""
        if path in self.written:
            yield from _written(path, origin)
            return
        for record in self.log.records(path):
            if isinstance(record, Pair):
                found = [Exchange((record.utterance,), record.response, record.utterance, origin)]
                yield [record.utterance, record.response], found
            else:
                turns = [turn.text for turn in record.turns]
                yield turns, list(_of_dialogue(record, turns, self.turns, origin))

    def _copied(self, turns: list[str]) -> bool:
        return bool(self._rows) and not self._rows.isdisjoint(pairwise(map(normalised, turns)))

    def _reason(self, exchange: Exchange) -> str:
        if not self.log.samples:
            return ""
        reasons = (self._guard.reason(Pair("", turn, exchange.reply)) for turn in exchange.context)
        return next(filter(None, reasons), "")

    def _cleared(self, exchange: Exchange) -> Exchange:
        """The exchange without wrong replies that match a text of a sample."""
        shared = self._guard.utterances
        if not shared or not exchange.wrong:
            return exchange
        return replace(exchange, wrong=tuple(text for text in exchange.wrong if normalised(text) not in shared))


def _of_dialogue(dialogue: Dialogue, turns: list[str], most: int, origin: int) -> Iterator[Exchange]:
    """Each turn from the second on, with the turns before it, unless it has the same speaker as the turn before."""
    talk = "\n".join(turns)
    for i, (before, turn) in enumerate(pairwise(dialogue.turns), start=1):
        if not before.speaker or before.speaker != turn.speaker:
            yield Exchange(tuple(turns[max(0, i - most) : i]), turn.text, talk, origin)


def _written(path: str, origin: int) -> Iterator[tuple[list[str], list[Exchange]]]:
    """Contexts with several good replies and optionally wrong ones, in the layout of DailyDialog++."""
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            item = orjson.loads(line)
            context, good, wrong = _texts(item, "context"), _texts(item, POSITIVE), _texts(item, ADVERSARIAL, ())
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(
                f"not a context with replies: {error}",
                hint=f"write {{context: […], {POSITIVE}: […], {ADVERSARIAL}: […]}} on each line",
                where=f"{path}:{number}",
            ) from error
        if context:
            talk = "\n".join(context)
            yield context, [Exchange(tuple(context), reply, talk, origin, tuple(wrong)) for reply in good]


def _texts(item: Mapping[str, Any], name: str, *default: Any) -> list[str]:
    found = item.get(name, *default) if default else item[name]
    if isinstance(found, str) or not all(isinstance(text, str) for text in found):
        raise TypeError(f"{name} must be a list of texts")
    return list(found)


def _merged(samples: list[Sample]) -> Guard:
    every = [guard(sample) for sample in samples]
    return Guard(
        utterances=frozenset().union(*(each.utterances for each in every)),
        responses=frozenset().union(*(each.responses for each in every)),
    )


def _neighbours(samples: list[Sample]) -> frozenset[tuple[str, str]]:
    """Consecutive turns of samples, including the gold reply."""
    return frozenset(
        (first, second)
        for sample in samples
        for reply in [reference.text for reference in originals(sample)] or [""]
        for first, second in pairwise(map(normalised, [*(turn.text for turn in sample.context), reply]))
        if first and second
    )
