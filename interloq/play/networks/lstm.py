# SPDX-License-Identifier: Apache-2.0
"""An LSTM encoder-decoder with attention (Vinyals and Le, 2015; attention as in Luong et al., 2015).

h_1 … h_S = BiLSTM(source)                        encoder; its last states start the decoder
d_t = LSTM(reply_{t−1}, d_{t−1})
a_t = softmax_s( d_tᵀ W h_s ),  c_t = Σ_s a_ts h_s      global attention, "general" score
o_t = tanh( V [c_t; d_t] ),  p(reply_t) = softmax( E o_t )

This is OpenNMT's network without input feeding: o_{t−1} is not an input of step t, so a GPU computes all steps of a
reply in one call. Vinyals and Le had no attention and read only the context's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from interloq.data.text.token_texts import Texts
from interloq.play.networks.network import PackedTexts, ReplyNetwork, Source, run_recurrent


@dataclass(frozen=True, slots=True)
class LstmSource:
    """Padded rows, and the order in which an LSTM reads them."""

    rows: Source
    packed: PackedTexts

    def on(self, device: torch.device) -> LstmSource:
        """Return the rows on a device."""
        return LstmSource(self.rows.on(device), self.packed.on(device))


@dataclass(frozen=True, slots=True)
class LstmState:
    """Encoded source with its keys and mask, and the decoder's states [rows, layers, dimensions]."""

    memory: torch.Tensor
    keys: torch.Tensor
    mask: torch.Tensor
    hidden: torch.Tensor
    cell: torch.Tensor


class LstmNetwork(ReplyNetwork):
    """Bidirectional encoder, decoder with global attention."""

    def __init__(self, vocabulary: int, *, dimensions: int, layers: int, dropout: float) -> None:
        super().__init__(vocabulary, dimensions, dropout)
        self.layers = layers
        between = dropout if layers > 1 else 0.0
        shared = {"num_layers": layers, "dropout": between, "batch_first": True}
        self.encoder = torch.nn.LSTM(dimensions, dimensions // 2, bidirectional=True, **shared)
        self.decoder = torch.nn.LSTM(dimensions, dimensions, **shared)
        self.score = torch.nn.Linear(dimensions, dimensions, bias=False)
        self.output = torch.nn.Linear(2 * dimensions, dimensions)

    @staticmethod
    def arrange(rows: Texts) -> LstmSource:
        """Return padded rows, and the order in which they are read."""
        padded: Source = ReplyNetwork.arrange(rows)
        lengths = np.maximum(rows.lengths, 1)  # an empty context is one unknown token
        return LstmSource(padded, PackedTexts.of(lengths, np.arange(len(lengths)) * padded.tokens.shape[1]))

    def encode(self, source: LstmSource) -> LstmState:
        tokens, mask = source.rows.tokens, source.rows.mask
        embedded = self.dropout(self.embedding(tokens)).flatten(0, 1)
        states, last = source.packed.read(self.encoder, embedded)
        memory = states.new_zeros(tokens.numel(), self.dimensions).index_copy(0, source.packed.places, states)
        memory = memory.view(*tokens.shape, self.dimensions)
        hidden, cell = (self._join_directions(state) for state in last)
        return LstmState(memory, self.score(memory), mask, hidden, cell)

    def decode(self, encoding: LstmState, inputs: torch.Tensor) -> torch.Tensor:
        return self._read(encoding, inputs)[1]

    def begin(self, encoding: LstmState, seeds: Sequence[int]) -> LstmState:  # noqa: ARG002
        return encoding

    def advance(self, state: LstmState, tokens: torch.Tensor) -> tuple[LstmState, torch.Tensor]:
        state, vectors = self._read(state, tokens[:, None])
        return state, vectors[:, 0]

    def _join_directions(self, states: torch.Tensor) -> torch.Tensor:
        """Return the last states of both directions, side by side, as [rows, layers, dimensions]."""
        joined = states.view(self.layers, 2, states.shape[1], -1).permute(2, 0, 1, 3)
        return joined.flatten(2)

    def _read(self, state: LstmState, inputs: torch.Tensor) -> tuple[LstmState, torch.Tensor]:
        before = tuple(part.transpose(0, 1).contiguous() for part in (state.hidden, state.cell))
        states, after = run_recurrent(self.decoder, self.dropout(self.embedding(inputs)), before)
        scores = states @ state.keys.transpose(1, 2).to(states.dtype)
        attention = scores.masked_fill(~state.mask[:, None], -torch.inf).softmax(-1)
        context = attention @ state.memory
        vectors = torch.tanh(self.output(torch.cat([context, states], dim=-1)))
        hidden, cell = (part.transpose(0, 1) for part in after)
        return LstmState(state.memory, state.keys, state.mask, hidden, cell), self.dropout(vectors)
