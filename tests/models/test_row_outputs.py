"""Outputs of a network for many rows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

from interloq.models.row_outputs import row_outputs
from interloq.models.subwords import Subwords
from interloq.models.token_rows import TokenRows
from tests.made_relevance import tiny_encoder


def test_outputs_are_in_the_order_of_the_rows_and_batches_fit(tmp_path: Path) -> None:
    subwords, seen = Subwords(tiny_encoder(tmp_path)), list[int]()

    def network(rows: TokenRows) -> torch.Tensor:
        seen.append(rows.ids.numel())
        return rows.mask.sum(dim=1, keepdim=True).float() * torch.tensor([1.0, 2.0])

    reader = SimpleNamespace(device=torch.device("cpu"), tokens=40)
    read = [(np.full(n, 7), np.full(2, 8)) for n in (9, 1, 5, 20, 3, 1)]
    found = row_outputs(reader, read, subwords, network, 2)
    assert found[:, 0].tolist() == [14, 6, 10, 25, 8, 6]  # with three special tokens
    assert np.array_equal(found[:, 1], 2 * found[:, 0])
    assert len(seen) > 1
    assert max(seen) <= 60
    assert row_outputs(reader, [], subwords, network, 2).shape == (0, 2)
