"""Exchanges of dialogues on disk as token numbers, each distinct text once: read and tokenised once.

An exchange is a reply with the turns before it. Texts are numbered by the order of their hashes, and exchanges are
sorted by those of their dialogues, so nothing depends on the order in which they came. Dialogues whose hashes come
first are kept for checking (dev): a dialogue is never on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.files import read_json, reading_saved, replacing
from interloq.data.token_texts import Texts
from interloq.data.unseen_texts import Distinct
from interloq.errors import InputError
from interloq.models.subwords import Subwords
from interloq.registry import full_spec
from interloq.scorers.relevance.settings import Reading
from interloq.signature import fingerprint

Part = Literal["train", "dev"]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
FACTS = "examples.json"
ARRAYS = ("tokens", "lengths", "forms", "contexts", "replies", "talks", "origins", "similar", "wrong_ends", "wrong")
BATCH = 10_000  # exchanges tokenised at a time
NEAR, KEPT = 16, 4  # similar replies looked at, and those kept
LEAST = 2  # dialogues on either side
NONE = -1
MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reply and the turns before it. Exchanges of one `talk` stay on one side; `origin` is the log it comes from."""

    context: tuple[str, ...]
    reply: str
    talk: str
    origin: int = 0
    wrong: tuple[str, ...] = ()  # replies that people wrote as wrong ones


@dataclass(frozen=True)
class Exchanges:
    """`contexts` are rows of text numbers, the last turn last, NONE where there are fewer; `similar` likewise.

    Sorted by side, origin and talk; the first `facts["dev"]` of them are for checking.
    """

    tokens: NDArray[Any]
    lengths: NDArray[Any]
    forms: NDArray[np.int32]  # texts with the same number read alike
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
        """Whether a folder holds whole exchanges."""
        return (folder / FACTS).exists()

    @classmethod
    def load(cls, folder: Path) -> Exchanges:
        """Those that a folder holds."""
        with reading_saved(folder, "no exchanges can be read", hint="make them again"):
            arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in ARRAYS}
            return cls(**arrays, facts=read_json(folder / FACTS))

    def range(self, part: Part) -> slice:
        """Where the exchanges of a part are."""
        return slice(0, self.facts["dev"]) if part == "dev" else slice(self.facts["dev"], len(self.replies))

    @cached_property
    def texts(self) -> Texts:
        """All texts, as tokens."""
        return Texts(self.tokens, np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)]))

    @cached_property
    def known(self) -> Ints:
        """Every utterance with every form of a reply that it got, as one number."""
        return np.unique(self.answer(np.arange(len(self.replies)), self.replies))

    def answer(self, exchanges: Ints, texts: NDArray[np.integer]) -> Ints:
        """A number for each pair of last turn and reply, the same for the same pair."""
        return np.asarray(self.contexts[exchanges, -1].astype(np.int64) * len(self.forms) + self.forms[texts])

    def is_true(self, exchanges: Ints, texts: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether the text was given as a reply to the exchange's last turn, there or elsewhere."""
        asked = self.answer(exchanges, texts)
        return np.asarray(self.known[np.searchsorted(self.known, asked).clip(max=len(self.known) - 1)] == asked)


def write_exchanges(
    exchanges: Iterable[Exchange],
    folder: Path,
    subwords: Subwords,
    reading: Reading,
    *,
    source: str = "",
    step: Callable[[int], None] = lambda _: None,
) -> Exchanges:
    """Tokenise exchanges as they stream by. The file that says all is whole comes last."""
    texts, found = _streamed(exchanges, subwords, reading, step)
    arrays = texts | _placed(found, texts.pop("hashes"), reading)
    dev = int(arrays.pop("dev"))
    arrays["similar"] = np.full((len(arrays["replies"]), KEPT), NONE, dtype=np.int32)
    named = {**described(subwords, reading), "longest": reading.longest, "source": source, "blank": found.blank}
    stored = Exchanges(**arrays, facts={**named, "dev": dev, "exchanges": len(arrays["replies"])})
    _find_similar(stored, reading.seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(stored, name), allow_pickle=False)
    with replacing(folder / FACTS) as file:
        file.write(orjson.dumps(stored.facts))
    return stored


def stored_source(folder: Path | None) -> str:
    """What the exchanges in a folder were made from."""
    return str(read_json(folder / FACTS)["source"]) if folder and Exchanges.written(folder) else ""


def described(subwords: Subwords, reading: Reading) -> dict[str, str]:
    """What examples were made with, to recognise them again."""
    return {"reading": full_spec(reading), "subwords": subwords.signature()}


# ---- reading ---------------------------------------------------------------------------------------------------------


class _Found:
    """What exchanges consist of, as hashes of texts; 0 stands for no text."""

    def __init__(self, turns: int) -> None:
        self.turns, self.blank = turns, 0
        self._parts: list[tuple[Hashes, Hashes, Hashes, NDArray[np.uint8], Ints, Hashes]] = []

    def add(self, batch: Sequence[Exchange]) -> list[str]:
        """Notes a batch, and gives its texts."""
        kept = [e for e in batch if e.reply.strip() and e.context and e.context[-1].strip()]
        self.blank += len(batch) - len(kept)
        contexts = [self._context(e) for e in kept]
        wrong = [[text for text in e.wrong if text.strip()] for e in kept]
        self._parts.append(
            (
                _hashes([text for row in contexts for text in row]).reshape(-1, self.turns),
                _hashes([e.reply for e in kept]),
                _hashes([e.talk for e in kept]),
                np.array([e.origin for e in kept], dtype=np.uint8),
                np.array([len(row) for row in wrong], dtype=np.int64),
                _hashes([text for row in wrong for text in row]),
            )
        )
        every = [*contexts, [e.reply for e in kept], *wrong]
        return [text for row in every for text in row if text]

    def _context(self, exchange: Exchange) -> list[str]:
        turns = [turn for turn in exchange.context if turn.strip()][-self.turns :]
        return [""] * (self.turns - len(turns)) + turns

    def arrays(self) -> tuple[Any, ...]:
        if not sum(len(part[1]) for part in self._parts):
            raise InputError("there is no exchange with text on both sides", hint="name dialogues or pairs")
        return tuple(np.concatenate(column) for column in zip(*self._parts, strict=True))


def _streamed(
    exchanges: Iterable[Exchange], subwords: Subwords, reading: Reading, step: Callable[[int], None]
) -> tuple[dict[str, Any], _Found]:
    seen, found = Distinct(), _Found(reading.turns)
    kind = np.uint16 if subwords.size <= np.iinfo(np.uint16).max else np.uint32
    hashes, forms, tokens, lengths = [_hashes([])], [_hashes([])], [np.zeros(0, kind)], [np.zeros(0, np.uint16)]
    for batch in _batches(exchanges):
        new = seen.new(found.add(batch))
        tokenised = subwords.texts(new)
        tokens.append(tokenised.tokens.astype(kind))
        lengths.append(tokenised.lengths.astype(np.uint16))
        hashes.append(_hashes(new))
        forms.append(_hashes([_form(text) for text in new]))
        step(len(batch))
    whole = _by_hash(np.concatenate(hashes), np.concatenate(forms), np.concatenate(tokens), np.concatenate(lengths))
    return whole, found


def _by_hash(hashes: Hashes, forms: Hashes, tokens: NDArray[Any], lengths: NDArray[Any]) -> dict[str, Any]:
    order = np.argsort(hashes)
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    flat = spans(ends[:-1][order], lengths[order].astype(np.int64))
    numbered = np.unique(forms[order], return_inverse=True)[1].astype(np.int32)
    return {"hashes": hashes[order], "tokens": tokens[flat], "lengths": lengths[order], "forms": numbered}


def _placed(found: _Found, hashes: Hashes, reading: Reading) -> dict[str, Any]:
    """Exchanges with numbers for texts, sorted, each once."""
    contexts, replies, talks, origins, counts, wrong = found.arrays()
    same = replies + (contexts * (MIX * np.arange(1, contexts.shape[1] + 1, dtype=np.uint64))).sum(axis=1)
    order = np.lexsort((same, talks, origins))
    order = order[np.sort(np.unique(same[order], return_index=True)[1])]
    boundary = _boundary(talks[order], reading.dev)
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


def _boundary(talks: Hashes, dev: int) -> np.uint64:
    """Talks with hashes below it are for checking: about `dev` exchanges, at most about a tenth."""
    keys, counts = np.unique(talks, return_counts=True)
    if len(keys) < 2 * LEAST:
        raise InputError(
            f"the logs hold {len(keys)} different dialogues or utterances", hint=f"give {2 * LEAST} or more"
        )
    wanted = int(np.searchsorted(np.cumsum(counts), max(1, min(dev, len(talks) // 10)))) + 1
    return np.uint64(keys[min(max(wanted, LEAST), len(keys) - LEAST)])


def spans(starts: Ints, lengths: Ints) -> Ints:
    """The places of several stretches, one after another."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def _form(text: str) -> str:
    """The letters and digits of a text without case: what makes it read like another."""
    return "".join(filter(str.isalnum, text.casefold())) or text


def _hashes(texts: Sequence[str]) -> Hashes:
    return np.array([int(fingerprint(text), 16) if text else 0 for text in texts], dtype=np.uint64)


def _batches(exchanges: Iterable[Exchange]) -> Iterator[list[Exchange]]:
    iterator = iter(exchanges)
    while batch := list(islice(iterator, BATCH)):
        yield batch


# ---- replies that are like an exchange and belong elsewhere ----------------------------------------------------------


def _find_similar(stored: Exchanges, seed: int) -> None:
    """For half of them the query is the last turn, for half the true reply; never over the border of a log."""
    from interloq.retrieve.similar import near  # needs numba, which a machine that is given examples may lack

    rng = np.random.default_rng(seed)
    for which in groups(stored):
        documents = _taken(stored.texts, stored.replies[which])
        for column, asked in ((0, stored.contexts[which, -1]), (KEPT // 2, stored.replies[which])):
            places = near(documents, _taken(stored.texts, asked), NEAR)
            texts = np.where(places == NONE, NONE, stored.replies[which][places])
            rows = np.repeat(np.arange(which.start, which.stop), texts.shape[1]).reshape(texts.shape)
            unfit = (texts == NONE) | stored.is_true(rows, texts) | (texts == stored.contexts[which, -1:])
            order = np.argsort(rng.random(texts.shape) + unfit, axis=1)[:, : KEPT // 2]
            chosen = np.take_along_axis(np.where(unfit, NONE, texts), order, axis=1)
            stored.similar[which, column : column + chosen.shape[1]] = chosen


def groups(stored: Exchanges) -> Iterator[slice]:
    """Exchanges of one side and one origin; they stand together."""
    for part in ("dev", "train"):
        own = stored.range(part)
        origins = stored.origins[own]
        edges = np.flatnonzero(np.diff(origins)) + 1
        for start, stop in zip([0, *edges], [*edges, len(origins)], strict=True):
            yield slice(own.start + int(start), own.start + int(stop))


def _taken(texts: Texts, which: NDArray[np.int32]) -> Texts:
    tokens, lengths = texts.joined(which)
    return Texts(tokens.astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]))
