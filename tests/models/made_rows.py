"""Rows of random tokens."""

from __future__ import annotations

import torch

from interloq.models.token_rows import TokenRows

PAD = 1  # of RoBERTa, which counts positions by it
LENGTHS = (5, 1, 30, 12)


def made_rows(lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> TokenRows:
    made = torch.Generator().manual_seed(seed)
    inside = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).int()
    ids = torch.randint(2, 90, inside.shape, generator=made, dtype=torch.int32)
    return TokenRows(torch.where(inside.bool(), ids, PAD), inside, (ids % 2) * inside)
