# SPDX-License-Identifier: Apache-2.0
"""Read a log once, without keeping it in memory: keys of its pairs and tokens of its texts are written to disk."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.progress import Step
from interloq.data.text.texts import UnseenTexts
from interloq.data.text.token_texts import Texts
from interloq.rate.examples import KeyedPairs, Keys, changes
from interloq.records import Pair
from interloq.retrieve.leaks import normalised

TOKENS, ENDS = "tokens.npy", "ends.npy"
FILES = ("pairs", "origins", "forms", "lengths", "tokens")
BATCH = 10_000  # pairs read at a time


class TextNumbering(Protocol):
    """Turns texts into token ids below `size`, as `learn.pieces.Pieces` does."""

    @property
    def size(self) -> int: ...

    def texts(self, texts: Sequence[str], /) -> Texts:
        """Texts as token ids."""

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
        """Utterance, reply, utterance, reply, … of the usable pairs; and the normalised form of each text."""
        kept = [pair for pair in batch if not (self.excluded and self.excluded(pair))]
        # bypasses the cache of `normalised`, which would keep the texts in memory
        texts = set(chain.from_iterable((pair.utterance, pair.response) for pair in kept))
        reads = {text: normalised.__wrapped__(text) for text in texts}
        full = [pair for pair in kept if reads[pair.utterance] and reads[pair.response]]
        self.counts.update(read=len(batch), excluded=len(batch) - len(kept), empty=len(kept) - len(full))
        return list(chain.from_iterable((pair.utterance, pair.response) for pair in full)), reads

    def log(self) -> KeyedPairs:
        """The pairs as keys."""
        keys = np.fromfile(self.folder / "pairs", dtype=np.uint64).reshape(-1, 2)
        log = KeyedPairs.of(keys[:, 0], keys[:, 1], np.fromfile(self.folder / "origins", dtype=np.uint16))
        self.counts["repeated"] = len(keys) - len(log.utterances)
        return log

    def _find(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and number of each text's tokens. The choice among spellings does not depend on the log's order."""
        forms = np.fromfile(self.folder / "forms", dtype=np.uint64).reshape(-1, 2)
        lengths = np.fromfile(self.folder / "lengths", dtype=np.int32).astype(np.int64)
        order = np.lexsort((forms[:, 1], forms[:, 0]))
        order = order[changes(forms[order, 0])]
        place = order[np.searchsorted(forms[order, 0], keys)]
        return (np.cumsum(lengths) - lengths)[place], lengths[place]

    def write_texts(self, keys: Keys, folder: Path) -> int:
        """Write the texts with these keys; return their number of tokens. Memory-mapping would fill the memory."""
        starts, lengths = self._find(keys)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        np.save(folder / ENDS, ends)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (int(ends[-1]),)}
        with self._file("tokens", "rb") as source, (folder / TOKENS).open("wb") as target:
            np.lib.format.write_array_header_1_0(target, header)
            for start, length in zip(starts * self.dtype.itemsize, lengths * self.dtype.itemsize, strict=True):
                source.seek(start)
                target.write(source.read(length))
        return int(ends[-1])

    def _file(self, name: str, mode: str) -> IO[bytes]:
        return (self.folder / name).open(mode, buffering=0 if mode == "rb" else -1)


def _keys(texts: Iterable[str]) -> Keys:
    digests = (hashlib.blake2b(t.encode("utf-8", "surrogatepass"), digest_size=8).digest() for t in texts)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
