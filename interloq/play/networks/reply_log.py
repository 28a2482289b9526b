# SPDX-License-Identifier: Apache-2.0
"""Exchanges that a bot learns from: dialogues, pairs, or samples with their original references.

Consecutive turns of one speaker are joined, so turns alternate and a separator between two turns also says who speaks.
The same is done with the dialogues that the bot answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from interloq.data.text.texts import kind_of
from interloq.records import Dialogue, Pair, Sample, Turn
from interloq.retrieve.leaks import originals
from interloq.scorers.relevance.examples import Exchange
from interloq.scorers.relevance.log import ExchangeLog
from interloq.servers.replies import roles


class ReplyLog(ExchangeLog):
    """Exchanges of files with dialogues, pairs or samples, excluding those that overlap test samples."""

    one_sided = 0  # dialogues in which only one speaker has a turn

    def exchanges(self) -> Iterator[Exchange]:
        self.one_sided = 0
        return super().exchanges()

    def _talks(self, path: str, origin: int) -> Iterator[tuple[list[str], list[Exchange]]]:
        if kind_of(path) != "samples":
            yield from super()._talks(path, origin)
            return
        for sample in self.log.rated_samples(path):
            yield self._of_sample(sample, origin)

    def _exchanges_of(self, record: Pair | Dialogue, origin: int) -> tuple[list[str], list[Exchange]]:
        if isinstance(record, Dialogue):
            record = replace(record, turns=tuple(join_turns(record.turns)))
            self.one_sided += len(record.turns) == 1
        return super()._exchanges_of(record, origin)

    def _of_sample(self, sample: Sample, origin: int) -> tuple[list[str], list[Exchange]]:
        """Return an exchange for each original reference, or else for the response."""
        turns = [turn.text for turn in join_turns(sample.context)]
        replies = [reference.text for reference in originals(sample)] or [sample.response]
        talk = "\n".join(turns)
        exchanges = [Exchange(tuple(turns[-self.turns :]), reply, talk, origin) for reply in replies if turns]
        return [*turns, replies[0]], exchanges


def join_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns with consecutive turns of one named speaker joined; blank turns are omitted."""
    joined: list[Turn] = []
    for turn in turns:
        if not turn.text.strip():
            continue
        if joined and turn.speaker and joined[-1].speaker == turn.speaker:
            joined[-1] = replace(joined[-1], text=f"{joined[-1].text} {turn.text}")
        else:
            joined.append(turn)
    return joined


def context_texts(turns: Sequence[Turn], most: int) -> list[str]:
    """Return the last texts of a dialogue that a bot answers: one text per change of roles."""
    named = [Turn(turn.text, role) for turn, role in zip(turns, roles(turns), strict=True)]
    return [turn.text for turn in join_turns(named)[-most:]]


def describe_empty_log(log: ReplyLog | None) -> str:
    """Return why a log has no exchanges, for an error message; empty if nothing is known."""
    if log is not None and log.one_sided:
        return f"in {log.one_sided:,} dialogues only one speaker has a turn, so nobody replies"
    return ""
