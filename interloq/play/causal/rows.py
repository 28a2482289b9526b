# SPDX-License-Identifier: Apache-2.0
"""Replies of a log with their whole contexts as rows of tokens, which a causal language model learns from:

turn [end] turn [end] … [speaker] reply [end]

Rows are sorted by the hashes of their dialogues, so nothing depends on the order of the log. Dialogues with the first
hashes are the dev part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.files.opening import read_json, reading_saved, write_json
from interloq.data.text.language import main_language
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.learn.fit import Part
from interloq.play.networks.settings import BotReading
from interloq.play.networks.words import LOOKED_AT, UNSPACED
from interloq.scorers.relevance.examples import Exchange, dev_boundary
from interloq.signature import fingerprint

FACTS, ARRAYS = "rows.json", ("tokens", "ends", "replies", "users", "words")
BATCH = 2_000  # exchanges tokenised at a time
NOBODY = 0  # number of users without a token of their own


@dataclass(frozen=True)
class ReplyRows:
    """Rows of tokens; the first `facts["dev"]` are the dev part. User n > 0 is `facts["users"][n - 1]`."""

    tokens: NDArray[np.int32]
    ends: NDArray[np.int64]
    replies: NDArray[np.int32]  # tokens of each reply, its end included
    users: NDArray[np.int32]
    words: NDArray[np.int32]  # of each reply; its end counts as one
    facts: dict[str, Any]

    @classmethod
    def load(cls, folder: Path) -> ReplyRows:
        """Load the rows in a folder."""
        with reading_saved(folder, "cannot read the rows", hint="make them again"):
            arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in ARRAYS}
            return cls(**arrays, facts=read_json(folder / FACTS))

    def save(self, folder: Path) -> None:
        """Write the rows; the file that marks them complete comes last."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)
        write_json(folder / FACTS, self.facts)

    def range(self, part: Part) -> slice:
        """Return the range of a part's rows."""
        if part == "dev":
            return slice(0, self.facts["dev"])
        return slice(self.facts["dev"], len(self.replies))

    @property
    def texts(self) -> Texts:
        """Tokens of all rows."""
        return Texts(self.tokens, self.ends)


class _Reader:
    """Tokenises exchanges."""

    def __init__(self, tokenizer: Any, reading: BotReading, *, reverse: bool) -> None:
        self.tokenizer, self.reading, self.reverse = tokenizer, reading, reverse
        self.rows: list[NDArray[np.int32]] = []
        self.talks: list[int] = []
        self.replies: list[int] = []
        self.kept: list[str] = []
        self.users: list[str] = []
        self.blank = 0

    def add(self, batch: Sequence[Exchange]) -> None:
        """Tokenise a batch; exchanges without text are counted."""
        contexts, replies = [], []
        for exchange in batch:
            turns = [turn for turn in exchange.context if turn.strip()]
            if not turns or not exchange.reply.strip():
                self.blank += 1
                continue
            contexts.append([exchange.reply] if self.reverse else turns)
            replies.append(turns[-1] if self.reverse else exchange.reply)
            self.talks.append(int(fingerprint(exchange.talk), 16))
            self.users.append(exchange.speaker)
        if not replies:
            return
        turns_of = self._tokens([turn for context in contexts for turn in context])
        end, first = self.tokenizer.eos_token_id, 0
        for context, reply in zip(contexts, self._tokens(replies), strict=True):
            before = [token for turn in turns_of[first : first + len(context)] for token in (*turn, end)]
            first += len(context)
            kept = [*reply, end][: self.reading.reply]
            self.rows.append(np.array([*before[-self.reading.context :], *kept], dtype=np.int32))
            self.replies.append(len(kept))
            self.kept.append(self.tokenizer.decode(kept, skip_special_tokens=True))

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        options = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}  # text stays text
        return list(self.tokenizer(list(texts), **options)["input_ids"])


def read_rows(
    exchanges: Iterable[Exchange],
    tokenizer: Any,
    reading: BotReading,
    *,
    user_replies: int,
    reverse: bool = False,
    step: Callable[[int], None] = lambda _: None,
) -> ReplyRows:
    """Return the rows of a stream of exchanges; users with fewer replies than `user_replies` have no number."""
    reader = _Reader(tokenizer, reading, reverse=reverse)
    for batch in batched(exchanges, BATCH):
        reader.add(batch)
        step(len(batch))
    if not reader.rows:
        hint = "use dialogues of two speakers, pairs, or samples with a context"
        raise InputError("no text in the log has a reply", hint=hint)
    hashes = [fingerprint(row.tobytes(), user) for row, user in zip(reader.rows, reader.users, strict=True)]
    keys = dict(zip(zip(reader.talks, hashes, strict=True), range(len(hashes)), strict=True))  # copies count once
    order = [i for _, i in sorted(keys.items())]
    talks = np.array([reader.talks[i] for i in order], dtype=np.uint64)
    dev = int((talks < dev_boundary(talks, reading.dev)).sum())
    known = Counter(reader.users[i] for i in order[dev:])
    users = sorted(user for user, n in known.items() if user and n >= user_replies)
    numbers = {user: number for number, user in enumerate(users, start=NOBODY + 1)}
    language = reading.language
    if language == "auto":
        language = main_language(reader.kept[i] for i in order[:LOOKED_AT])
    rows = [reader.rows[i] for i in order]
    return ReplyRows(
        np.concatenate(rows),
        np.concatenate([[0], np.cumsum(list(map(len, rows)), dtype=np.int64)]),
        np.array([reader.replies[i] for i in order], dtype=np.int32),
        np.array([numbers.get(reader.users[i], NOBODY) for i in order], dtype=np.int32),
        np.array([_count_words(reader.kept[i], language) + 1 for i in order], dtype=np.int32),
        {"dev": dev, "exchanges": len(order), "blank": reader.blank, "users": users, "language": language},
    )


def _count_words(text: str, language: str) -> int:
    return len("".join(text.split())) if language in UNSPACED else len(text.split())
