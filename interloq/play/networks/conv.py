# SPDX-License-Identifier: Apache-2.0
"""A convolutional encoder-decoder (Gehring et al., 2017).

A block is a convolution, a gated linear unit v([A; B]) = A ⊗ σ(B), and a residual connection. The decoder's
convolutions see only the past, and each of its layers attends to the encoder's last layer z:

d_i = W_d h_i + b + g_i,  a_ij = softmax_j( d_i · z_j ),  c_i = Σ_j a_ij ( z_j + e_j )

with e_j and g_i the embeddings (token + position) of source and target. Sums of two terms are scaled by √½, and c by
m √(1/m) for m source tokens, to keep the variance. The paper normalises weights and trains with Nesterov's method; here
weights are not normalised, which Adam makes up for, and gradients of the encoder are not scaled by the number of
attention layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from interloq.play.networks.network import ReplyNetwork, Source

HALF = math.sqrt(0.5)


@dataclass(frozen=True, slots=True)
class ConvState:
    """Encoded source, and the last inputs of the decoder's convolutions [rows, layers, kernel − 1, dimensions]."""

    keys: torch.Tensor
    values: torch.Tensor
    mask: torch.Tensor
    scale: torch.Tensor
    past: torch.Tensor
    position: int


class ConvNetwork(ReplyNetwork):
    """Convolutions with gated linear units, and attention in every layer of the decoder."""

    def __init__(
        self, vocabulary: int, *, dimensions: int, layers: int, dropout: float, kernel: int, positions: int
    ) -> None:
        super().__init__(vocabulary, dimensions, dropout)
        self.layers, self.kernel, self.last = layers, kernel, positions - 1
        self.source_positions = torch.nn.Embedding(positions, dimensions)
        self.target_positions = torch.nn.Embedding(positions, dimensions)
        self.encoder = torch.nn.ModuleList(_convolution(dimensions, kernel, dropout) for _ in range(layers))
        self.decoder = torch.nn.ModuleList(_convolution(dimensions, kernel, dropout) for _ in range(layers))
        self.queries = torch.nn.ModuleList(torch.nn.Linear(dimensions, dimensions) for _ in range(layers))
        self.contexts = torch.nn.ModuleList(torch.nn.Linear(dimensions, dimensions) for _ in range(layers))
        self.output = torch.nn.Linear(dimensions, dimensions)
        for table in (self.source_positions, self.target_positions):
            torch.nn.init.normal_(table.weight, std=dimensions**-0.5)

    def encode(self, source: Source) -> ConvState:
        mask = source.mask
        places = torch.arange(mask.shape[1], device=mask.device).clamp(max=self.last)
        embedded = self.dropout(self.embedding(source.tokens) + self.source_positions(places))
        states = embedded
        for layer in self.encoder:
            states = states.masked_fill(~mask[..., None], 0.0)  # padding is as empty as the space before the text
            edge = self.kernel // 2
            states = self._block(layer, states, functional.pad(states, (0, 0, edge, edge)))
        lengths = mask.sum(1, dtype=torch.float32)[:, None, None]
        values = (states + embedded) * HALF
        past = states.new_zeros(len(mask), self.layers, self.kernel - 1, self.dimensions)
        return ConvState(states, values, mask, lengths.sqrt(), past, 0)  # m · √(1/m) = √m

    def decode(self, encoding: ConvState, inputs: torch.Tensor) -> torch.Tensor:
        return self._read(encoding, inputs)[1]

    def begin(self, encoding: ConvState, seeds: Sequence[int]) -> ConvState:  # noqa: ARG002
        return encoding

    def advance(self, state: ConvState, tokens: torch.Tensor) -> tuple[ConvState, torch.Tensor]:
        state, vectors = self._read(state, tokens[:, None])
        return state, vectors[:, 0]

    def _read(self, state: ConvState, inputs: torch.Tensor) -> tuple[ConvState, torch.Tensor]:
        places = torch.arange(state.position, state.position + inputs.shape[1], device=inputs.device)
        embedded = self.dropout(self.embedding(inputs) + self.target_positions(places.clamp(max=self.last)))
        states, past = embedded, []
        for i, layer in enumerate(self.decoder):
            seen = torch.cat([state.past[:, i].to(states.dtype), states], dim=1)
            past.append(seen[:, seen.shape[1] - self.kernel + 1 :])
            convolved = _gate(layer, seen)
            context = self._attend(state, (self.queries[i](convolved) + embedded) * HALF)
            states = ((convolved + self.contexts[i](context)) * HALF + states) * HALF
        after = ConvState(
            state.keys, state.values, state.mask, state.scale, torch.stack(past, 1), state.position + inputs.shape[1]
        )
        return after, self.dropout(self.output(states))

    def _attend(self, state: ConvState, queries: torch.Tensor) -> torch.Tensor:
        scores = queries @ state.keys.to(queries.dtype).transpose(1, 2)
        attention = scores.float().masked_fill(~state.mask[:, None], -torch.inf).softmax(-1)
        return attention.to(queries.dtype) @ state.values.to(queries.dtype) * state.scale.to(queries.dtype)

    def _block(self, layer: torch.nn.Module, states: torch.Tensor, padded: torch.Tensor) -> torch.Tensor:
        return (_gate(layer, padded) + states) * HALF


def _convolution(dimensions: int, kernel: int, dropout: float) -> torch.nn.Module:
    """Return a convolution whose output has the variance of its input (Gehring et al., section 3.5)."""
    convolution = torch.nn.Conv1d(dimensions, 2 * dimensions, kernel)
    torch.nn.init.normal_(convolution.weight, std=math.sqrt(4 * (1 - dropout) / (kernel * dimensions)))
    torch.nn.init.zeros_(convolution.bias)
    return torch.nn.Sequential(torch.nn.Dropout(dropout), convolution)


def _gate(layer: torch.nn.Module, states: torch.Tensor) -> torch.Tensor:
    convolved: torch.Tensor = layer(states.transpose(1, 2))
    return functional.glu(convolved, dim=1).transpose(1, 2)
