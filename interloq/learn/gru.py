# SPDX-License-Identifier: Apache-2.0
"""A bidirectional GRU that turns texts into vectors, and the SentencePiece pieces that it reads.

A vector is the last states of both directions. Texts are concatenated and packed, so no time is spent on padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import torch
from torch.nn.utils.rnn import PackedSequence

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


class SentenceGru(torch.nn.Module):  # type: ignore[misc]
    """A bidirectional GRU that computes one vector per text."""

    def __init__(self, *, vocabulary: int, embedding: int = 512, hidden: int = 512) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, embedding)
        self.gru = torch.nn.GRU(embedding, hidden, bidirectional=True)

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the vectors [n, 2 · hidden] of n texts.

        `tokens` is their concatenation, `lengths` (on the CPU) their lengths.
        """
        places, sizes, order = packing(lengths)
        packed = PackedSequence(self.embedding(tokens[places.to(tokens.device)]), sizes)
        _, last = self.gru(packed)
        both = torch.cat([last[0], last[1]], dim=1)
        return both[torch.argsort(order).to(both.device)]


@torch.compiler.disable  # type: ignore[untyped-decorator] # index arithmetic on the CPU: nothing to gain
def packing(lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the order of a packed sequence: all first tokens, then all second tokens, …, longest texts first.

    Returns the index of each token in the concatenation, the number of texts with a t-th token, and the texts' order.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    sizes = lengths.new_zeros(int(lengths.max()) + 1).index_add_(0, lengths, torch.ones_like(lengths))
    sizes = (len(lengths) - sizes.cumsum(0))[:-1]
    starts = torch.cumsum(lengths, 0) - lengths
    step = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    rank = torch.arange(len(step)) - torch.repeat_interleave(torch.cumsum(sizes, 0) - sizes, sizes)
    return starts[order][rank] + step, sizes, order
