# SPDX-License-Identifier: Apache-2.0
"""Tokenised exchanges of dialogues on disk, with each distinct text read and tokenised once.

An exchange is a reply with the turns before it. Texts are numbered in the order of their hashes, and exchanges are
sorted by their dialogues' hashes, so nothing depends on the order of the input. Dialogues with the first hashes are the
dev part: train and dev never share a dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.files.durable import hold_lock, make_folder
from interloq.data.files.opening import read_json, reading_saved, replacing
from interloq.data.files.write_errors import writing
from interloq.data.text.texts import UnseenTexts
from interloq.data.text.token_texts import Texts, spans
from interloq.errors import InputError, MissingDependencyError
from interloq.learn.pair_tokens import TextTokenizer
from interloq.registry import full_spec
from interloq.scorers.relevance.settings import RelevanceReading
from interloq.signature import fingerprint

Part = Literal["train", "dev"]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
FACTS = "examples.json"
ARRAYS = ("tokens", "lengths", "forms", "contexts", "replies", "talks", "origins", "similar", "wrong_ends", "wrong")
BATCH = 10_000  # exchanges tokenised at a time
NEAR, KEPT = 16, 4  # similar replies considered, and kept
LOCK = "lock"
LEAST = 2  # dialogues per part
NONE = -1
MIX = np.uint64(0x9E3779B97F4A7C15)


class SizedTokenizer(TextTokenizer, Protocol):
    """A tokenizer with a known number of ids: `Pieces`, `Subwords`."""

    size: int

    def signature(self) -> str:
        """Return what determines the ids."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reply and the turns before it. Exchanges of one `talk` stay in one part; `origin` is the number of its log."""

    context: tuple[str, ...]
    reply: str
    talk: str
    origin: int = 0
    wrong: tuple[str, ...] = ()  # wrong replies written by people
    speaker: str = ""  # who wrote the reply, if the log says so


@dataclass(frozen=True)
class Exchanges:
    """Exchanges whose texts are given by their numbers.

    `contexts` and `similar` have one row per exchange, padded with NONE. Exchanges are sorted by part, origin and talk;
    the first `facts["dev"]` of them are the dev part.
    """

    tokens: NDArray[Any]
    lengths: NDArray[Any]
    forms: NDArray[np.int32]  # the same number for texts that differ only in case and punctuation
    contexts: NDArray[np.int32]
    replies: NDArray[np.int32]
    talks: NDArray[np.int32]
    origins: NDArray[np.uint8]
    similar: NDArray[np.int32]
    wrong_ends: NDArray[np.int32]
    wrong: NDArray[np.int32]
    facts: dict[str, Any]

    @staticmethod
    def written(folder: Path) -> bool:
        """Return whether a folder contains complete exchanges."""
        return (folder / FACTS).exists()

    @classmethod
    def load(cls, folder: Path) -> Exchanges:
        """Load the exchanges in a folder."""
        with reading_saved(folder, "cannot read the exchanges", hint="make them again"):
            arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in ARRAYS}
            return cls(**arrays, facts=read_json(folder / FACTS))

    def range(self, part: Part) -> slice:
        """Return the range of a part's exchanges."""
        if part == "dev":
            return slice(0, self.facts["dev"])
        return slice(self.facts["dev"], len(self.replies))

    @cached_property
    def texts(self) -> Texts:
        """Tokens of all texts."""
        return Texts(self.tokens, np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)]))

    @cached_property
    def known(self) -> Ints:
        """All pairs of an utterance and a form of its replies, as one number each."""
        return np.unique(self.answer(np.arange(len(self.replies)), self.replies))

    def answer(self, exchanges: Ints, texts: NDArray[np.integer]) -> Ints:
        """Return a number for each pair of last turn and reply; equal pairs have equal numbers."""
        return np.asarray(self.contexts[exchanges, -1].astype(np.int64) * len(self.forms) + self.forms[texts])

    def is_true(self, exchanges: Ints, texts: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether the text occurs as a reply to the exchange's last turn, in this or another exchange."""
        asked = self.answer(exchanges, texts)
        return np.asarray(self.known[np.searchsorted(self.known, asked).clip(max=len(self.known) - 1)] == asked)


def write_exchanges(
    exchanges: Iterable[Exchange],
    folder: Path,
    subwords: SizedTokenizer,
    reading: RelevanceReading,
    *,
    source: str = "",
    similar: bool = True,
    step: Callable[[int], None] = lambda _: None,
) -> Exchanges:
    """Tokenise a stream of exchanges. The file that marks the folder complete comes last.

    `similar` says whether to search for similar replies, from which wrong replies of the kind `retrieved` are drawn.
    Jobs may share the folder; a second job is refused while the first is writing it.
    """
    with writing(folder):
        make_folder(folder)
    with hold_lock(folder / LOCK):
        stored = _tokenise(exchanges, subwords, reading, source, similar, step)
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(stored, name), allow_pickle=False)
        with replacing(folder / FACTS) as file:
            file.write(orjson.dumps(stored.facts))
        (folder / LOCK).unlink()
    return stored


def _tokenise(
    exchanges: Iterable[Exchange],
    subwords: SizedTokenizer,
    reading: RelevanceReading,
    source: str,
    similar: bool,
    step: Callable[[int], None],
) -> Exchanges:
    texts, hashed = _read_stream(exchanges, subwords, reading, step)
    arrays = texts | _number_exchanges(hashed, texts.pop("hashes"), reading)
    dev = int(arrays.pop("dev"))
    arrays["similar"] = np.full((len(arrays["replies"]), KEPT), NONE, dtype=np.int32)
    facts = {**reading_facts(subwords, reading), "longest": reading.longest, "source": source, "blank": hashed.blank}
    stored = Exchanges(**arrays, facts={**facts, "dev": dev, "exchanges": len(arrays["replies"])})
    if similar:
        _find_similar(stored, reading.seed)
    return stored


def read_stored_source(folder: Path | None) -> str:
    """Return the fingerprint of the logs that a folder's exchanges were made from."""
    if folder is None or not Exchanges.written(folder):
        return ""
    return str(read_json(folder / FACTS)["source"])


def reading_facts(subwords: SizedTokenizer, reading: RelevanceReading) -> dict[str, str]:
    """Return facts that identify how the examples were made."""
    return {"reading": full_spec(reading), "subwords": subwords.signature()}


# ---- reading ---------------------------------------------------------------------------------------------------------


class _HashedExchanges:
    """Exchanges as hashes of their texts; 0 means no text."""

    def __init__(self, turns: int) -> None:
        self.turns, self.blank = turns, 0
        self._parts: list[tuple[Hashes, Hashes, Hashes, NDArray[np.uint8], Ints, Hashes]] = []

    def add(self, batch: Sequence[Exchange]) -> list[str]:
        """Add a batch; return its texts."""
        contexts, replies, talks = list[str](), list[str](), list[str]()
        origins, counts, wrong_replies = list[int](), list[int](), list[str]()
        for exchange in batch:
            if not (exchange.reply.strip() and exchange.context and exchange.context[-1].strip()):
                self.blank += 1
                continue
            turns = [turn for turn in exchange.context if turn.strip()][-self.turns :]
            contexts += [""] * (self.turns - len(turns)) + turns
            replies.append(exchange.reply)
            talks.append(exchange.talk)
            origins.append(exchange.origin)
            wrong = [text for text in exchange.wrong if text.strip()]
            counts.append(len(wrong))
            wrong_replies += wrong
        self._parts.append(
            (
                _hashes(contexts).reshape(-1, self.turns),
                _hashes(replies),
                _hashes(talks),
                np.array(origins, dtype=np.uint8),
                np.array(counts, dtype=np.int64),
                _hashes(wrong_replies),
            )
        )
        return list(filter(None, (*contexts, *replies, *wrong_replies)))

    def arrays(self) -> tuple[Any, ...]:
        columns = tuple(map(np.concatenate, zip(*self._parts, strict=True)))
        if not columns or not len(columns[1]):
            raise InputError("no exchange has both a context and a reply", hint="use dialogues or pairs")
        return columns


def _read_stream(
    exchanges: Iterable[Exchange], subwords: SizedTokenizer, reading: RelevanceReading, step: Callable[[int], None]
) -> tuple[dict[str, Any], _HashedExchanges]:
    seen, hashed = UnseenTexts(), _HashedExchanges(reading.turns)
    kind = np.uint16 if subwords.size <= np.iinfo(np.uint16).max else np.uint32
    hashes, forms, tokens, lengths = [_hashes([])], [_hashes([])], [np.zeros(0, kind)], [np.zeros(0, np.uint16)]
    for batch in batched(exchanges, BATCH):
        new = seen.new(hashed.add(batch))
        tokenised = subwords.texts(new)
        tokens.append(tokenised.tokens.astype(kind))
        lengths.append(tokenised.lengths.astype(np.uint16))
        hashes.append(_hashes(new))
        forms.append(_hashes(list(map(_form, new))))
        step(len(batch))
    whole = _by_hash(np.concatenate(hashes), np.concatenate(forms), np.concatenate(tokens), np.concatenate(lengths))
    return whole, hashed


def _by_hash(hashes: Hashes, forms: Hashes, tokens: NDArray[Any], lengths: NDArray[Any]) -> dict[str, Any]:
    order = np.argsort(hashes)
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    flat = spans(ends[:-1][order], lengths[order].astype(np.int64))
    numbered = np.unique(forms[order], return_inverse=True)[1].astype(np.int32)
    return {"hashes": hashes[order], "tokens": tokens[flat], "lengths": lengths[order], "forms": numbered}


def _number_exchanges(exchanges: _HashedExchanges, hashes: Hashes, reading: RelevanceReading) -> dict[str, Any]:
    """Return the distinct exchanges, sorted, with texts given by their numbers."""
    contexts, replies, talks, origins, counts, wrong = exchanges.arrays()
    same = replies + (contexts * (MIX * np.arange(1, contexts.shape[1] + 1, dtype=np.uint64))).sum(axis=1)
    order = np.lexsort((same, talks, origins))
    order = order[np.sort(np.unique(same[order], return_index=True)[1])]
    boundary = dev_boundary(talks[order], reading.dev)
    dev = talks[order] < boundary
    order = np.concatenate([order[dev], order[~dev]])
    ends = np.concatenate([[0], np.cumsum(counts)])
    numbers = np.searchsorted(hashes, contexts[order]).astype(np.int32)
    keys = np.unique(talks[order], return_inverse=True)[1].astype(np.int32)
    return {
        "contexts": np.where(contexts[order] == 0, np.int32(NONE), numbers),
        "replies": np.searchsorted(hashes, replies[order]).astype(np.int32),
        "talks": keys,
        "origins": origins[order],
        "wrong_ends": np.concatenate([[0], np.cumsum(counts[order])]).astype(np.int32),
        "wrong": np.searchsorted(hashes, wrong[spans(ends[:-1][order], counts[order])]).astype(np.int32),
        "dev": int(dev.sum()),
    }


def dev_boundary(talks: Hashes, dev: int) -> np.uint64:
    """Return the hash below which talks are the dev part: about `dev` exchanges, at most about a tenth."""
    keys, counts = np.unique(talks, return_counts=True)
    if len(keys) < 2 * LEAST:
        raise InputError(
            f"the logs have only {len(keys)} different dialogues or utterances", hint=f"use {2 * LEAST} or more"
        )
    wanted = int(np.searchsorted(np.cumsum(counts), max(1, min(dev, len(talks) // 10)))) + 1
    return np.uint64(keys[min(max(wanted, LEAST), len(keys) - LEAST)])


def _form(text: str) -> str:
    """Return a text's letters and digits, case-folded: equal for texts that differ only in case and punctuation."""
    return "".join(filter(str.isalnum, text.casefold())) or text


def _hashes(texts: Sequence[str]) -> Hashes:
    return np.array([int(fingerprint(text), 16) if text else 0 for text in texts], dtype=np.uint64)


# ---- similar replies from other exchanges ----------------------------------------------------------------------------


def _find_similar(stored: Exchanges, seed: int) -> None:
    """Find similar replies within each log: half with the last turn as the query, half with the true reply."""
    try:
        from interloq.retrieve.similar import near  # needs numba, which is not needed with ready-made examples
    except ImportError as error:
        raise MissingDependencyError("searching similar replies", error.name or "numba", "retrieve") from error

    rng = np.random.default_rng(seed)
    for which in groups(stored):
        documents = stored.texts.take(stored.replies[which])
        for column, asked in ((0, stored.contexts[which, -1]), (KEPT // 2, stored.replies[which])):
            places = near(documents, stored.texts.take(asked), NEAR)
            texts = np.where(places == NONE, NONE, stored.replies[which][places])
            rows = np.repeat(np.arange(which.start, which.stop), texts.shape[1]).reshape(texts.shape)
            unfit = (texts == NONE) | stored.is_true(rows, texts) | (texts == stored.contexts[which, -1:])
            order = np.argsort(rng.random(texts.shape) + unfit, axis=1)[:, : KEPT // 2]
            chosen = np.take_along_axis(np.where(unfit, NONE, texts), order, axis=1)
            stored.similar[which, column : column + chosen.shape[1]] = chosen


def groups(stored: Exchanges) -> Iterator[slice]:
    """Yield the ranges of exchanges of one part and one origin."""
    for part in ("dev", "train"):
        own = stored.range(part)
        origins = stored.origins[own]
        edges = np.flatnonzero(np.diff(origins)) + 1
        for start, stop in zip([0, *edges], [*edges, len(origins)], strict=True):
            yield slice(own.start + int(start), own.start + int(stop))
