# SPDX-License-Identifier: Apache-2.0
"""What all networks that write replies share: token ids, batches, the loss, and writing token by token.

A network reads a source (the turns of a context, separated by SEPARATOR) and predicts a target (the reply, then END).
A kind of network defines four methods:

- `encode(source)` returns an encoding, a dataclass of tensors whose first dimension is the row;
- `decode(encoding, inputs)` returns the states from which each token is predicted, all tokens at once, for training;
- `begin(encoding, seeds)` returns the state before the first token;
- `advance(state, tokens)` reads one token per row and returns the next state and the vector that predicts what follows.

Input and output embeddings are the same matrix. `decode` and repeated `advance` compute the same numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from interloq.data.text.token_texts import Texts
from interloq.learn.devices import map_tensors
from interloq.learn.gru import packing
from interloq.models.batches import lengths_of, make_batches, random_bits

UNKNOWN, SEPARATOR, END = 0, 1, 2  # ids of the SentencePiece models that are trained here
PAIRS, TOKENS = 256, 2**14  # per batch, for likelihoods
Rows = Sequence[Sequence[int]]


class Prompt(NamedTuple):
    """The tokens of a context, and the seed of its reply."""

    tokens: Sequence[int]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Padded rows of tokens, and a mask that is true for tokens."""

    tokens: torch.Tensor
    mask: torch.Tensor

    def on(self, device: torch.device) -> Source:
        """Return the rows on a device."""
        return Source(*move(device, self.tokens, self.mask))


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """The order in which recurrent layers read texts: see `interloq.learn.gru.packing`.

    It is made on the CPU beforehand, because every question about lengths would make the CPU wait for the GPU.
    """

    places: torch.Tensor  # of the tokens in padded or joined rows
    sizes: torch.Tensor  # texts with a t-th token; on the CPU
    inverse: torch.Tensor  # the place of each text in this order

    @classmethod
    def of(cls, lengths: NDArray[np.int64], starts: NDArray[np.int64]) -> PackedTexts:
        """Return the order for texts of these lengths, whose tokens begin at `starts`."""
        places, sizes, order = packing(torch.from_numpy(lengths))
        ends = np.cumsum(lengths)
        shift = np.repeat(starts - ends + lengths, lengths)  # from joined texts to where they are
        return cls(places + torch.from_numpy(shift)[places], sizes, torch.argsort(order))

    def on(self, device: torch.device) -> PackedTexts:
        """Return the order with its indices on a device."""
        places, inverse = move(device, self.places, self.inverse)
        return PackedTexts(places, self.sizes, inverse)

    def read(self, layers: torch.nn.Module, tokens: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """Return the layers' outputs in this order, and their last states in the order of the texts."""
        states, last = run_recurrent(layers, PackedSequence(tokens[self.places], self.sizes))
        if isinstance(last, tuple):
            return states.data, tuple(part[:, self.inverse] for part in last)
        return states.data, last[:, self.inverse]


def move(device: torch.device, *tensors: torch.Tensor) -> list[torch.Tensor]:
    """Return tensors on a device, without waiting for it."""
    return [tensor.to(device, non_blocking=True) for tensor in tensors]


@dataclass(frozen=True, slots=True)
class Targets:
    """Padded replies: `inputs` begin with END and `tokens` are what follows; `places` are those that are not padding.

    `noise` is standard normal, the same for an example in any batch; `progress` is the number of epochs so far.
    """

    inputs: torch.Tensor
    tokens: torch.Tensor
    places: torch.Tensor
    owners: torch.Tensor  # the row of each place
    packed: PackedTexts
    noise: torch.Tensor | None
    progress: float

    def on(self, device: torch.device) -> Targets:
        """Return the replies on a device."""
        moved: Targets = map_tensors(self, lambda tensor: tensor.to(device, non_blocking=True))
        return replace(moved, packed=self.packed.on(device))


@dataclass(frozen=True, slots=True)
class Losses:
    """Negative log-likelihood of each row's reply; for a network with a latent variable, also the KL divergence."""

    tokens: torch.Tensor
    kl: torch.Tensor | None = None


class ReplyNetwork(torch.nn.Module, ABC):  # type: ignore[misc]
    """Base of all kinds."""

    end = END
    noise = 0  # random numbers per reply: dimensions of a latent variable

    def __init__(self, vocabulary: int, dimensions: int, dropout: float) -> None:
        super().__init__()
        self.vocabulary, self.dimensions = vocabulary, dimensions
        self.embedding = torch.nn.Embedding(vocabulary, dimensions)
        torch.nn.init.normal_(self.embedding.weight, std=dimensions**-0.5)
        self.dropout = torch.nn.Dropout(dropout)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.embedding.weight.device
        return device

    @staticmethod
    def arrange(rows: Texts) -> Any:
        """Return the rows of a batch as tensors on the CPU."""
        lengths = rows.lengths
        width = int(lengths.max(initial=1))
        tokens = rows.pad(np.arange(len(lengths)), width, 0)
        return Source(torch.from_numpy(tokens), torch.from_numpy(np.arange(width) < lengths[:, None]))

    @abstractmethod
    def encode(self, source: Any) -> Any:
        """Return the encoding of sources."""

    @abstractmethod
    def decode(self, encoding: Any, inputs: torch.Tensor) -> torch.Tensor:
        """Return states [rows, tokens, dimensions] after each input token."""

    @abstractmethod
    def begin(self, encoding: Any, seeds: Sequence[int]) -> Any:
        """Return the state before the first token; what is drawn for a row derives from its seed."""

    @abstractmethod
    def advance(self, state: Any, tokens: torch.Tensor) -> tuple[Any, torch.Tensor]:
        """Return the state after one more token per row, and vectors [rows, dimensions]."""

    def losses(self, source: Any, targets: Targets) -> Losses:
        """Return the losses of a batch that is on the network's device."""
        return Losses(self.token_losses(self.decode(self.encode(source), targets.inputs), targets))

    def objective(self, losses: Losses, targets: Targets) -> torch.Tensor:  # noqa: ARG002
        """Return what training minimises, one number per row."""
        return losses.tokens

    def token_losses(self, states: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return the negative log-likelihood of each row's tokens; padding is never multiplied by the vocabulary."""
        predicted = self.logits(states.flatten(0, 1)[targets.places])
        expected = targets.tokens.flatten()[targets.places].long()
        losses = functional.cross_entropy(predicted.float(), expected, reduction="none")
        sums = torch.zeros(len(targets.tokens), device=losses.device)
        return sums.index_add(0, targets.owners, losses)

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Return the logits of all tokens."""
        return functional.linear(states, self.embedding.weight)

    # ---- writing ----------------------------------------------------------------------------------------------------

    def start(self, rows: Sequence[Prompt]) -> tuple[Any, torch.Tensor]:
        """Return the state after reading contexts, and the logits of the replies' first tokens."""
        source = self.arrange(Texts.of([row.tokens for row in rows])).on(self.device)
        state = self.begin(self.encode(source), [row.seed for row in rows])
        state, logits = self.step(state, torch.full((len(rows),), END, device=self.device))
        logits[:, END] = -torch.inf  # no reply of a log is empty
        return state, logits

    def step(self, state: Any, tokens: torch.Tensor) -> tuple[Any, torch.Tensor]:
        """Return the state after one more token per row, and the logits of the next tokens.

        UNKNOWN and SEPARATOR are never part of a reply.
        """
        state, vectors = self.advance(state, tokens)
        logits = self.logits(vectors).float()
        logits[:, [UNKNOWN, SEPARATOR]] = -torch.inf
        return state, logits

    def select(self, state: Any, rows: torch.Tensor) -> Any:
        """Return the state of some rows, in this order; a row may be repeated."""
        return map_tensors(state, lambda tensor: tensor.index_select(0, rows.to(tensor.device)))

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def log_probabilities(self, sources: Rows, targets: Rows) -> NDArray[np.float64]:
        """Return log p(target | source) of each pair, including the end.

        With a latent variable, it is a lower bound, estimated from one draw that depends on the pair only.
        """
        sums = np.zeros(len(sources))
        lengths = lengths_of(sources) + lengths_of(targets)
        for batch in make_batches(lengths, size=PAIRS, tokens=TOKENS, rng=None):
            pairs = [([*sources[i]], [*targets[i], END]) for i in batch]
            source = self.arrange(Texts.of([pair[0] for pair in pairs]))
            numbers = np.array([crc32(repr(pair).encode()) for pair in pairs])
            replies = arrange_targets(Texts.of([pair[1] for pair in pairs]), draw_noise(numbers, self.noise, 0))
            losses = self.losses(source.on(self.device), replies.on(self.device))
            total = losses.tokens if losses.kl is None else losses.tokens + losses.kl
            sums[batch] = -total.double().cpu().numpy()
        return sums


def run_recurrent(layers: torch.nn.Module, inputs: Any, state: Any = None) -> tuple[Any, Any]:
    """Run LSTM or GRU layers in float32: mixed precision would use float16, in which small gradients vanish.

    On a GPU, cuDNN multiplies with TF32 tensor cores.
    """
    with torch.autocast(next(layers.parameters()).device.type, enabled=False):
        outputs: tuple[Any, Any] = layers(inputs, state)
    return outputs


def arrange_targets(replies: Texts, noise: NDArray[np.float32], progress: float = 0.0) -> Targets:
    """Return padded replies; each must end with END already, unless it was cut."""
    lengths = replies.lengths
    width = int(lengths.max(initial=1))
    tokens = replies.pad(np.arange(len(lengths)), width, END)
    inputs = np.concatenate([np.full((len(tokens), 1), END, dtype=np.int32), tokens[:, :-1]], axis=1)
    inside = np.arange(width) < lengths[:, None]
    places = np.flatnonzero(inside)
    return Targets(
        inputs=torch.from_numpy(inputs),
        tokens=torch.from_numpy(tokens),
        places=torch.from_numpy(places),
        owners=torch.from_numpy(places // width),
        packed=PackedTexts.of(lengths, np.arange(len(lengths)) * width),
        noise=torch.from_numpy(noise) if noise.size else None,
        progress=progress,
    )


def draw_noise(numbers: NDArray[np.int64], size: int, seed: int) -> NDArray[np.float32]:
    """Return standard normal numbers [rows, size], which depend only on the seed and the row's number."""
    counters = numbers[:, None] * size + np.arange(size)
    first, second = ((random_bits(counters, seed, draw) >> np.uint64(11)) * 2.0**-53 for draw in (1, 2))
    normal: NDArray[np.float64] = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
    return normal.astype(np.float32)
