# SPDX-License-Identifier: Apache-2.0
"""VHRED, the latent variable hierarchical recurrent encoder-decoder (Serban et al., 2017).

e_m = BiGRU(turn m)                                 utterance encoder
c_n = GRU(e_1 … e_{n−1})                            context encoder
P(z | w_<n) = N( μ(c_n), diag σ²(c_n) )             prior, two tanh layers
Q(z | w_≤n) = N( μ′([c_n; e_n]), diag σ′²([c_n; e_n]) )   approximate posterior, which also sees the reply
w_nt ~ GRU([w_n,t−1; c_n; z]),  h_0 = tanh( V [c_n; z] )     decoder

log P(w_n | w_<n) ≥ E_Q[ log P(w_n | z, w_<n) ] − KL( Q ‖ P )

KL( N(μ′, σ′²) ‖ N(μ, σ²) ) = ½ Σ_i ( log σ_i²/σ′_i² + (σ′_i² + (μ′_i − μ_i)²) / σ_i² − 1 )

Variances are softplus. Against a latent variable that the decoder ignores, the weight of the KL term rises from 0 to 1
during the first epochs, and the decoder does not see a share of the reply's tokens (Bowman et al., 2016). What is
reported, and what decides on early stopping, is the bound itself, with weight 1 and all tokens seen. When a reply is
written, z is drawn from the prior. Each reply of a conversation is an example, with the last turns before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from interloq.data.text.token_texts import Texts
from interloq.play.networks.network import (
    END,
    SEPARATOR,
    Losses,
    PackedTexts,
    ReplyNetwork,
    Targets,
    draw_noise,
    move,
    run_recurrent,
)

FLOOR = 1e-6  # of a variance


@dataclass(frozen=True, slots=True)
class TurnSource:
    """All turns of a batch end to end, each with END, the order of reading them, and each row's turns, padded."""

    tokens: torch.Tensor
    packed: PackedTexts
    turns: torch.Tensor  # numbers of turns [rows, turns]
    counts: torch.Tensor  # turns of each row

    def on(self, device: torch.device) -> TurnSource:
        """Return the turns on a device."""
        tokens, turns, counts = move(device, self.tokens, self.turns, self.counts)
        return TurnSource(tokens, self.packed.on(device), turns, counts)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Normal distributions with diagonal covariance."""

    mean: torch.Tensor
    variance: torch.Tensor

    def sample(self, noise: torch.Tensor | None) -> torch.Tensor:
        """Return the value that standard normal noise stands for; without noise, the mean."""
        if noise is None:
            return self.mean
        return self.mean + self.variance.sqrt() * noise


@dataclass(frozen=True, slots=True)
class VhredState:
    """Context vector, latent variable, and the decoder's state."""

    context: torch.Tensor
    latent: torch.Tensor
    hidden: torch.Tensor


def kl_divergence(posterior: Gaussian, prior: Gaussian) -> torch.Tensor:
    """Return KL(posterior ‖ prior) of each row, in nats."""
    distance = (posterior.variance + (posterior.mean - prior.mean) ** 2) / prior.variance
    return (prior.variance.log() - posterior.variance.log() + distance - 1).sum(-1) / 2


class GaussianLayers(torch.nn.Module):  # type: ignore[misc]
    """Two tanh layers, then mean and variance."""

    def __init__(self, inputs: int, dimensions: int, latent: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(inputs, dimensions),
            torch.nn.Tanh(),
            torch.nn.Linear(dimensions, dimensions),
            torch.nn.Tanh(),
        )
        self.mean, self.variance = torch.nn.Linear(dimensions, latent), torch.nn.Linear(dimensions, latent)

    def forward(self, inputs: torch.Tensor) -> Gaussian:
        """Return the distribution; in float32, which the divergence needs."""
        states = self.layers(inputs)
        return Gaussian(self.mean(states).float(), functional.softplus(self.variance(states).float()) + FLOOR)


class VhredNetwork(ReplyNetwork):
    """Hierarchical encoder, latent variable, decoder."""

    def __init__(
        self,
        vocabulary: int,
        *,
        dimensions: int,
        layers: int,
        dropout: float,
        latent: int,
        annealing: float,
        word_dropout: float,
    ) -> None:
        super().__init__(vocabulary, dimensions, dropout)
        self.noise, self.annealing, self.word_dropout = latent, annealing, word_dropout
        self.utterances = torch.nn.GRU(dimensions, dimensions // 2, num_layers=layers, bidirectional=True)
        self.contexts = torch.nn.GRU(dimensions, dimensions, batch_first=True)
        self.prior = GaussianLayers(dimensions, dimensions, latent)
        self.posterior = GaussianLayers(2 * dimensions, dimensions, latent)
        self.opening = torch.nn.Linear(dimensions + latent, dimensions)
        self.decoder = torch.nn.GRU(2 * dimensions + latent, dimensions, batch_first=True)
        self.output = torch.nn.Linear(dimensions, dimensions)

    @staticmethod
    def arrange(rows: Texts) -> TurnSource:
        """Return the turns of each row, which SEPARATOR divides."""
        separators = rows.tokens == SEPARATOR
        counts = np.add.reduceat(np.append(separators, False).astype(np.int64), rows.ends[:-1]) + 1
        counts[rows.lengths == 0] = 1
        # END takes the place of separators and is added after the last turn of each row
        tokens = np.insert(np.where(separators, END, rows.tokens), rows.ends[1:], END).astype(np.int64)
        ends = np.flatnonzero(tokens == END)
        lengths = np.diff(ends, prepend=-1)
        columns = np.arange(int(counts.max(initial=1)))
        turns = np.minimum((np.cumsum(counts) - counts)[:, None] + columns, len(lengths) - 1)
        packed = PackedTexts.of(lengths, np.cumsum(lengths) - lengths)
        return TurnSource(torch.from_numpy(tokens), packed, torch.from_numpy(turns), torch.from_numpy(counts))

    def encode(self, source: TurnSource) -> torch.Tensor:
        """Return the context vectors."""
        vectors = self._encode_turns(source.tokens, source.packed)
        states, _ = run_recurrent(self.contexts, self.dropout(vectors[source.turns]))
        rows = torch.arange(len(source.counts), device=states.device)
        last: torch.Tensor = states[rows, source.counts - 1]
        return last

    def begin(self, encoding: torch.Tensor, seeds: Sequence[int]) -> VhredState:
        """Return the state with the latent variable drawn from the prior."""
        numbers = np.array([seed % 2**63 for seed in seeds], dtype=np.int64)
        noise = torch.from_numpy(draw_noise(numbers, self.noise, 0)).to(self.device)
        return self._open(encoding, self.prior(encoding).sample(noise))

    def decode(self, encoding: VhredState, inputs: torch.Tensor) -> torch.Tensor:
        return self._read(encoding, inputs)[1]

    def advance(self, state: VhredState, tokens: torch.Tensor) -> tuple[VhredState, torch.Tensor]:
        state, vectors = self._read(state, tokens[:, None])
        return state, vectors[:, 0]

    def losses(self, source: TurnSource, targets: Targets) -> Losses:
        context = self.encode(source)
        reply = self._encode_turns(targets.tokens.flatten(), targets.packed)
        prior, posterior = self.prior(context), self.posterior(torch.cat([context, reply], dim=1))
        state = self._open(context, posterior.sample(targets.noise))
        states = self.decode(state, self._drop_words(targets.inputs))
        return Losses(self.token_losses(states, targets), kl_divergence(posterior, prior))

    def objective(self, losses: Losses, targets: Targets) -> torch.Tensor:
        weight = 1.0
        if self.training and self.annealing:
            weight = min(1.0, targets.progress / self.annealing)
        return torch.add(losses.tokens, losses.kl, alpha=weight)

    def _encode_turns(self, tokens: torch.Tensor, packed: PackedTexts) -> torch.Tensor:
        """Return a vector per turn: the last states of both directions."""
        _, last = packed.read(self.utterances, self.dropout(self.embedding(tokens)))
        return torch.cat([last[-2], last[-1]], dim=1)

    def _open(self, context: torch.Tensor, latent: torch.Tensor) -> VhredState:
        hidden = torch.tanh(self.opening(torch.cat([context, latent], dim=1)).float())
        return VhredState(context, latent, hidden)

    def _read(self, state: VhredState, inputs: torch.Tensor) -> tuple[VhredState, torch.Tensor]:
        every = torch.cat([state.context, state.latent], dim=1)[:, None].expand(-1, inputs.shape[1], -1)
        seen = torch.cat([self.dropout(self.embedding(inputs)), every], dim=-1)
        states, hidden = run_recurrent(self.decoder, seen, state.hidden[None])
        return replace(state, hidden=hidden[0]), self.dropout(torch.tanh(self.output(states)))

    def _drop_words(self, inputs: torch.Tensor) -> torch.Tensor:
        """Replace a share of the inputs by UNKNOWN, which is 0, in training."""
        if not (self.training and self.word_dropout):
            return inputs
        seen = torch.rand(inputs.shape, device=inputs.device) >= self.word_dropout
        seen[:, 0] = True  # the start
        return inputs * seen
