# SPDX-License-Identifier: Apache-2.0
"""A transformer that reads several texts together, [CLS] A [SEP] B [SEP] …, and computes logits from one state.

An encoder uses the first state; a language model uses the last, the only one that has seen the whole row. The first
text has token type 0, the others 1, as in BERT's pretraining; networks without token types get none. If a row is too
long for the network, its texts are truncated to the greatest common length at which the row fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.models.batches import lengths_of, make_batches
from interloq.models.memory import Reader, read_in_parts
from interloq.models.packing import Packing, count_positions
from interloq.models.pretrained import Subwords, empty_network, load_network, load_scoring_network
from interloq.models.scoring_networks import ScoringNetwork
from interloq.models.token_rows import Packed, TokenRows

Ints = NDArray[np.int64]
DEVIATION = 0.02  # standard deviation of the head's initial weights, as in BERT
CONFIG = "config.json"
Floats = NDArray[np.float64]
Network = Callable[[TokenRows], torch.Tensor]
BATCH = 256  # rows per batch
TOKENS = {"cpu": 1024, "cuda": 2**13}  # tokens per batch: what fits in a processor's cache, and what keeps a GPU busy


class CrossEncoder(torch.nn.Module):  # type: ignore[misc]
    """A transformers encoder or language model with a linear head; its logits are [rows, outputs]."""

    def __init__(self, encoder: torch.nn.Module, outputs: int) -> None:
        super().__init__()
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None  # not used
        self.encoder = encoder
        self.head = torch.nn.Linear(encoder.config.hidden_size, outputs)
        torch.nn.init.normal_(self.head.weight, std=DEVIATION)
        torch.nn.init.zeros_(self.head.bias)
        self.kinds: int = getattr(encoder.config, "type_vocab_size", 0) or 0
        self.vocabulary: int = encoder.config.vocab_size
        self.positions = count_positions(encoder)
        self.causal = _is_causal(encoder)
        self.packing = Packing(encoder)

    @classmethod
    def pretrained(cls, folder: Path, outputs: int, *, trainable: bool = True) -> CrossEncoder:
        """Return a pretrained network with a new head."""
        load = load_network if trainable else load_scoring_network
        return cls(load(folder), outputs)

    @classmethod
    def empty(cls, folder: Path, outputs: int, *, trainable: bool = True) -> CrossEncoder:
        """Return a network of the shape given in `folder/config.json`, with weights still to be loaded."""
        return cls(empty_network(folder, trainable=trainable), outputs)

    def forward(self, rows: TokenRows | Packed) -> torch.Tensor:
        """Return the logits of each row."""
        logits: torch.Tensor = self.head(self.states(rows))
        return logits

    def states(self, rows: TokenRows | Packed) -> torch.Tensor:
        """Return the input of the head [rows, dimensions]."""
        rows = rows.on(self.head.weight.device)
        states: torch.Tensor = self.encoder(**self._inputs(rows)).last_hidden_state
        if isinstance(rows, Packed):
            return states.squeeze(0).index_select(0, rows.last if self.causal else rows.first)
        if self.causal:
            return states[torch.arange(len(states), device=states.device), rows.mask.sum(dim=1) - 1]
        return states[:, 0]

    def _inputs(self, rows: TokenRows | Packed) -> dict[str, Any]:
        """Return the arguments of the encoder for these rows."""
        options = {"use_cache": False} if self.causal else {}  # nothing is generated after the row
        return {**self.packing.options(rows), **options}


def rows(tokens: Sequence[Sequence[NDArray[Any]]], subwords: Subwords, *, limit: int | None = None) -> TokenRows:
    """Join each row's texts, given as tokens, and pad to the longest row; all rows have the same number of texts."""
    flat = list(chain.from_iterable(tokens))
    ends = np.concatenate([[0], np.cumsum(lengths_of(flat))])
    joined = np.concatenate([np.zeros(0, dtype=np.int32), *flat]).astype(np.int32)
    texts_per_row = len(tokens[0]) if tokens else 1
    indices = np.arange(len(flat)).reshape(len(tokens), texts_per_row)
    return join_rows(Texts(joined, ends), indices, subwords, limit=limit)


def join_rows(texts: Texts, indices: Ints, subwords: Subwords, *, limit: int | None = None) -> TokenRows:
    """Do what `rows` does, for concatenated texts; `indices` [rows, texts] says which texts each row has."""
    starts = texts.ends[indices]
    lengths = cut_lengths(texts.ends[indices + 1] - starts, limit)
    places = 1 + np.cumsum(lengths + 1, axis=1) - (lengths + 1)  # position of each text's first token in its row
    width = row_lengths(lengths)
    shape = (len(indices), int(width.max(initial=1)))
    ids = np.full(shape, subwords.pad, dtype=np.int32)
    ids[:, 0] = subwords.start
    np.put_along_axis(ids, places + lengths, np.int32(subwords.end), axis=1)
    sizes = lengths.ravel()
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # position of each token in its text
    first = (places + shape[1] * np.arange(len(indices))[:, None]).ravel()
    ids.ravel()[np.repeat(first, sizes) + inside] = texts.tokens[np.repeat(starts.ravel(), sizes) + inside]
    columns = np.arange(shape[1])
    mask = columns < width[:, None]
    kinds = mask & (columns > (places + lengths)[:, :1])
    return TokenRows(*map(torch.from_numpy, (ids, mask.astype(np.int32), kinds.astype(np.int32))))


def row_lengths(lengths: Ints, limit: int | None = None) -> Ints:
    """Return the tokens per row, special tokens included, from the lengths of the texts [rows, texts]."""
    total: Ints = 1 + np.sum(lengths + 1, axis=1)
    if limit is None:
        return total
    return np.minimum(total, limit)


def cut_lengths(lengths: Ints, limit: int | None) -> Ints:
    """Return the lengths [rows, texts] to which texts are truncated so that every row has at most `limit` tokens."""
    if limit is None or not (long := row_lengths(lengths) > limit).any():
        return lengths
    room = limit - 1 - lengths.shape[1]
    if room < lengths.shape[1]:
        raise InputError(
            f"{lengths.shape[1]} texts do not fit in {limit} tokens", hint="use an encoder with a longer maximum length"
        )
    low = np.ones(int(long.sum()), dtype=np.int64)  # a length that fits
    high = lengths[long].max(axis=1)  # a length that does not
    while (high - low > 1).any():
        middle = (low + high) // 2
        fits = np.minimum(lengths[long], middle[:, None]).sum(axis=1) <= room
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    cut = lengths.copy()
    cut[long] = np.minimum(lengths[long], low[:, None])
    return cut


def _is_causal(encoder: torch.nn.Module) -> bool:
    """Return whether tokens see earlier tokens only, as in language models; BERT-like models can also be decoders."""
    if isinstance(encoder, ScoringNetwork):
        return encoder.causal
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    kind = type(encoder.config)
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING:
        return False
    if kind in MODEL_FOR_MASKED_LM_MAPPING:
        return bool(getattr(encoder.config, "is_decoder", False))
    return True


@torch.inference_mode()  # type: ignore[untyped-decorator]
def row_outputs(
    reader: Reader,
    read: Sequence[tuple[NDArray[Any], ...]],
    subwords: Subwords,
    network: Network,
    width: int,
    *,
    padded: bool = True,
) -> Floats:
    """Return the outputs [rows, width] of a network on the reader's device; a row is the tokens of its texts.

    If rows may not be padded, only rows of equal length share a batch.
    """
    lengths = np.array([sum(map(len, row)) for row in read], dtype=np.int64)
    outputs = np.zeros((len(read), width))
    for chosen in make_batches(lengths, size=BATCH, tokens=reader.tokens, rng=None, padded=padded):
        batch = rows([read[i] for i in chosen], subwords)
        outputs[chosen] = _outputs(reader, batch, network).double().cpu().numpy()
    return outputs


def _outputs(reader: Reader, batch: TokenRows, network: Network) -> torch.Tensor:
    parts = read_in_parts(
        reader, lambda part: network(batch[part]), len(batch.ids), lambda: f"one row of {batch.ids.shape[1]} tokens"
    )
    outputs: torch.Tensor = torch.cat(parts)
    return outputs
