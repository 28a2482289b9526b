# SPDX-License-Identifier: Apache-2.0
"""Greedy matching of token vectors: how much of a reply is found in a reference, and the other way round.

P = Σ_a s_a · max_b (a · b) over the reply's tokens a, R the same over the reference's tokens b; shares s add up to 1 in
each text. Every distinct text is encoded once and every distinct pair compared once.

The vectors of replies stay in memory; references are encoded in batches of similar length, compared with their replies
and discarded. So memory is bounded by HELD, no matter how many references there are. Padding is never compared: short
texts are padded with their own last token, which cannot change a maximum and has no share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts, spans
from interloq.errors import InputError
from interloq.models.encoder import Encoded, Encoder
from interloq.models.memory import cut_to_fit
from interloq.signature import fingerprint

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
HELD = {"cpu": 2**25, "cuda": 2**28}  # numbers in the vectors of replies in memory
COMPARED = {"cpu": 2**20, "cuda": 2**25}  # numbers in the vectors of pairs compared at a time


def match(
    encoder: Encoder, texts: Sequence[str], pairs: Ints, *, idf: Idf | None = None, lowest: bool = False
) -> Floats:
    """Return P and R of pairs [n, 2] of text numbers, reply and reference; `lowest` adds both with min instead of max.

    A pair in which either text has only special tokens is 0 everywhere.
    """
    texts = [text.strip() for text in texts]
    numbered = encoder.tokenise(texts)
    shares, empty = token_shares(texts, numbered, encoder, idf)
    token_weights = torch.from_numpy(shares.astype(np.float32)).to(encoder.device)
    values = np.zeros((len(pairs), 4 if lowest else 2))
    live = np.flatnonzero(~empty[pairs].any(axis=1))

    def compare(places: Ints) -> None:
        values[places] = _Slice(encoder, numbered, token_weights, pairs[places], lowest).match_pairs()

    for part in _slices(pairs[live, 0], numbered.lengths, _limit(HELD, encoder) // encoder.dimensions):
        _in_parts(compare, live[part], encoder)
    return values


def match_layers(encoder: Encoder, texts: Sequence[str], pairs: Ints, *, idf: Idf | None = None) -> Floats:
    """Return P and R of pairs in every layer up to the encoder's, [layers, n, 2]; needs all vectors in memory."""
    texts = [text.strip() for text in texts]
    numbered = encoder.tokenise(texts)
    shares, empty = token_shares(texts, numbered, encoder, idf)
    token_weights = torch.from_numpy(shares.astype(np.float32)).to(encoder.device)
    live = np.flatnonzero(~empty[pairs].any(axis=1))
    work = _Slice(encoder, numbered, token_weights, pairs[live], lowest=False)
    values = np.zeros((encoder.layer + 1, len(pairs), 2))
    batches = list(encoder.every_layer(texts))
    for layer in range(encoder.layer + 1):
        values[layer, live] = work.match_in([layers[layer] for layers in batches])
    return values


def f_measure(precision: Floats, recall: Floats) -> Floats:
    """Return 2PR / (P + R); 0 if undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(2 * precision * recall / (precision + recall), nan=0.0, posinf=0.0, neginf=0.0)


@dataclass(slots=True)
class Held:
    """Concatenated unit token vectors of texts; text i starts at `starts[i]`."""

    vectors: torch.Tensor
    shares: torch.Tensor
    starts: Ints


class _Slice:
    """Pairs whose replies are in memory together."""

    def __init__(self, encoder: Encoder, numbered: Texts, shares: torch.Tensor, pairs: Ints, lowest: bool) -> None:
        self.encoder, self.numbered, self.shares, self.pairs, self.lowest = encoder, numbered, shares, pairs, lowest
        self.order = np.argsort(pairs[:, 1], kind="stable")
        self.sorted = pairs[self.order, 1]
        self.matched = torch.zeros((len(pairs), 4 if lowest else 2), device=encoder.device)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def match_pairs(self) -> Floats:
        replies, references = np.unique(self.pairs[:, 0]), np.unique(self.pairs[:, 1])
        held = self._hold(self.encoder.cached_batches(self.numbered, replies), replies)
        both = np.isin(references, replies, assume_unique=True)
        self._compare(held, held, references[both])
        for batch in self.encoder.cached_batches(self.numbered, references[~both]):
            self._compare(held, self._vectors(batch), batch.places)
        return np.asarray(self.matched.double().cpu().numpy())

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def match_in(self, batches: Iterable[Encoded]) -> Floats:
        """Compare pairs with all texts, both replies and references, in these batches."""
        held = self._hold(batches, np.arange(len(self.numbered.ends) - 1))
        self._compare(held, held, np.unique(self.pairs[:, 1]))
        return np.asarray(self.matched.double().cpu().numpy())

    def _hold(self, batches: Iterable[Encoded], texts: Ints) -> Held:
        total = int(self.numbered.lengths[texts].sum())
        vectors = torch.empty((total, self.encoder.dimensions), device=self.encoder.device)
        held = Held(vectors, vectors.new_empty(total), np.zeros(len(self.numbered.ends) - 1, dtype=np.int64))
        end = 0
        for batch in batches:
            part = self._vectors(batch)
            held.starts[batch.places] = part.starts[batch.places] + end
            held.vectors[end : end + len(part.vectors)] = part.vectors
            held.shares[end : end + len(part.vectors)] = part.shares
            end += len(part.vectors)
        return held

    def _vectors(self, batch: Encoded) -> Held:
        """Return the tokens of a batch without padding, found without waiting for the GPU."""
        lengths = self.numbered.lengths[batch.places]
        width = batch.ids.shape[1]
        rows = spans(np.arange(len(lengths)) * width, lengths)
        numbers = spans(self.numbered.ends[batch.places], lengths)
        states = batch.states.flatten(0, 1)[torch.from_numpy(rows).to(self.encoder.device)]
        starts = np.zeros(len(self.numbered.ends) - 1, dtype=np.int64)
        starts[batch.places] = np.cumsum(lengths) - lengths
        shares = self.shares[torch.from_numpy(numbers).to(self.encoder.device)]
        return Held(torch.nn.functional.normalize(states.float(), dim=-1), shares, starts)

    def _compare(self, held: Held, fresh: Held, references: Ints) -> None:
        first = np.searchsorted(self.sorted, references, "left")
        last = np.searchsorted(self.sorted, references, "right")
        pairs = self.order[spans(first, last - first)]
        lengths = self.numbered.lengths[self.pairs[pairs]]
        for block in _blocks(lengths, _limit(COMPARED, self.encoder) // self.encoder.dimensions):
            _in_parts(partial(self._products, held, fresh), pairs[block], self.encoder)

    def _products(self, held: Held, fresh: Held, pairs: Ints) -> None:
        replies, own = self._lay_out(held, self.pairs[pairs, 0])
        references, other = self._lay_out(fresh, self.pairs[pairs, 1])
        products = torch.bmm(replies, references.transpose(1, 2))
        values = [(products.amax(2) * own).sum(1), (products.amax(1) * other).sum(1)]
        if self.lowest:
            values += [(products.amin(2) * own).sum(1), (products.amin(1) * other).sum(1)]
        self.matched[torch.from_numpy(pairs).to(self.encoder.device)] = torch.stack(values, dim=1)

    def _lay_out(self, held: Held, texts: Ints) -> tuple[torch.Tensor, torch.Tensor]:
        """Return vectors and shares of texts as rows of equal width, padded with the last token, with share 0."""
        facts = torch.from_numpy(np.stack([held.starts[texts], self.numbered.lengths[texts]])).to(self.encoder.device)
        starts, lengths = facts[:, :, None]
        columns = torch.arange(int(self.numbered.lengths[texts].max()), device=self.encoder.device)
        places = starts + torch.minimum(columns, lengths - 1)
        return held.vectors[places], held.shares[places] * (columns < lengths)


def _in_parts(work: Callable[[Ints], None], pairs: Ints, encoder: Encoder) -> None:
    """Work on pairs, fewer at a time if GPU memory is not enough."""
    cut_to_fit(
        lambda part: work(pairs[part]),
        len(pairs),
        error=lambda: InputError(
            f"not enough memory to compare two texts on {encoder.device}", hint="use a smaller model, or device cpu"
        ),
        smaller=lambda: None,
    )


def _limit(limits: dict[str, int], encoder: Any) -> int:
    return limits.get(encoder.device.type, limits["cpu"])


def _slices(replies: Ints, lengths: Ints, tokens: int) -> Iterator[Ints]:
    """Yield slices of pairs, all pairs of a reply together, with a bounded number of reply tokens."""
    distinct, which = np.unique(replies, return_inverse=True)
    slice_of = np.cumsum(lengths[distinct]) // max(1, tokens)
    for number in np.unique(slice_of):
        yield np.flatnonzero(slice_of[which] == number)


def _blocks(lengths: Ints, tokens: int) -> Iterator[Ints]:
    """Yield slices of pairs with replies of similar length, with a bounded number of tokens, padding included."""
    order = np.argsort(lengths[:, 0], kind="stable")
    longest = int(lengths[:, 1].max()) if len(lengths) else 0
    start = 0
    while start < len(order):
        ahead = (lengths[order[start:], 0] + longest) * np.arange(1, len(order) - start + 1)
        n = max(1, int(np.searchsorted(ahead, tokens, "right")))
        yield order[start : start + n]
        start += n


FEW = 8192  # texts tokenised at a time


@dataclass(frozen=True, eq=False)
class Idf:
    """Weights log((N + 1) / (df + 1)) of tokens; df of the N references contain the token."""

    source: str
    references: int
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, references: Iterable[str], encoder: Any) -> Idf:
        """Count the references that contain each token."""
        often = Counter(text.strip() for text in references)
        counts = np.zeros(encoder.vocabulary, dtype=np.int64)
        distinct = list(often)
        for start in range(0, len(distinct), FEW):
            texts = distinct[start : start + FEW]
            numbered = encoder.tokenise(texts)
            owners = np.repeat(np.arange(len(texts)), numbered.lengths)
            held = np.unique(owners * encoder.vocabulary + numbered.tokens)  # a token counts once per text
            times = np.array([often[text] for text in texts])
            np.add.at(counts, held % encoder.vocabulary, times[held // encoder.vocabulary])
        return cls(fingerprint(*sorted(often.elements())), often.total(), counts)

    @cached_property
    def everywhere(self) -> NDArray[np.bool_]:
        """Tokens that are in every reference: their weight is 0."""
        return np.asarray((self.counts == self.references) & (self.counts > 0))

    def weightless(self, texts: Sequence[str], encoder: Any) -> list[bool]:
        """Return which texts have only tokens of weight 0: by idf they are similar to nothing, not even themselves."""
        own = np.ones(encoder.vocabulary, dtype=bool)
        own[encoder.special] = False
        if not (self.everywhere & own).any():
            return [False] * len(texts)
        numbered = encoder.tokenise(texts)
        tokens = (numbered.tokens[a:b] for a, b in pairwise(numbered.ends))
        return [bool(own[t].any() and self.everywhere[t[own[t]]].all()) for t in tokens]

    def weights(self) -> Floats:
        """Return log((N + 1) / (df + 1)) of each token."""
        return np.asarray(np.log((self.references + 1) / (self.counts + 1)))


def token_shares(texts: Sequence[str], numbered: Texts, encoder: Any, idf: Idf | None) -> tuple[Floats, Any]:
    """Return the share of each token in its text (0 for special tokens), and which texts have only special tokens.

    Shares add up to 1, or to 0 if every token of a text is in every reference.
    """
    own = np.ones(encoder.vocabulary)
    own[encoder.special] = 0.0
    weights = own[numbered.tokens]
    if idf is not None:
        weights = weights * idf.weights()[numbered.tokens]
    owners = np.repeat(np.arange(len(texts)), numbered.lengths)
    totals = np.bincount(owners, weights, minlength=len(texts))
    counted = np.bincount(owners, own[numbered.tokens], minlength=len(texts))
    empty = (counted == 0) | ~np.fromiter((bool(text.strip()) for text in texts), dtype=bool, count=len(texts))
    return weights / np.where(totals > 0, totals, 1.0)[owners], empty
