"""Token and sentence vectors of a transformer encoder, at any layer.

`pretrained.py` says how a model is named. Each distinct text is encoded once, with others of like length, padded by our
own hand, so a tokenizer needs no pad token. In float32 neither batches nor order change a vector by more than 1e-5. A
batch that a GPU has no room for is cut in two. Sentence vectors may be kept on disk: see `vector_cache.py`.
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

from interloq.data.numbering import Texts
from interloq.errors import InputError
from interloq.models.batches import bucketed
from interloq.models.pretrained import load_network, load_tokenizer, model_folder, weights_fingerprint
from interloq.models.processes import pick_device
from interloq.models.vector_cache import VectorCache

Pooling = Literal["mean", "max", "first"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
Ints = NDArray[np.int64]
# tokens in a batch, padding included: what stays in a processor's cache, and what keeps a GPU busy
TOKENS = {"cpu": 768, "cuda": 32_768}
TEXTS = 4096
FEW = 2048  # texts tokenised at a time: a tokenizer says much more about each than is kept
LIMIT = 2**20  # tokens of a text, for models that set none
LONGEST = 128  # tokens of a text that count: replies are short, and time grows with length


@dataclass(frozen=True, slots=True)
class Encoded:
    """A batch: `places` among the texts, ids and mask [texts, tokens], states [texts, tokens, dimensions]."""

    places: Ints
    ids: torch.Tensor
    mask: torch.Tensor
    states: torch.Tensor


class Encoder:
    """`layer` counts from 1; 0 are the embeddings, None the last layer. Layers above it are never computed."""

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
        self.precision = _precision(precision, self.device)
        self._tokenizer = load_tokenizer(self.folder)
        model = load_network(self.folder)
        self.layers: int = model.config.num_hidden_layers
        self.layer = self.layers if layer is None else layer
        if not 0 <= self.layer <= self.layers:
            raise InputError(f"the model has layers 0 to {self.layers}, not {layer}", where=str(self.folder))
        self.longest = min(longest, _positions(model))
        self.dimensions: int = model.config.hidden_size
        self.vocabulary: int = max(model.config.vocab_size, len(self._tokenizer))
        self.special: list[int] = sorted({self._tokenizer.cls_token_id, self._tokenizer.sep_token_id} - {None})
        _cut(model, self.layer)
        self._model = model.to(self.device, self.precision).eval()
        self._cache = VectorCache.asked_for(cache)

    def encode(self, texts: Sequence[str]) -> Iterator[Encoded]:
        """Batches of texts of like length, every text in one of them; the longest texts are cut."""
        return self.batches(self.numbered(texts))

    def batches(self, numbered: Texts, which: Ints | None = None) -> Iterator[Encoded]:
        """Batches of texts that are numbered already: all, or those that `which` names."""
        which = np.arange(len(numbered.ends) - 1) if which is None else which
        for part in bucketed(numbered.lengths[which], size=TEXTS, tokens=self.tokens, rng=None):
            yield self._batch(which[part], numbered)

    def sentences(self, texts: Sequence[str], *, pooling: Pooling = "mean") -> NDArray[np.float32]:
        """Unit vectors, a row a text; zeros for a text of nothing but white space."""
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        found = np.zeros((len(distinct) + 1, self.dimensions), dtype=np.float32)  # the last row: no text
        if self._cache:
            name = f"{self.signature()}-{pooling}"
            found[:-1] = self._cache.rows(name, distinct, self.dimensions, lambda new: self._pooled(new, pooling))
        else:
            found[:-1] = self._pooled(distinct, pooling)
        place = {text: i for i, text in enumerate(distinct)}
        return found[[place.get(text, -1) for text in texts]]

    def _pooled(self, texts: list[str], pooling: Pooling) -> NDArray[np.float32]:
        found = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for batch in self.encode(texts):
            vectors = pooled(batch.states.float(), batch.mask, pooling)
            found[batch.places] = torch.nn.functional.normalize(vectors, dim=1).cpu().numpy()
        return found

    @cached_property
    def name(self) -> str:
        """Names kind and weights of the model, wherever they lie."""
        return f"{self._model.config.model_type}-{weights_fingerprint(self.folder)}"

    def signature(self) -> str:
        """Names the weights, wherever they lie, and all that vectors depend on."""
        parts = [self.name, f"mean-{self.longest}"]
        if self.layer != self.layers:
            parts.append(f"layer-{self.layer}")
        if self.precision != torch.float32:
            parts.append(str(self.precision).removeprefix("torch."))
        return "-".join(parts)

    def numbered(self, texts: Sequence[str]) -> Texts:
        """Token ids of texts with special tokens, cut at `longest`; a text without any token is one unknown token."""
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
        for places in bucketed(numbered.lengths, size=TEXTS, tokens=self.tokens, rng=None):
            found = self._batch_of_layers(places, numbered)
            if not torch.equal(found[-2].states, found[-1].states):
                raise InputError(
                    f"models of type {self._model.config.model_type!r} change the states after their last layer",
                    cure="name one layer: all of them cannot be had in one pass",
                )
            yield found[:-1]

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch(self, places: Ints, numbered: Texts) -> Encoded:
        ids, mask = self._laid(places, numbered)
        return Encoded(places, ids, mask, self._states(ids, mask)[0])

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch_of_layers(self, places: Ints, numbered: Texts) -> list[Encoded]:
        ids, mask = self._laid(places, numbered)
        return [Encoded(places, ids, mask, states) for states in self._states(ids, mask, every=True)]

    def _laid(self, places: Ints, numbered: Texts) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = numbered.lengths[places]
        width = int(lengths.max())
        ids = numbered.padded(places, width, self._tokenizer.pad_token_id or 0).astype(np.int64)
        mask = (np.arange(width) < lengths[:, None]).astype(np.int64)
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)

    def _states(self, ids: torch.Tensor, mask: torch.Tensor, *, every: bool = False) -> list[torch.Tensor]:
        """What the model gives out; with `every` the states of all layers before it."""
        try:
            found = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=every)
            return [*(found.hidden_states if every else ()), found.last_hidden_state]
        except torch.OutOfMemoryError as error:
            if len(ids) == 1:
                raise InputError(
                    f"no memory for one text of {ids.shape[1]} tokens on {self.device}",
                    cure="use a smaller model, fewer tokens, or --device cpu",
                ) from error
        torch.cuda.empty_cache()  # here, as an error that is being handled keeps tensors alive
        self.tokens = max(1, self.tokens // 2)  # later batches are smaller from the start
        half = len(ids) // 2
        parts = [self._states(ids[part], mask[part], every=every) for part in (slice(half), slice(half, None))]
        return [torch.cat(pair) for pair in zip(*parts, strict=True)]


def _precision(name: Precision, device: torch.device) -> torch.dtype:
    chosen = ("bfloat16" if device.type == "cuda" else "float32") if name == "auto" else name
    found: torch.dtype = getattr(torch, chosen)
    return found


def _positions(model: Any) -> int:
    """How many tokens have a place of their own; RoBERTa and its kin count from behind the pad token's number."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    most = getattr(model.config, "max_position_embeddings", None) or LIMIT
    first = getattr(table, "padding_idx", None)
    return int(most if first is None else most - first - 1)


def _cut(model: Any, layer: int) -> None:
    """Drop the layers above; every encoder keeps its layers in one list."""
    lists = [part for part in model.modules() if isinstance(part, torch.nn.ModuleList)]
    stack = next((part for part in lists if len(part) == model.config.num_hidden_layers), None)
    if stack is None:
        kind = model.config.model_type
        raise InputError(f"models of type {kind!r} are not known here", cure="use a BERT-like encoder")
    del stack[layer:]


def pooled(states: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    if pooling == "first":
        return states[:, 0]
    if pooling == "max":
        return states.masked_fill(mask[..., None] == 0, -torch.inf).amax(dim=1)
    weights = mask[..., None].to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)
