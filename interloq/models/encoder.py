# SPDX-License-Identifier: Apache-2.0
"""Token and sentence vectors of a transformer encoder, from any layer.

See `pretrained.py` for how a model is named. Each distinct text is encoded once, in batches of similar length. Padding
is done here, so the tokenizer needs no pad token. In float32 neither batching nor order changes a vector by more than
1e-5. A batch that does not fit in GPU memory is split in two. Vectors can be cached on disk: see `vector_cache.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.models.batches import bucketed
from interloq.models.encoder_probe import layers_of, probe
from interloq.models.memory import read_in_parts
from interloq.models.pretrained import (
    check_fit,
    load_network,
    load_tokenizer,
    model_folder,
    pick_precision,
    tokenizer_fingerprint,
    weights_fingerprint,
)
from interloq.models.processes import pick_device
from interloq.models.vector_cache import VectorCache
from interloq.signature import file_fingerprint

Pooling = Literal["mean", "max", "first"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
Ints = NDArray[np.int64]
# tokens per batch, padding included: few enough for a processor's cache, enough to keep a GPU busy
TOKENS = {"cpu": 768, "cuda": 32_768}
TEXTS = 4096
FEW = 2048  # texts tokenised at a time: a tokenizer's output is much larger than the part that is kept
LIMIT = 2**20  # most tokens of a text, for models without a limit
LONGEST = 128  # tokens of a text that are used: replies are short, and time grows with length


@dataclass(frozen=True, slots=True)
class Encoded:
    """A batch: `places` (indices of its texts), ids and mask [texts, tokens], states [texts, tokens, dimensions]."""

    places: Ints
    ids: torch.Tensor
    mask: torch.Tensor
    states: torch.Tensor


class Encoder:
    """Encodes texts at one layer: 0 is the embeddings, None the last layer. Higher layers are dropped if possible."""

    def __init__(
        self,
        name: str,
        *,
        layer: int | None = None,
        longest: int = LONGEST,
        device: str = "auto",
        precision: Precision = "auto",
        tokens: int | None = None,
        cache: str | Path | None = None,
    ) -> None:
        self.folder, self.device = model_folder(name), pick_device(device)
        self.tokens = tokens or TOKENS.get(self.device.type, TOKENS["cpu"])
        self.precision = pick_precision(precision, self.device)
        self._tokenizer = load_tokenizer(self.folder)
        model = load_network(self.folder).eval()
        self.layers = layers_of(model, str(self.folder))
        self.layer = self.layers if layer is None else layer
        if not 0 <= self.layer <= self.layers:
            raise InputError(f"the model has layers 0 to {self.layers}, not {layer}", where=str(self.folder))
        self.longest = min(longest, _positions(model))
        self.dimensions: int = model.config.hidden_size
        self.vocabulary: int = max(model.config.vocab_size, len(self._tokenizer))
        self.special: list[int] = sorted({self._tokenizer.cls_token_id, self._tokenizer.sep_token_id} - {None})
        self._special = torch.tensor(self.special, dtype=torch.long, device=self.device)
        pad = self._tokenizer.pad_token_id or 0
        self._pad = pad if pad < model.config.vocab_size else 0  # an added pad token may have no vector
        self._behaviour = probe(model, self.layer, self._pad, str(self.folder))
        check_fit(self._tokenizer.vocab_size, model, self.folder)
        self._model = model.to(self.device, self.precision)
        self._cache = VectorCache.configured(cache)

    def encode(self, texts: Sequence[str]) -> Iterator[Encoded]:
        """Batches of texts of similar length, each text in one of them; long texts are truncated."""
        return self.batches(self.numbered(texts))

    def batches(self, numbered: Texts, which: Ints | None = None) -> Iterator[Encoded]:
        """Batches of tokenised texts: all, or those with the indices `which`."""
        which = np.arange(len(numbered.ends) - 1) if which is None else which
        for part in self._parts(numbered.lengths[which]):
            yield self._batch(which[part], numbered)

    def cached_batches(self, numbered: Texts, which: Ints) -> Iterator[Encoded]:
        """Like `batches`, but cached vectors are not recomputed. Not used on a GPU, which is as fast as the disk."""
        if self._cache is None or self.device.type != "cpu":
            yield from self.batches(numbered, which)
            return
        for part in self._parts(numbered.lengths[which]):
            yield self._cached_batch(which[part], numbered, self._cache)

    def sentences(self, texts: Sequence[str], *, pooling: Pooling = "mean") -> NDArray[np.float32]:
        """Unit vectors, one row per text; zeros for a text that is only white space or has no tokens."""
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        found = np.zeros((len(distinct) + 1, self.dimensions), dtype=np.float32)  # last row: empty text
        if self._cache and distinct:
            numbered, sizes = self.numbered(distinct), [self.dimensions] * len(distinct)
            keys = [numbered[i].tobytes() for i in range(len(distinct))]
            name = f"{self._vectors_name}-{pooling}"
            found[:-1] = self._cache.rows(
                name, keys, sizes, lambda new: self._pooled([distinct[i] for i in new], pooling)
            )
        else:
            found[:-1] = self._pooled(distinct, pooling)
        place = {text: i for i, text in enumerate(distinct)}
        return found[[place.get(text, -1) for text in texts]]

    def _pooled(self, texts: list[str], pooling: Pooling) -> NDArray[np.float32]:
        found = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for batch in self.encode(texts):
            vectors = pooled(batch.states.float(), batch.mask, pooling)
            own = (batch.mask == 1) & ~torch.isin(batch.ids, self._special)
            vectors = torch.nn.functional.normalize(vectors, dim=1) * own.any(dim=1, keepdim=True)
            found[batch.places] = vectors.cpu().numpy()
        return found

    @cached_property
    def name(self) -> str:
        """Identifies the model's type, weights and tokenizer, independent of their location."""
        kind = self._model.config.model_type
        return f"{kind}-{weights_fingerprint(self.folder)}-{tokenizer_fingerprint(self.folder)}"

    def signature(self) -> str:
        """Identifies the model, independent of its location, and everything else that vectors depend on."""
        parts = [self.name, f"mean-{self.longest}"]
        if self.layer != self.layers:
            parts.append(f"layer-{self.layer}")
        if self.precision != torch.float32:
            parts.append(str(self.precision).removeprefix("torch."))
        return "-".join(parts)

    @cached_property
    def _vectors_name(self) -> str:
        """Cache key: everything that turns token ids into vectors."""
        return f"{self.signature()}-{file_fingerprint(self.folder / 'config.json')}"

    def numbered(self, texts: Sequence[str]) -> Texts:
        """Token ids of texts with special tokens, at most `longest`; a text without tokens is one unknown token."""
        parts = [np.zeros(0, dtype=np.int32)]
        lengths: list[int] = []
        for start in range(0, len(texts), FEW):
            rows = self._rows(texts[start : start + FEW])
            lengths += map(len, rows)
            parts.append(np.fromiter(chain.from_iterable(rows), dtype=np.int32))
        return Texts(np.concatenate(parts), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        options = {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
        rows = self._tokenizer(list(texts), truncation=True, max_length=self.longest, **options)["input_ids"]
        unknown = [self._tokenizer.unk_token_id or 0]
        return [row or unknown for row in rows]

    def every_layer(self, texts: Sequence[str]) -> Iterator[list[Encoded]]:
        """Batches with the states of each layer from 0 up to this encoder's."""
        numbered = self.numbered(texts)
        for places in self._parts(numbered.lengths):
            found = self._batch_of_layers(places, numbered)
            if not torch.equal(found[-2].states, found[-1].states):
                raise InputError(
                    f"models of type {self._model.config.model_type!r} change the states after their last layer",
                    hint="choose one layer: all layers cannot be computed in one pass",
                )
            yield found[:-1]

    def _parts(self, lengths: Ints) -> Iterator[Ints]:
        """Texts that share a batch: of similar length, or of equal length if padding would change their vectors."""
        for part in bucketed(lengths, size=TEXTS, tokens=self.tokens, rng=None):
            if self._behaviour.padding_is_safe:
                yield part
            else:
                yield from np.split(part, np.flatnonzero(np.diff(lengths[part])) + 1)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch(self, places: Ints, numbered: Texts) -> Encoded:
        ids, mask = self._padded(places, numbered)
        return Encoded(places, ids, mask, self._states(ids, mask)[0])

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch_of_layers(self, places: Ints, numbered: Texts) -> list[Encoded]:
        ids, mask = self._padded(places, numbered)
        return [Encoded(places, ids, mask, states) for states in self._states(ids, mask, every=True)]

    def _cached_batch(self, places: Ints, numbered: Texts, cache: VectorCache) -> Encoded:
        ids, mask = self._padded(places, numbered)
        lengths = numbered.lengths[places].tolist()
        rows = cache.rows(
            f"{self._vectors_name}-tokens",
            [numbered[i].tobytes() for i in places.tolist()],
            [length * self.dimensions for length in lengths],
            lambda new: self._flat(places[new], numbered),
        )
        states = torch.zeros((*ids.shape, self.dimensions))
        for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            states[i, :length] = torch.tensor(row).view(length, self.dimensions)
        return Encoded(places, ids, mask, states)

    def _flat(self, places: Ints, numbered: Texts) -> Iterator[NDArray[np.float32]]:
        states = self._batch(places, numbered).states.float().numpy()
        return (row[:length].ravel() for row, length in zip(states, numbered.lengths[places].tolist(), strict=True))

    def _padded(self, places: Ints, numbered: Texts) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = numbered.lengths[places]
        width = int(lengths.max())
        ids = numbered.padded(places, width, self._pad).astype(np.int64)
        mask = (np.arange(width) < lengths[:, None]).astype(np.int64)
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)

    def _states(self, ids: torch.Tensor, mask: torch.Tensor, *, every: bool = False) -> list[torch.Tensor]:
        """States of the encoder's layer; with `every`, preceded by those of all layers up to it."""
        parts = read_in_parts(
            self,
            lambda part: self._read(ids[part], mask[part], every),
            len(ids),
            lambda: f"one text of {ids.shape[1]} tokens",
        )
        return parts[0] if len(parts) == 1 else [torch.cat(layer) for layer in zip(*parts, strict=True)]

    def _read(self, ids: torch.Tensor, mask: torch.Tensor, every: bool) -> list[torch.Tensor]:
        cut = self._behaviour.cut
        found = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=every or not cut)
        own = found.last_hidden_state if cut else found.hidden_states[self.layer]
        return [*(found.hidden_states[: self.layer + 1] if every else ()), own]


def _positions(model: Any) -> int:
    """Number of tokens that have a position; RoBERTa-like models count positions from the padding index + 1."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    most = getattr(model.config, "max_position_embeddings", None) or LIMIT
    most = most if most > 0 else LIMIT  # XLNet has -1: no limit
    first = getattr(table, "padding_idx", None)
    return int(most if first is None else most - first - 1)


def pooled(states: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """One vector per text from the vectors of its tokens."""
    if pooling == "first":
        return states[:, 0]
    if pooling == "max":
        return states.masked_fill(mask[..., None] == 0, -torch.inf).amax(dim=1)
    weights = mask[..., None].to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)
