# SPDX-License-Identifier: Apache-2.0
"""Rows of token numbers for a network: padded to one length, or packed end to end without padding.

The number of tokens of a packed batch is rounded up so that few shapes occur; the added tokens form rows of their
own, called spare.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

SHARE = 16  # token counts are rounded up by at most 1/16
SPARE = 64  # tokens of a spare row, and the smallest value of `longest`


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Padded rows: ids, mask and token types [rows, tokens]."""

    ids: torch.Tensor
    mask: torch.Tensor
    kinds: torch.Tensor

    def on(self, device: torch.device) -> TokenRows:
        """Return a copy of the rows on a device."""
        return TokenRows(*(part.to(device, non_blocking=True) for part in (self.ids, self.mask, self.kinds)))

    def __getitem__(self, which: slice) -> TokenRows:
        return TokenRows(self.ids[which], self.mask[which], self.kinds[which])

    def pack(self, start: int = 0) -> Packed:
        """Return the rows without padding, if they are on the CPU; positions count from `start`."""
        inside = self.mask.numpy().astype(bool)
        lengths = inside.sum(axis=1)
        total = round_up(int(lengths.sum()))
        spare = np.full(max(SPARE, total // SHARE) // SPARE, SPARE)
        ends = np.concatenate([[0], np.cumsum(np.concatenate([lengths, spare]))])
        columns = np.broadcast_to(np.arange(inside.shape[1]), inside.shape)
        ids, positions, kinds = (_flat(part[inside], total) for part in (self.ids.numpy(), columns, self.kinds.numpy()))
        ends = torch.from_numpy(np.minimum(ends, total).astype(np.int32))
        longest = 1 << (max(SPARE, int(lengths.max(initial=1))) - 1).bit_length()
        return Packed(ids, positions.long() + start, kinds, ends, len(lengths), longest)


@dataclass(frozen=True, slots=True)
class Packed:
    """ids, positions and token types [1, tokens]; row i is tokens `ends[i]` to `ends[i + 1]`; then come spare rows."""

    ids: torch.Tensor
    positions: torch.Tensor
    kinds: torch.Tensor
    ends: torch.Tensor
    rows: int
    longest: int  # no row has more tokens

    def on(self, device: torch.device) -> Packed:
        """Return a copy of the rows on a device."""
        names = ("ids", "positions", "kinds", "ends")
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=True) for name in names})

    @property
    def first(self) -> torch.Tensor:
        """Positions of the rows' first tokens."""
        return self.ends[: self.rows]

    @property
    def last(self) -> torch.Tensor:
        """Positions of the rows' last tokens."""
        return self.ends[1 : self.rows + 1] - 1


def round_up(count: int) -> int:
    """Return the count rounded up to one of about `SHARE` sizes per power of two, all multiples of `SPARE`."""
    step = max(SPARE, (1 << max(0, count - 1).bit_length()) // (2 * SHARE))
    return -(-count // step) * step


def _flat(values: NDArray[np.integer], total: int) -> torch.Tensor:
    filled = np.zeros((1, total), dtype=np.int32)
    filled[0, : len(values)] = values
    return torch.from_numpy(filled)
