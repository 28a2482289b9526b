# SPDX-License-Identifier: Apache-2.0
"""Outputs of a network for many rows of tokens, read in batches of similar length that fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.models.batches import bucketed
from interloq.models.cross_encoder import rows
from interloq.models.memory import Reader, read_in_parts
from interloq.models.subwords import Subwords
from interloq.models.token_rows import TokenRows

Floats = NDArray[np.float64]
Network = Callable[[TokenRows], torch.Tensor]
BATCH = 256  # rows per batch
TOKENS = {"cpu": 1024, "cuda": 2**13}  # tokens per batch: what fits in a processor's cache, and what keeps a GPU busy


@torch.inference_mode()  # type: ignore[untyped-decorator]
def row_outputs(
    reader: Reader, read: Sequence[tuple[NDArray[Any], ...]], subwords: Subwords, network: Network, width: int
) -> Floats:
    """Outputs [rows, width] of a network on the reader's device; a row is the tokens of its texts."""
    lengths = np.array([sum(map(len, row)) for row in read], dtype=np.int64)
    found = np.zeros((len(read), width))
    for chosen in bucketed(lengths, size=BATCH, tokens=reader.tokens, rng=None):
        batch = rows([read[i] for i in chosen], subwords)
        found[chosen] = _outputs(reader, batch, network).double().cpu().numpy()
    return found


def _outputs(reader: Reader, batch: TokenRows, network: Network) -> torch.Tensor:
    parts = read_in_parts(
        reader, lambda part: network(batch[part]), len(batch.ids), lambda: f"one row of {batch.ids.shape[1]} tokens"
    )
    outputs: torch.Tensor = torch.cat(parts)
    return outputs
