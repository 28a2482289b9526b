# SPDX-License-Identifier: Apache-2.0
"""Self-supervised training on a log: predict masked tokens, or the next ones.

A row is `[CLS] utterance [SEP] response [SEP]` for an encoder and `utterance <eos> response <eos>` for a language
model, preceded by <bos> if that is a separate token.

The loss of a token is its cross-entropy. The loss of an example is the sum over its tokens, divided by the mean number
of predicted tokens per example. So the mean over all examples equals the mean over all tokens, however batches are
formed, and exp(loss) is the perplexity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.checkpoint import checkpoint

from interloq.errors import InputError
from interloq.learn.adapt.settings import Adaptation
from interloq.learn.pair_tokens import Numbers, PairTokens, Part
from interloq.models.batches import make_batches, random_bits
from interloq.models.packing import Packing
from interloq.models.token_predictor import Goal, SpecialTokens, TokenPredictor
from interloq.models.token_rows import Packed, TokenRows, round_up

SKIPPED = -100  # target of a position where nothing is predicted
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
CHUNK = 2**24  # tokens processed at a time
PLACES = 2**14  # more than a row has, so that every position of every example has its own number
REPLACED, RANDOM = 0.8, 0.9  # draws below the first become [MASK], below the second a random token; others stay


@dataclass(frozen=True, slots=True)
class Rows:
    """Padded rows: ids and token types [rows, tokens]; padding begins at `lengths`."""

    ids: Ints
    kinds: Ints
    lengths: Ints

    @property
    def inside(self) -> Flags:
        """True for tokens, False for padding."""
        return np.arange(self.ids.shape[1]) < self.lengths[:, None]


def pair_rows(pairs: PairTokens, chosen: NDArray[np.integer], special_tokens: SpecialTokens) -> Rows:
    """Return the chosen pairs (two text numbers each), one per row."""
    utterances, first = pairs.texts(chosen[:, 0])
    responses, second = pairs.texts(chosen[:, 1])
    begin = special_tokens.extra - 2
    middle, lengths = begin + first, special_tokens.extra + first + second
    rows, columns = np.arange(len(chosen)), np.arange(int(lengths.max(initial=0)))
    ids = np.full((len(chosen), len(columns)), special_tokens.pad, dtype=np.int64)
    ids[(columns >= begin) & (columns < middle[:, None])] = utterances
    ids[(columns > middle[:, None]) & (columns < lengths[:, None] - 1)] = responses
    ids[rows, middle] = ids[rows, lengths - 1] = special_tokens.end
    if special_tokens.start is not None:
        ids[:, 0] = special_tokens.start
    kinds = (columns > middle[:, None]) & (columns < lengths[:, None])
    return Rows(ids, kinds.astype(np.int64), lengths)


def mask_rows(
    rows: Rows, examples: Numbers, special_tokens: SpecialTokens, *, share: float, seed: int
) -> tuple[Ints, Flags]:
    """Return the masked ids, and the positions to predict. Both depend only on the seed and the examples' numbers.

    Of a row's n tokens that are not special, max(1, round(share · n)) are chosen. 80 % of them become [MASK], 10 % a
    random token, and 10 % stay unchanged (Devlin et al., 2019).
    """
    known = rows.inside & ~np.isin(rows.ids, special_tokens.special)
    places = examples[:, None] * PLACES + np.arange(rows.ids.shape[1])
    rank = np.argsort(np.argsort(np.where(known, random_bits(places, seed, 0) >> np.uint64(1), 2**63), axis=1), axis=1)
    chosen = known & (rank < count_masked(known.sum(axis=1), share)[:, None])
    action = random_bits(places, seed, 1) / 2.0**64
    drawable = _drawable(special_tokens)
    drawn = drawable[(random_bits(places, seed, 2) % np.uint64(len(drawable))).astype(np.int64)]
    seen = np.where(action < REPLACED, special_tokens.mask, np.where(action < RANDOM, drawn, rows.ids))
    return np.where(chosen, seen, rows.ids), chosen


@lru_cache(maxsize=8)
def _drawable(special_tokens: SpecialTokens) -> Ints:
    """Return all tokens but special ones; the same for every batch."""
    return np.setdiff1d(np.arange(special_tokens.size), special_tokens.special)


def count_masked(known: Ints, share: float) -> Ints:
    """Return how many tokens of each row are chosen; 0 for a row without tokens."""
    return np.asarray(np.minimum(known, np.maximum(1, np.rint(share * known))), dtype=np.int64)


def count_known_tokens(pairs: PairTokens, special: tuple[int, ...]) -> Ints:
    """Return the number of non-special tokens of each text ([UNK] is special)."""
    places_of_special = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(pairs.tokens), CHUNK):
        is_special = np.isin(pairs.tokens[start : start + CHUNK], special)
        places_of_special.append(start + np.flatnonzero(is_special))
    places = np.concatenate(places_of_special)
    ends = pairs.starts + pairs.lengths
    return np.asarray(pairs.lengths - (np.searchsorted(places, ends) - np.searchsorted(places, pairs.starts)))


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """A batch on the CPU: rows, the positions to predict, and the correct tokens there.

    `places` is a mask for padded rows [rows, tokens], and indices for packed ones, some of which may be unused: their
    target is `SKIPPED`.
    """

    rows: TokenRows | Packed
    places: torch.Tensor
    targets: torch.Tensor
    scale: float = field(kw_only=True)  # examples per predicted token

    def cut(self, pieces: int) -> list[TokenBatch]:
        """Split a batch of padded rows into pieces of about equal size."""
        assert isinstance(self.rows, TokenRows)  # noqa: S101
        size = -(-len(self.places) // pieces)
        rows = [self.rows[i : i + size] for i in range(0, len(self.places), size)]
        places = self.places.split(size)
        targets = self.targets.split([int(part.sum()) for part in places])
        return [TokenBatch(a, b, c, scale=self.scale) for a, b, c in zip(rows, places, targets, strict=True)]

    def pack(self, packing: Packing) -> TokenBatch:
        """Return the batch without padding; the number of positions is rounded up, so that few shapes occur."""
        assert isinstance(self.rows, TokenRows)  # noqa: S101
        places = self.places[self.rows.mask.bool()].nonzero()[:, 0]
        spare = round_up(len(places)) - len(places)
        pad = torch.nn.functional.pad
        return TokenBatch(
            self.rows.pack(packing.start),
            pad(places, (0, spare)),
            pad(self.targets, (0, spare), value=SKIPPED),
            scale=self.scale,
        )


class AdaptTask:
    """Predicts tokens in pairs of a log. Example e · n + i is pair i of n, masked for epoch e. `pieces`: see `loss`."""

    def __init__(
        self,
        network: TokenPredictor,
        pairs: PairTokens,
        settings: Adaptation,
        goal: Goal,
        special_tokens: SpecialTokens,
        *,
        pieces: int = 1,
    ) -> None:
        self.network, self.pairs, self.settings = network, pairs, settings
        self.goal, self.special_tokens, self.pieces = goal, special_tokens, pieces
        self.known = count_known_tokens(pairs, special_tokens.special)
        self.scales = {part: self._scale(part) for part in ("train", "dev")}

    def _scale(self, part: Part) -> float:
        """Return the number of examples per predicted token."""
        targets = int(self.targets(part).sum())
        if not targets:
            raise InputError(
                f"all tokens of the {part} part are unknown to the tokenizer", hint="use a model for the log's language"
            )
        return len(self.pairs.rows(part)) / targets

    def targets(self, part: Part) -> Ints:
        """Return the number of tokens to predict in each example."""
        rows = self.pairs.rows(part)
        if self.goal == "mlm":
            return count_masked(self.known[rows].sum(axis=1), self.settings.mask)
        return np.asarray(self._lengths(part) - 1)

    def _lengths(self, part: Part) -> Ints:
        lengths = self.pairs.lengths[self.pairs.rows(part)].sum(axis=1, dtype=np.int64)
        return np.asarray(lengths + self.special_tokens.extra)

    def batches(self, part: Part, epoch: int) -> Sequence[Numbers]:
        lengths, settings = self._lengths(part), self.settings
        if part == "dev":
            return make_batches(lengths, size=settings.batch, tokens=settings.tokens, rng=None)
        rng = np.random.default_rng([settings.seed, epoch])
        batches = make_batches(lengths, size=settings.batch, tokens=settings.tokens, rng=rng)
        return [batch + epoch * len(lengths) for batch in batches]

    def prepare(self, part: Part, examples: Numbers) -> TokenBatch:
        pairs = self.pairs.rows(part)
        rows = pair_rows(self.pairs, np.asarray(pairs[examples % len(pairs)], dtype=np.int64), self.special_tokens)
        inside = rows.inside
        if self.goal == "mlm":
            share, seed = self.settings.mask, self.settings.seed
            ids, places = mask_rows(rows, examples, self.special_tokens, share=share, seed=seed)
            targets = rows.ids[places]
        else:
            ids, places = rows.ids, np.zeros_like(inside)
            places[:, :-1] = inside[:, 1:]
            targets = rows.ids[:, 1:][inside[:, 1:]]
        read = TokenRows(*map(torch.from_numpy, (ids, inside.astype(np.int64), rows.kinds)))
        batch = TokenBatch(read, torch.from_numpy(places), torch.from_numpy(targets), scale=self.scales[part])
        if self.network.packing.on and self.pieces == 1:
            return batch.pack(self.network.packing)
        return batch

    def loss(self, prepared: TokenBatch) -> torch.Tensor:
        """Return the loss of a batch.

        With more `pieces`, each recomputed for its gradient, a batch needs less memory.
        """
        if self.pieces == 1:
            return self._loss(prepared)
        parts = [checkpoint(self._loss, part, use_reentrant=False) for part in prepared.cut(self.pieces)]
        return torch.stack(parts).sum()

    def _loss(self, part: TokenBatch) -> torch.Tensor:
        device = next(self.network.parameters()).device
        places, targets = (tensor.to(device, non_blocking=True) for tensor in (part.places, part.targets))
        logits = self.network(part.rows.on(device), places)
        losses = torch.nn.functional.cross_entropy(logits.float(), targets, reduction="sum", ignore_index=SKIPPED)
        return losses * part.scale


def dev_loss(task: AdaptTask, device: torch.device, *, amp: bool) -> float:
    """Return the mean loss per token of the dev part before any training."""
    task.network.to(device).eval()
    total = 0.0
    with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
        for examples in task.batches("dev", 0):
            total += float(task.loss(task.prepare("dev", examples)))
    return total / task.pairs.dev
