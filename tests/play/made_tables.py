"""A network for tests of decoding: its logits depend on the row and the last two tokens, and come from a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch

State = tuple[torch.Tensor, torch.Tensor]  # the row's number, and its last two tokens


@dataclass
class TableNetwork:
    """The last token ends a reply; tokens from `live` on, except the end, are impossible."""

    words: int = 5
    live: int = 100
    seed: int = 0
    spread: float = 1.5

    def __post_init__(self) -> None:
        self.end = self.words - 1
        self.largest_batch = 0
        generator = torch.Generator().manual_seed(self.seed)
        self.table = self.spread * torch.randn((7, self.words, self.words, self.words), generator=generator)
        self.table[..., self.live : -1] = -torch.inf

    def start(self, rows: Sequence[int]) -> tuple[State, torch.Tensor]:
        state = torch.tensor(list(rows)), torch.zeros((len(rows), 2), dtype=torch.long)
        return state, self._logits(state)

    def step(self, state: State, tokens: torch.Tensor) -> tuple[State, torch.Tensor]:
        state = state[0], torch.stack([state[1][:, 1], tokens], dim=1)
        self.largest_batch = max(self.largest_batch, len(tokens))
        return state, self._logits(state)

    def select(self, state: State, rows: torch.Tensor) -> State:
        return state[0][rows], state[1][rows]

    def _logits(self, state: State) -> torch.Tensor:
        return self.table[state[0] % 7, state[1][:, 0], state[1][:, 1]]

    def log_probability(self, row: int, tokens: Sequence[int]) -> float:
        """Return log p of these tokens, computed token by token."""
        state, logits = self.start([row])
        total = 0.0
        for token in tokens:
            total += float(logits.log_softmax(-1)[0, token])
            state, logits = self.step(state, torch.tensor([token]))
        return total

    def all_replies(self, row: int, max_tokens: int) -> dict[tuple[int, ...], tuple[float, int]]:
        """Return every reply that could be written, with its log-probability and its number of tokens, end included."""
        words = [word for word in range(self.words - 1) if word < self.live]
        found = {}
        for length in range(max_tokens + 1):
            for reply in product(words, repeat=length):
                ended = [*reply, self.end] if length < max_tokens else reply
                found[reply] = self.log_probability(row, ended), len(ended)
        return found
