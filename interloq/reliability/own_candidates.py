# SPDX-License-Identifier: Apache-2.0
"""Candidates for references that no search finds: other replies to the same utterance, and replies that a bot writes.

A bot gets the context alone, never the references or the reply being judged. Copies of them are excluded later, as for
replies from logs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from interloq.data.batched import batched
from interloq.data.files.appended import Appended
from interloq.data.records.jsonl import record_line
from interloq.errors import InputError
from interloq.play.bot import Bot, ask_bot
from interloq.records import Pair, Sample, Turn
from interloq.retrieve.extend import Finder, utterance
from interloq.retrieve.leaks import normalise_text
from interloq.retrieve.retriever import Hit, Query

AT_ONCE = 16  # contexts: the most that a kill loses
MOST = 1_000  # replies to one utterance
KIND = "written"


class SameQuery:
    """The replies of a log to the same utterance, in the order of the log."""

    def __init__(self, search: Finder, *, excluded: Set[str] = frozenset()) -> None:
        self.search, self.excluded = search, excluded  # the search finds equal utterances first

    def find(self, samples: Sequence[Sample]) -> list[list[Hit]]:
        """Return the replies to the last turn of each sample."""
        found = []
        queries = [Query(utterance(sample)) for sample in samples]
        for query, hits in zip(queries, self.search.search(queries, MOST), strict=True):
            asked = normalise_text(query.utterance)
            found.append([self._strip(hit) for hit in hits if self._answers(hit.pair, asked)])
        return found

    def _answers(self, pair: Pair, asked: str) -> bool:
        is_excluded = not self.excluded.isdisjoint((pair.id, pair.to, pair.thread))
        return normalise_text(pair.utterance) == asked != "" and not is_excluded

    def _strip(self, hit: Hit) -> Hit:
        """Return the reply alone: with its utterance or post, it would be excluded as a copy of the test item."""
        return Hit(replace(hit.pair, utterance="", to="", thread=""), hit.score)


class Written:
    """Replies that a bot writes; with a file, they are kept there and asked for only once."""

    def __init__(self, bot: Bot, replies: int, path: str | Path | None = None) -> None:
        self.bot, self.replies = bot, replies
        self._known: dict[tuple[Turn, ...], list[str]] = {}
        self._file = None if path is None else Appended(path)
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def find(self, samples: Sequence[Sample]) -> list[list[Hit]]:
        """Return the replies to the context of each sample."""
        new = dict.fromkeys(sample.context for sample in samples if sample.context)
        failures: list[str] = []
        for contexts in batched([context for context in new if context not in self._known], AT_ONCE):
            failures += self._ask(contexts)
        if failures:
            again = f"; to ask again, delete {self._file.path}" if self._file else ""
            warnings.warn(f"{len(failures)} replies were not written: {failures[0]}{again}", stacklevel=2)
        hits = []
        for sample in samples:
            texts = self._known.get(sample.context, [])
            hits.append([Hit(Pair(f"llm/{i}", "", text), 1.0) for i, text in enumerate(texts)])
        return hits

    def _read(self) -> None:
        """Read the replies that are kept; a file with those of another bot is refused."""
        if self._file:
            run = {"bot": str(self.bot.signature()), "replies": self.replies}
            for _, line in self._file.resume(KIND, run):
                known: dict[str, Any] = orjson.loads(line)
                self._known[tuple(Turn(**turn) for turn in known["context"])] = known["replies"]

    def close(self) -> None:
        """End the bot and close the file."""
        self.bot.close()
        if self._file:
            self._file.close()

    def _ask(self, contexts: Sequence[tuple[Turn, ...]]) -> list[str]:
        """Ask for several replies to each context; return why some are missing, which are not asked for again."""
        dialogues = [context for context in contexts for _ in range(self.replies)]
        answers = ask_bot(self.bot, dialogues, [*range(self.replies)] * len(contexts))
        failures = [answer.failure for answer in answers if not answer.text]
        if len(failures) == len(answers) and not self._known:
            raise InputError(f"the bot wrote nothing: {failures[0]}")
        for i, context in enumerate(contexts):
            own = answers[i * self.replies : (i + 1) * self.replies]
            self._known[context] = [answer.text for answer in own if answer.text]
            if self._file:
                self._file.add(record_line({"context": context, "replies": self._known[context]}))
        return failures
