# SPDX-License-Identifier: Apache-2.0
"""Token ids from a SentencePiece model, for networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from interloq.data.batched import batched
from interloq.data.text.texts import UnseenTexts
from interloq.data.text.token_texts import Texts
from interloq.data.text.tokenize import sentencepiece_processor, train_sentencepiece
from interloq.errors import InputError
from interloq.records import Pair
from interloq.signature import file_fingerprint

LONGEST = 128  # tokens of a text that are used
TEXTS = 1_000_000  # distinct texts to train a model on
BATCH = 4_096


class Pieces:
    """Texts → ids from 0 to `size` − 1. A text without pieces is one unknown piece."""

    def __init__(self, model: str | Path, *, longest: int = LONGEST) -> None:
        if longest < 1:
            raise InputError(f"longest must be at least 1, got {longest}")
        self.model, self.longest = Path(model), longest
        self._processor = sentencepiece_processor(str(model))
        self.size: int = self._processor.get_piece_size()

    def texts(self, texts: Sequence[str]) -> Texts:
        """Return texts as piece ids."""
        unknown = [self._processor.unk_id()]
        rows = [row[: self.longest] or unknown for row in self._processor.encode(list(texts), out_type=int)]
        return Texts.of(rows)

    def signature(self) -> str:
        return f"pieces(longest={self.longest})-{file_fingerprint(self.model)}"


def train_pieces(
    pairs: Iterable[Pair], path: Path, *, vocabulary: int, step: Callable[[int], None] = lambda _: None
) -> None:
    """Train a SentencePiece model on the pairs' distinct texts, with up to `vocabulary` pieces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    train_sentencepiece(islice(_distinct(pairs, step), TEXTS), path, vocabulary=vocabulary, fewer=True)


def _distinct(pairs: Iterable[Pair], step: Callable[[int], None]) -> Iterator[str]:
    seen, texts = UnseenTexts(), (text for pair in pairs for text in (pair.utterance, pair.response) if text.strip())
    for batch in batched(texts, BATCH):
        yield from seen.new(batch)
        step(len(batch))
