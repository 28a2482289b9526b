"""Token and sentence vectors of a transformer encoder, at any layer.

`pretrained.py` says how a model is named. Each distinct text is encoded once, with others of like length, padded by our
own hand, so a tokenizer needs no pad token. In float32 neither batches nor order change a vector by more than 1e-5. A
batch that a GPU has no room for is cut in two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.models.batches import bucketed
from interloq.models.pretrained import load_network, load_tokenizer, model_folder, weights_fingerprint
from interloq.models.processes import pick_device

Pooling = Literal["mean", "max", "first"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
TOKENS = 4096  # in a batch, padding included
TEXTS = 1024
LONGEST = 128  # tokens of a text that count: replies are short, and time grows with length


@dataclass(frozen=True, slots=True)
class Encoded:
    """A batch: `places` among the texts, ids and mask [texts, tokens], states [texts, tokens, dimensions]."""

    places: NDArray[np.int64]
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
        tokens: int = TOKENS,
    ) -> None:
        self.folder, self.longest, self.tokens = model_folder(name), longest, tokens
        self.device = pick_device(device)
        self.precision = _precision(precision, self.device)
        self._tokenizer = load_tokenizer(self.folder)
        model = load_network(self.folder)
        self.layers: int = model.config.num_hidden_layers
        self.layer = self.layers if layer is None else layer
        if not 0 <= self.layer <= self.layers:
            raise InputError(f"the model has layers 0 to {self.layers}, not {layer}", where=str(self.folder))
        self.dimensions: int = model.config.hidden_size
        self.vocabulary: int = max(model.config.vocab_size, len(self._tokenizer))
        self.special: list[int] = sorted({self._tokenizer.cls_token_id, self._tokenizer.sep_token_id} - {None})
        _cut(model, self.layer)
        self._model = model.to(self.device, self.precision).eval()

    def encode(self, texts: Sequence[str]) -> Iterator[Encoded]:
        """Batches of texts of like length, every text in one of them; the longest texts are cut."""
        rows = self.numbers(texts)
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        for places in bucketed(lengths, size=TEXTS, tokens=self.tokens, rng=None):
            yield self._batch(places, [rows[i] for i in places])

    def sentences(self, texts: Sequence[str], *, pooling: Pooling = "mean") -> NDArray[np.float32]:
        """Unit vectors, a row a text; zeros for a text of nothing but white space."""
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        found = np.zeros((len(distinct) + 1, self.dimensions), dtype=np.float32)  # the last row: no text
        for batch in self.encode(distinct):
            vectors = pooled(batch.states.float(), batch.mask, pooling)
            found[batch.places] = torch.nn.functional.normalize(vectors, dim=1).cpu().numpy()
        place = {text: i for i, text in enumerate(distinct)}
        return found[[place.get(text, -1) for text in texts]]

    def signature(self) -> str:
        """Names the weights, wherever they lie, and all that vectors depend on."""
        parts = [self._model.config.model_type, weights_fingerprint(self.folder), f"mean-{self.longest}"]
        if self.layer != self.layers:
            parts.append(f"layer-{self.layer}")
        if self.precision != torch.float32:
            parts.append(str(self.precision).removeprefix("torch."))
        return "-".join(parts)

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts with special tokens, cut at `longest`; a text without any token is one unknown token."""
        if not texts:
            return []
        rows: list[list[int]] = self._tokenizer(list(texts), truncation=True, max_length=self.longest)["input_ids"]
        unknown = self._tokenizer.unk_token_id or 0
        return [row or [unknown] for row in rows]

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch(self, places: NDArray[np.int64], rows: list[list[int]]) -> Encoded:
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self._tokenizer.pad_token_id or 0)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            mask[i, : len(row)] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        return Encoded(places, ids, mask, self._states(ids, mask))

    def _states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        try:
            states: torch.Tensor = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
        except torch.OutOfMemoryError as error:
            if len(ids) == 1:
                raise InputError(
                    f"no memory for one text of {ids.shape[1]} tokens on {self.device}",
                    cure="use a smaller model, fewer tokens, or --device cpu",
                ) from error
            torch.cuda.empty_cache()
            self.tokens = max(1, self.tokens // 2)  # later batches are smaller from the start
            half = len(ids) // 2
            states = torch.cat([self._states(ids[:half], mask[:half]), self._states(ids[half:], mask[half:])])
        return states


def _precision(name: Precision, device: torch.device) -> torch.dtype:
    chosen = ("bfloat16" if device.type == "cuda" else "float32") if name == "auto" else name
    found: torch.dtype = getattr(torch, chosen)
    return found


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
