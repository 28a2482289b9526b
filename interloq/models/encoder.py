# SPDX-License-Identifier: Apache-2.0
"""Token and sentence vectors of a transformer encoder, from any layer.

See `pretrained.py` for how a model is named. Each distinct text is encoded once, in batches of similar length. Padding
is done here, so the tokenizer needs no pad token. In float32 neither batching nor order changes a vector by more than
1e-5. A batch that does not fit in GPU memory is split in two. Vectors can be cached on disk: see `vector_cache.py`.

How a network behaves is found by running it on a few tokens rather than by its model type. Layers above the wanted one
can be dropped if the remaining network then returns the wanted layer's states. That fails if the network changes states
after its last layer, as ModernBERT does, or runs one layer many times, as ALBERT does: such a network is kept whole and
its hidden states are used. Padding changes nothing in most networks. If it does, as in networks that look at neighbours
regardless of the mask, only texts of equal length share a batch.
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
from interloq.models import pretrained
from interloq.models.batches import make_batches, number_distinct
from interloq.models.cpu_linear import check_precision, speed_up
from interloq.models.memory import read_in_parts
from interloq.models.packing import count_positions
from interloq.models.processes import pick_device
from interloq.models.scoring_networks import PostNormEncoder
from interloq.models.vector_cache import VectorCache
from interloq.signature import file_fingerprint

Pooling = Literal["mean", "max", "first"]
Precision = Literal["auto", "float32", "bfloat16", "float16", "int8"]
Ints = NDArray[np.int64]
# tokens per batch, padding included: few enough for a processor's cache, enough to keep a GPU busy
TOKENS = {"cpu": 768, "cuda": 32_768}
TEXTS = 4096
FEW = 2048  # texts tokenised at a time: a tokenizer's output is much larger than the part that is kept
LIMIT = 2**20  # most tokens of a text, for models without a limit
LONGEST = 128  # tokens of a text that are used: replies are short, and time grows with length
ROWS = (1, 6, 9)  # tokens of the test rows, which are run together and one by one
NEAR = 1e-4
FAILURE = (ArithmeticError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)


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
        self.folder, self.device = pretrained.model_folder(name), pick_device(device)
        self.tokens = tokens or TOKENS.get(self.device.type, TOKENS["cpu"])
        if precision == "int8":
            check_precision(precision, self.device)
        self.number_type = pretrained.pick_number_type(precision, self.device)
        self._tokenizer = pretrained.load_tokenizer(self.folder, fast=True)
        model = pretrained.load_scoring_network(self.folder, PostNormEncoder).eval()
        self.layers = layers_of(model, str(self.folder))
        self.layer = self.layers if layer is None else layer
        if not 0 <= self.layer <= self.layers:
            raise InputError(f"the model has layers 0 to {self.layers}, not {layer}", where=str(self.folder))
        self.longest = min(longest, count_positions(model) or LIMIT)
        self.dimensions: int = model.config.hidden_size
        self.vocabulary: int = max(model.config.vocab_size, len(self._tokenizer))
        self.special: list[int] = sorted({self._tokenizer.cls_token_id, self._tokenizer.sep_token_id} - {None})
        self._special = torch.tensor(self.special, dtype=torch.long, device=self.device)
        pad = self._tokenizer.pad_token_id or 0
        if pad >= model.config.vocab_size:  # an added pad token may have no vector
            pad = 0
        self._pad = pad
        self._behaviour = probe(model, self.layer, self._pad, str(self.folder))
        pretrained.check_fit(self._tokenizer.vocab_size, model, self.folder)
        self._rounds = False  # whether linear layers round their inputs, and everything else is in float32
        if self.device.type == "cpu" and self.number_type in ("bfloat16", "int8"):
            self._rounds = True
            speed_up(model, "int8" if self.number_type == "int8" else "bfloat16")
        else:
            model.to(self.device, getattr(torch, self.number_type))
            speed_up(model)
        self._model = model
        self._cache = VectorCache.find(cache)

    def encode(self, texts: Sequence[str]) -> Iterator[Encoded]:
        """Return batches of texts of similar length, each text in one of them; long texts are truncated."""
        return self.batches(self.tokenise(texts))

    def batches(self, numbered: Texts, which: Ints | None = None) -> Iterator[Encoded]:
        """Yield tokenised texts in batches: all of them, or those with the indices `which`."""
        if which is None:
            which = np.arange(len(numbered.ends) - 1)
        for part in self._parts(numbered.lengths[which]):
            yield self._batch(which[part], numbered)

    def cached_batches(self, numbered: Texts, which: Ints) -> Iterator[Encoded]:
        """Yield the same as `batches`, without recomputing cached vectors.

        The cache is not used on a GPU, which computes vectors as fast as a disk reads them.
        """
        if self._cache is None or self.device.type != "cpu":
            yield from self.batches(numbered, which)
            return
        for part in self._parts(numbered.lengths[which]):
            yield self._cached_batch(which[part], numbered, self._cache)

    def sentences(self, texts: Sequence[str], *, pooling: Pooling = "mean") -> NDArray[np.float32]:
        """Return unit vectors, one row per text; zeros for a text that is only white space or has no tokens."""
        distinct, which = number_distinct(texts)
        vectors = np.zeros((len(distinct), self.dimensions), dtype=np.float32)
        with_text = [i for i, text in enumerate(distinct) if text.strip()]
        if with_text:
            vectors[with_text] = self._sentences([distinct[i] for i in with_text], pooling)
        return vectors[which]

    def _sentences(self, texts: list[str], pooling: Pooling) -> Any:
        """Return the unit vectors of distinct texts, from the cache if there is one."""
        if self._cache is None:
            return self._pool_sentences(texts, pooling)
        numbered, sizes = self.tokenise(texts), [self.dimensions] * len(texts)
        keys = [numbered[i].tobytes() for i in range(len(texts))]
        name = f"{self._vectors_name}-{pooling}"
        return self._cache.rows(name, keys, sizes, lambda new: self._pool_sentences([texts[i] for i in new], pooling))

    def _pool_sentences(self, texts: list[str], pooling: Pooling) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for batch in self.encode(texts):
            own = (batch.mask == 1) & ~torch.isin(batch.ids, self._special)
            unit = torch.nn.functional.normalize(pool_states(batch.states.float(), batch.mask, pooling), dim=1)
            vectors[batch.places] = (unit * own.any(dim=1, keepdim=True)).cpu().numpy()
        return vectors

    @cached_property
    def name(self) -> str:
        """Identifies the model's type, weights and tokenizer, independent of their location."""
        kind = self._model.config.model_type
        return f"{kind}-{pretrained.weights_fingerprint(self.folder)}-{pretrained.tokenizer_fingerprint(self.folder)}"

    def signature(self) -> str:
        """Identify the model, independent of its location, and everything else that vectors depend on."""
        parts = [self.name, f"mean-{self.longest}"]
        if self.layer != self.layers:
            parts.append(f"layer-{self.layer}")
        if self.number_type != "float32":
            parts.append(self.number_type)
        return "-".join(parts)

    @cached_property
    def _vectors_name(self) -> str:
        """Cache key: everything that turns token ids into vectors."""
        return f"{self.signature()}-{file_fingerprint(self.folder / 'config.json')}"

    def tokenise(self, texts: Sequence[str]) -> Texts:
        """Return the token ids of each text with special tokens, at most `longest`.

        A text without tokens is one unknown token.
        """
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
        """Yield the batches with the states of each layer from 0 up to this encoder's."""
        numbered = self.tokenise(texts)
        for places in self._parts(numbered.lengths):
            *layers, last = self._batch_of_layers(places, numbered)
            if not torch.equal(layers[-1].states, last.states):
                raise InputError(
                    f"models of type {self._model.config.model_type!r} change the states after their last layer",
                    hint="choose one layer: all layers cannot be computed in one pass",
                )
            yield layers

    def _parts(self, lengths: Ints) -> Iterator[Ints]:
        """Yield the texts of each batch: of similar length, or equal length if padding would change their vectors.

        Sums over padding differ in the last digit, which may be rounded to another number.
        """
        padded = self._behaviour.padding_is_safe and not self._rounds
        yield from make_batches(lengths, size=TEXTS, tokens=self.tokens, rng=None, padded=padded)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch(self, places: Ints, numbered: Texts) -> Encoded:
        ids, mask = self._pad_rows(places, numbered)
        return Encoded(places, ids, mask, self._states(ids, mask)[0])

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch_of_layers(self, places: Ints, numbered: Texts) -> list[Encoded]:
        ids, mask = self._pad_rows(places, numbered)
        return [Encoded(places, ids, mask, states) for states in self._states(ids, mask, every=True)]

    def _cached_batch(self, places: Ints, numbered: Texts, cache: VectorCache) -> Encoded:
        ids, mask = self._pad_rows(places, numbered)
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

    def _pad_rows(self, places: Ints, numbered: Texts) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = numbered.lengths[places]
        width = int(lengths.max())
        ids = numbered.pad(places, width, self._pad).astype(np.int64)
        mask = (np.arange(width) < lengths[:, None]).astype(np.int64)
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)

    def _states(self, ids: torch.Tensor, mask: torch.Tensor, *, every: bool = False) -> list[torch.Tensor]:
        """Return the states of the encoder's layer; with `every`, the states of all layers up to it come first."""
        parts = read_in_parts(
            self,
            lambda part: self._read(ids[part], mask[part], every),
            len(ids),
            lambda: f"one text of {ids.shape[1]} tokens",
        )
        if len(parts) == 1:
            return parts[0]
        return list(map(torch.cat, zip(*parts, strict=True)))

    def _read(self, ids: torch.Tensor, mask: torch.Tensor, every: bool) -> list[torch.Tensor]:
        cut = self._behaviour.cut
        output = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=every or not cut)
        own = output.last_hidden_state if cut else output.hidden_states[self.layer]
        if every:
            return [*output.hidden_states[: self.layer + 1], own]
        return [own]


def pool_states(states: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """Return one vector per text from the vectors of its tokens."""
    if pooling == "first":
        return states[:, 0]
    if pooling == "max":
        return states.masked_fill(mask[..., None] == 0, -torch.inf).amax(dim=1)
    weights = mask[..., None].to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Result of a probe."""

    cut: bool  # the layers above the wanted one were dropped
    padding_is_safe: bool  # padding does not change the states


def layers_of(model: Any, where: str) -> int:
    """Return the number of layers of a text encoder; other models are refused."""
    layers = getattr(model.config, "num_hidden_layers", None)
    if getattr(model.config, "is_encoder_decoder", False) or layers is None:
        raise _not_an_encoder(model, where)
    return int(layers)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def probe(model: Any, layer: int, pad: int, where: str) -> Behaviour:
    """Probe a model on the CPU in float32, and drop the layers above `layer` if possible."""
    try:
        alone = [_whole(model, row, layer) for row in _rows(model)]
    except FAILURE as error:
        raise _not_an_encoder(model, where) from error
    cut = _cut(model, layer, alone)
    rows = _rows(model)
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
    mask = (torch.arange(ids.shape[1]) < torch.tensor(ROWS)[:, None]).long()
    output = model(input_ids=ids, attention_mask=mask, output_hidden_states=not cut)
    states = output.last_hidden_state if cut else output.hidden_states[layer]
    return Behaviour(cut, all(_near(row[:length], own) for row, length, own in zip(states, ROWS, alone, strict=True)))


def _rows(model: Any) -> list[torch.Tensor]:
    size = int(model.get_input_embeddings().num_embeddings)
    return [(7 * torch.arange(length) + 5) % size for length in ROWS]


def _whole(model: Any, row: torch.Tensor, layer: int) -> torch.Tensor:
    ids = row[None]
    output = model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
    return output.hidden_states[layer][0]


def _cut(model: Any, layer: int, expected: list[torch.Tensor]) -> bool:
    """Drop the layers above `layer` from the network's list of layers; put them back if that does not work."""
    stack = _layer_list(model)
    if stack is None:
        return False
    above = list(stack[layer:])
    del stack[layer:]
    try:
        same = True
        for row, states in zip(_rows(model), expected, strict=True):
            output = model(input_ids=row[None], attention_mask=torch.ones_like(row[None]))
            same = same and _near(output.last_hidden_state[0], states)
        if same:
            return True
    except FAILURE:
        pass  # the network needs all its layers
    stack.extend(above)
    return False


def _layer_list(model: Any) -> torch.nn.ModuleList | None:
    """Return the network's list of layers; None if it has none of this length."""
    for part in model.modules():
        if isinstance(part, torch.nn.ModuleList) and len(part) == model.config.num_hidden_layers:
            return part
    return None


def _near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and bool(torch.allclose(one, other, rtol=NEAR, atol=NEAR))


def _not_an_encoder(model: Any, where: str) -> InputError:
    kind = model.config.model_type
    return InputError(f"models of type {kind!r} are not text encoders", hint="use a BERT-like encoder", where=where)
