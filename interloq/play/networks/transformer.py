# SPDX-License-Identifier: Apache-2.0
"""A Transformer encoder-decoder (Vaswani et al., 2017).

Layer(x) = x + Sublayer(LayerNorm(x)): the norm is before each sublayer (as in tensor2tensor and GPT-2), not after it as
in the paper, so that no long warmup is needed; a last norm follows the last layer. Positions are sinusoids,
Attention(Q, K, V) = softmax(Q Kᵀ / √d) V with several heads, and the feed-forward layers are ReLU with four times the
dimensions. The paper's label smoothing is left out: it would make perplexities incomparable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from interloq.play.networks.network import ReplyNetwork, Source


@dataclass(frozen=True, slots=True)
class TransformerState:
    """Keys and values [rows, layers, 2, heads, tokens, size] of the source and of the reply so far."""

    memory: torch.Tensor
    mask: torch.Tensor
    past: torch.Tensor


class Attention(torch.nn.Module):  # type: ignore[misc]
    """Multi-head attention."""

    def __init__(self, dimensions: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = torch.nn.Linear(dimensions, dimensions)
        self.pair = torch.nn.Linear(dimensions, 2 * dimensions)  # keys and values
        self.output = torch.nn.Linear(dimensions, dimensions)

    def keys(self, states: torch.Tensor) -> torch.Tensor:
        """Return keys and values [rows, 2, heads, tokens, size]."""
        rows, tokens, _ = states.shape
        return self.pair(states).view(rows, tokens, 2, self.heads, -1).permute(0, 2, 3, 1, 4)

    def forward(
        self, states: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor | None = None, *, causal: bool = False
    ) -> torch.Tensor:
        """Return what the states find among the keys."""
        rows, tokens, _ = states.shape
        queries = self.query(states).view(rows, tokens, self.heads, -1).transpose(1, 2)
        pair = keys.to(queries.dtype)
        found = functional.scaled_dot_product_attention(
            queries, pair[:, 0], pair[:, 1], attn_mask=mask, is_causal=causal
        )
        attended: torch.Tensor = self.output(found.transpose(1, 2).flatten(2))
        return attended


class Layer(torch.nn.Module):  # type: ignore[misc]
    """Attention to itself, in the decoder also to the source, and a feed-forward network."""

    def __init__(self, dimensions: int, heads: int, dropout: float, *, cross: bool) -> None:
        super().__init__()
        self.own = Attention(dimensions, heads)
        self.cross = Attention(dimensions, heads) if cross else None
        self.wide = torch.nn.Linear(dimensions, 4 * dimensions)
        self.narrow = torch.nn.Linear(4 * dimensions, dimensions)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(dimensions) for _ in range(3 if cross else 2))
        self.dropout = torch.nn.Dropout(dropout)

    def feed(self, states: torch.Tensor) -> torch.Tensor:
        """Return the states after the feed-forward network."""
        inner = self.dropout(functional.relu(self.wide(self.norms[-1](states))))
        return states + self.dropout(self.narrow(inner))


class TransformerNetwork(ReplyNetwork):
    """Pre-norm Transformer."""

    def __init__(self, vocabulary: int, *, dimensions: int, layers: int, dropout: float, heads: int) -> None:
        super().__init__(vocabulary, dimensions, dropout)
        self.layers = layers
        self.encoder = torch.nn.ModuleList(Layer(dimensions, heads, dropout, cross=False) for _ in range(layers))
        self.decoder = torch.nn.ModuleList(Layer(dimensions, heads, dropout, cross=True) for _ in range(layers))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(dimensions) for _ in range(2))
        self.heads = heads

    def encode(self, source: Source) -> TransformerState:
        mask = source.mask[:, None, None]
        states = self._embed(source.tokens, 0)
        for layer in self.encoder:
            normed = layer.norms[0](states)
            states = states + layer.dropout(layer.own(normed, layer.own.keys(normed), mask))
            states = layer.feed(states)
        states = self.norms[0](states)
        memory = torch.stack([layer.cross.keys(states) for layer in self.decoder], dim=1)
        past = memory[:, :, :, :, :0]
        return TransformerState(memory, mask, past)

    def decode(self, encoding: TransformerState, inputs: torch.Tensor) -> torch.Tensor:
        return self._read(encoding, inputs)[1]

    def begin(self, encoding: TransformerState, seeds: Sequence[int]) -> TransformerState:  # noqa: ARG002
        return encoding

    def advance(self, state: TransformerState, tokens: torch.Tensor) -> tuple[TransformerState, torch.Tensor]:
        state, vectors = self._read(state, tokens[:, None])
        return state, vectors[:, 0]

    def _read(self, state: TransformerState, inputs: torch.Tensor) -> tuple[TransformerState, torch.Tensor]:
        """Read all tokens of new replies, or one more token of replies that were begun."""
        states, past = self._embed(inputs, state.past.shape[4]), []
        for i, layer in enumerate(self.decoder):
            normed = layer.norms[0](states)
            keys = layer.own.keys(normed)
            keys = torch.cat([state.past[:, i].to(keys.dtype), keys], dim=3)
            past.append(keys)
            states = states + layer.dropout(layer.own(normed, keys, causal=inputs.shape[1] > 1))
            normed = layer.norms[1](states)
            states = states + layer.dropout(layer.cross(normed, state.memory[:, i], state.mask))
            states = layer.feed(states)
        return TransformerState(state.memory, state.mask, torch.stack(past, 1)), self.norms[1](states)

    def _embed(self, tokens: torch.Tensor, start: int) -> torch.Tensor:
        embedded = self.embedding(tokens) * math.sqrt(self.dimensions)
        return self.dropout(embedded + sinusoids(start, tokens.shape[1], self.dimensions, tokens.device))


def sinusoids(start: int, count: int, dimensions: int, device: torch.device) -> torch.Tensor:
    """Return positions as sin and cos of wavelengths from 2π to 10,000 · 2π (Vaswani et al., section 3.5)."""
    places = torch.arange(start, start + count, device=device, dtype=torch.float32)[:, None]
    rates = torch.exp(torch.arange(0, dimensions, 2, device=device) * (-math.log(10_000.0) / dimensions))
    return torch.cat([torch.sin(places * rates), torch.cos(places * rates)], dim=1)
