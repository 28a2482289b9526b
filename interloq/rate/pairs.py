# SPDX-License-Identifier: Apache-2.0
"""Training data of the NN-raters, made from logs and memory-mapped from disk.

A log is read once: each distinct text is written as token ids, and only a 64-bit hash of its normalised form stays in
memory (`retrieve/leaks.py`: without case, punctuation and white space), so texts with the same form count as one. Pairs
are grouped by the text of their utterance, whatever thread it is from; `examples.py` draws from the groups.

A folder contains `tokens.npy` and `ends.npy` (the concatenated texts), `train.npy` and `dev.npy` (rows u1, r1, u2, r2:
text numbers; u1 = u2 in a positive), their labels, and `pairs.json` with all counts. Train and dev share no utterance;
a text may be an utterance in one part and a reply in the other. If a text has several spellings, one is kept. The
folder appears when it is complete.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.files.durable import atomic_folder, remove
from interloq.data.files.folders import find_matching, is_free
from interloq.data.files.opening import read_json, write_json
from interloq.data.progress import Step
from interloq.data.text.texts import UnseenTexts
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.learn.trainable import PairLog
from interloq.rate.examples import ExampleLimits, Examples, KeyedPairs, Keys, Numbers, Side, changes, side
from interloq.rate.parrots import Parrots, Tokens, choose_parrots, copy_utterance
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.retrieve.leaks import normalise_text
from interloq.signature import file_fingerprint, fingerprint

Part = Literal["train", "dev"]
PARTS: tuple[Part, ...] = ("train", "dev")
KIND, SCHEMA = "rater_pairs", 1
FACTS = "pairs.json"
LOGS = 2**16  # most logs
TOKENS, ENDS = "tokens.npy", "ends.npy"
FILES = ("pairs", "origins", "forms", "lengths", "tokens")
BATCH = 10_000  # pairs read at a time
NO_PARROTS = Parrots()
NO_LIMITS = ExampleLimits()


class TextNumbering(Protocol):
    """Turns texts into token ids below `size`, as `learn.pieces.Pieces` does."""

    @property
    def size(self) -> int: ...

    def texts(self, texts: Sequence[str], /) -> Texts:
        """Return the texts as token ids."""

    def signature(self) -> str: ...


class Stream:
    """Keys of a log's pairs and tokens of its distinct texts, in temporary files."""

    def __init__(self, folder: Path, pieces: TextNumbering, excluded: Callable[[Pair], bool] | None) -> None:
        self.folder, self.pieces, self.excluded = folder, pieces, excluded
        self.counts: Counter[str] = Counter()
        self.dtype = np.dtype("<u2" if pieces.size <= 2**16 else "<i4")
        folder.mkdir()

    def read(self, logs: Sequence[Iterable[Pair]], step: Step) -> None:
        """Read all logs, and write keys and tokens."""
        seen = UnseenTexts()
        with ExitStack() as stack:
            keys, origins, forms, lengths, tokens = (stack.enter_context(self._file(name, "wb")) for name in FILES)
            for origin, batch in ((i, batch) for i, log in enumerate(logs) for batch in batched(log, BATCH)):
                texts, reads = self._texts(batch)
                _keys(map(reads.__getitem__, texts)).tofile(keys)
                np.full(len(texts) // 2, origin, dtype=np.uint16).tofile(origins)
                new = seen.new(texts)
                np.stack([_keys(map(reads.__getitem__, new)), _keys(new)], axis=1).tofile(forms)
                numbered = self.pieces.texts(new)
                numbered.lengths.astype(np.int32).tofile(lengths)
                numbered.tokens.astype(self.dtype).tofile(tokens)
                step(len(batch))

    def _texts(self, batch: Sequence[Pair]) -> tuple[list[str], dict[str, str]]:
        """Return utterance, reply, utterance, reply, … of the usable pairs, and the normalised form of each text."""
        kept = [pair for pair in batch if not (self.excluded and self.excluded(pair))]
        # bypasses the cache of `normalise_text`, which would keep the texts in memory
        texts = set(chain.from_iterable((pair.utterance, pair.response) for pair in kept))
        reads = {text: normalise_text.__wrapped__(text) for text in texts}
        full = [pair for pair in kept if reads[pair.utterance] and reads[pair.response]]
        self.counts.update(read=len(batch), excluded=len(batch) - len(kept), empty=len(kept) - len(full))
        return list(chain.from_iterable((pair.utterance, pair.response) for pair in full)), reads

    def log(self) -> KeyedPairs:
        """Return the pairs as keys."""
        keys = np.fromfile(self.folder / "pairs", dtype=np.uint64).reshape(-1, 2)
        log = KeyedPairs.of(keys[:, 0], keys[:, 1], np.fromfile(self.folder / "origins", dtype=np.uint16))
        self.counts["repeated"] = len(keys) - len(log.utterances)
        return log

    def _find(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the start and number of each text's tokens.

        Which of several spellings is chosen does not depend on the order of the log.
        """
        forms = np.fromfile(self.folder / "forms", dtype=np.uint64).reshape(-1, 2)
        lengths = np.fromfile(self.folder / "lengths", dtype=np.int32).astype(np.int64)
        order = np.lexsort((forms[:, 1], forms[:, 0]))
        order = order[changes(forms[order, 0])]
        place = order[np.searchsorted(forms[order, 0], keys)]
        return (np.cumsum(lengths) - lengths)[place], lengths[place]

    def tokens(self, keys: Keys) -> Iterator[Tokens]:
        """Yield the tokens of the texts with these keys."""
        starts, lengths = self._find(keys)
        with self._file("tokens", "rb") as source:
            for start, length in zip(starts * self.dtype.itemsize, lengths * self.dtype.itemsize, strict=True):
                source.seek(start)
                yield np.frombuffer(source.read(length), dtype=self.dtype)

    def write_texts(self, keys: Keys, copies: Sequence[Tokens], folder: Path) -> int:
        """Write the texts with these keys, then the copies; return the number of tokens.

        Memory-mapping would fill the memory.
        """
        starts, lengths = self._find(keys)
        lengths_of_copies = np.array([len(tokens) for tokens in copies], dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(np.concatenate([lengths, lengths_of_copies]))])
        np.save(folder / ENDS, ends)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (int(ends[-1]),)}
        with self._file("tokens", "rb") as source, (folder / TOKENS).open("wb") as target:
            np.lib.format.write_array_header_1_0(target, header)
            for start, length in zip(starts * self.dtype.itemsize, lengths * self.dtype.itemsize, strict=True):
                source.seek(start)
                target.write(source.read(length))
            for tokens in copies:
                target.write(tokens.astype(self.dtype).tobytes())
        return int(ends[-1])

    def _file(self, name: str, mode: str) -> IO[bytes]:
        return (self.folder / name).open(mode, buffering=0 if mode == "rb" else -1)


def _keys(texts: Iterable[str]) -> Keys:
    digests = (hashlib.blake2b(t.encode("utf-8", "surrogatepass"), digest_size=8).digest() for t in texts)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


@dataclass(frozen=True)
class RaterPairs:
    """Examples made by `write_examples`; all arrays are memory-mapped."""

    folder: Path
    texts: Texts
    rows: Mapping[Part, NDArray[np.int32]]
    labels: Mapping[Part, NDArray[np.int8]]
    facts: Mapping[str, Any]

    @staticmethod
    def written(folder: Path) -> bool:
        """Return whether a folder contains complete pairs."""
        return (folder / FACTS).exists()

    @classmethod
    def load(cls, folder: str | Path) -> RaterPairs:
        """Open the examples in a folder."""
        folder = Path(folder)
        facts = _facts(folder)
        if facts is None:
            raise InputError(f"no training pairs in {folder}: it has no {FACTS}", hint="use a folder made from logs")
        if "fingerprint" not in facts:
            raise InputError("'fingerprint' is missing", hint="make the folder again", where=str(folder / FACTS))
        texts = Texts(_open_array(folder / TOKENS), _open_array(folder / ENDS))
        rows = {part: _open_array(folder / f"{part}.npy") for part in PARTS}
        return cls(folder, texts, rows, {part: _open_array(folder / f"{part}_labels.npy") for part in PARTS}, facts)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the folder's content."""
        return str(self.facts["fingerprint"])

    def examples(self, part: Part) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return rows (u1, r1, u2, r2) and labels: 1 if both replies answer one utterance, else 0."""
        return self.rows[part], self.labels[part]


def write_examples(
    logs: Sequence[Iterable[Pair]],
    folder: str | Path,
    pieces: TextNumbering,
    settings: Examples,
    *,
    source: str,
    parrots: Parrots = NO_PARROTS,
    limits: ExampleLimits = NO_LIMITS,
    between: int | None = None,
    excluded: Callable[[Pair], bool] | None = None,
    progress: Step | None = None,
) -> RaterPairs:
    """Make examples from logs, or open existing ones made from the same `source` with the same settings.

    `source` identifies the logs and what `excluded` removes from them (test items and their copies). `between` is the
    token between the turns of an utterance, if it may be several. `progress` is called with the number of pairs read.
    """
    folder = Path(folder).resolve()
    additions = parrots.parts | limits.parts
    job = fingerprint(full_spec(settings), pieces.signature(), source, *additions.values())
    # whether the folder contains these examples; a folder with anything else is refused
    facts = _facts(folder)
    if facts is None and not is_free(folder):
        raise InputError(f"{folder} exists and contains other files", hint="choose another folder")
    if facts is not None and facts.get("job") != job:
        raise InputError(
            f"{folder} contains examples with other settings, another vocabulary or other logs",
            hint="use the same ones, choose another folder, or remove this one",
        )
    if facts is not None:
        return RaterPairs.load(folder)
    if not 0 < len(logs) <= LOGS:
        raise InputError(f"expected 1 to {LOGS} logs, got {len(logs)}")
    with atomic_folder(folder) as part:
        stream = Stream(part / "work", pieces, excluded)
        stream.read(logs, progress or (lambda _: None))
        counts = _draw(stream, part, settings, limits, parrots.parrots, between)
        remove(stream.folder)
        origin = {"source": source, "settings": full_spec(settings), **additions, "pieces": pieces.signature()}
        _close(part, {"kind": KIND, "schema": SCHEMA, "job": job, **origin, "vocabulary": pieces.size, **counts})
    return RaterPairs.load(folder)


def source_of(log: PairLog, examples: str | None) -> str:
    """Return the fingerprint of the logs or, without files, of the logs that existing examples were made from."""
    if log.files:
        return log.fingerprint
    facts = _facts(Path(examples)) if examples else None
    if facts is None:
        raise InputError("nothing to train on", hint="give files of pairs or dialogues, or --examples made from some")
    return str(facts["source"])


def _draw(
    stream: Stream,
    folder: Path,
    settings: Examples,
    limits: ExampleLimits,
    parrot_share: float,
    between: int | None,
) -> dict[str, Any]:
    """Draw the examples, and write them with their texts; return counts."""
    log = stream.log()
    sizes = log.groups()[1]
    log = log.cap_replies(settings.most_replies, np.random.default_rng([settings.seed, 1]))
    stream.counts["replies_over_cap"] = int(np.sum(sizes)) - len(log.utterances)
    cut = int(np.searchsorted(log.utterances, log.boundary(settings.dev_share)))
    places: dict[Part, slice] = {"train": slice(cut, len(log.utterances)), "dev": slice(0, cut)}
    sides: dict[Part, Side] = {}
    most: dict[Part, int] = {"train": limits.train_examples, "dev": limits.dev_examples}
    parrots: dict[Part, Numbers] = {}
    copies: list[Tokens] = []
    for number, part in enumerate(PARTS):
        rng = np.random.default_rng([settings.seed, 2 + number])
        sides[part] = side(log, places[part], settings, rng, most=most[part])
        if parrot_share:
            rng = np.random.default_rng([settings.seed, 4 + number])
            parrots[part] = choose_parrots(log, sides[part], parrot_share, rng)
            copied = log.utterances[sides[part].rows[parrots[part], 0]]
            copies += [copy_utterance(tokens, rng, between) for tokens in stream.tokens(copied)]
    texts = _write_rows(log, sides, parrots, folder)
    tokens = stream.write_texts(texts, copies, folder)
    counts: dict[str, Any] = {
        "left_out": {name: stream.counts[name] for name in ("excluded", "empty", "repeated", "replies_over_cap")},
        "read": stream.counts["read"],
        "pairs": len(log.utterances),
        "utterances": len(sizes),
        "utterances_with_two_replies": int(np.sum(sizes >= 2)),
        "texts": len(texts) + len(copies),
        "tokens": tokens,
    }
    for part in PARTS:
        counts[part] = _counts(log, places[part], sides[part])
        if part in parrots:
            counts[part]["parrots"] = len(parrots[part])
    return counts


def _write_rows(log: KeyedPairs, sides: Mapping[Part, Side], parrots: Mapping[Part, Numbers], folder: Path) -> Keys:
    """Write rows of text numbers; return the keys of the texts, numbered in the order of their keys.

    The copies of parrots have the numbers after them.
    """
    used = np.zeros(len(log.utterances), dtype=bool)
    for drawn in sides.values():
        used[drawn.rows] = True
    kept = log.only(used)
    texts = np.unique(np.concatenate([kept.utterances, kept.replies]))
    numbers = np.zeros((len(used), 2), dtype=np.int32)
    numbers[used] = np.stack([np.searchsorted(texts, keys) for keys in (kept.utterances, kept.replies)], axis=1)
    next_number = len(texts)
    for part, drawn in sides.items():
        rows = numbers[drawn.rows].reshape(-1, 4)
        if part in parrots:
            rows[parrots[part], 3] = next_number + np.arange(len(parrots[part]))
            next_number += len(parrots[part])
        np.save(folder / f"{part}.npy", rows)
        np.save(folder / f"{part}_labels.npy", drawn.labels)
    return texts


def _counts(log: KeyedPairs, places: slice, drawn: Side) -> dict[str, int]:
    if not len(drawn.rows):
        raise InputError(
            "no negatives can be drawn: all utterances with two replies share their replies", hint="use larger logs"
        )
    positives = drawn.rows[drawn.labels == 1, 0]
    limited = {"positives_over_limit": drawn.over_limit} if drawn.over_limit else {}
    return {
        "examples": len(drawn.rows),
        "positives": len(positives),
        "utterances_of_positives": len(np.unique(log.utterances[positives])),
        "pairs": places.stop - places.start,
        "positives_over_cap": drawn.over_cap,
        "positives_without_negative": drawn.unmatched,
        **limited,
    }


def _close(folder: Path, facts: dict[str, Any]) -> None:
    files = find_matching(folder, "*.npy")
    facts["fingerprint"] = fingerprint(*(f"{path.name}:{file_fingerprint(path)}" for path in files))
    write_json(folder / FACTS, facts)


def _facts(folder: Path) -> dict[str, Any] | None:
    path = folder / FACTS
    if not path.is_file():
        return None
    facts = read_json(path, hint="make the folder again")
    if (facts.get("kind"), facts.get("schema")) != (KIND, SCHEMA):
        raise InputError(f"{FACTS} is not a {KIND} in format {SCHEMA}", hint="make the folder again", where=str(folder))
    return facts


def _open_array(path: Path) -> NDArray[Any]:
    """Return a memory-mapped array as a plain view: indexing a memmap object is slow."""
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name} is missing or damaged", hint="make the folder again", where=str(path)) from error
