"""A transformer that reads several texts together, [CLS] A [SEP] B [SEP] …, and gives logits from the first state.

The first text has token type 0, the others 1, as BERT learned them; encoders without types get none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from interloq.models.pretrained import load_network
from interloq.models.subwords import Subwords

Ints = NDArray[np.int64]
DEVIATION = 0.02  # of the head's first weights, as BERT's own heads start


class CrossEncoder(torch.nn.Module):  # type: ignore[misc]
    """`encoder` is any of transformers' encoders. Logits are [rows, outputs]."""

    def __init__(self, encoder: torch.nn.Module, outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = torch.nn.Linear(encoder.config.hidden_size, outputs)
        torch.nn.init.normal_(self.head.weight, std=DEVIATION)
        torch.nn.init.zeros_(self.head.bias)
        self.kinds: int = getattr(encoder.config, "type_vocab_size", 0) or 0

    @classmethod
    def pretrained(cls, folder: Path, outputs: int) -> CrossEncoder:
        return cls(load_network(folder, add_pooling_layer=False), outputs)

    @classmethod
    def empty(cls, folder: Path, outputs: int) -> CrossEncoder:
        """The shape that `folder/config.json` names, with weights still to be filled in."""
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return cls(transformers.AutoModel.from_config(config, add_pooling_layer=False), outputs)

    def forward(self, rows: Rows) -> torch.Tensor:
        device = self.head.weight.device
        ids, mask, kinds = (part.to(device, non_blocking=True) for part in (rows.ids, rows.mask, rows.kinds))
        options: dict[str, Any] = {"token_type_ids": kinds} if self.kinds > 1 else {}
        states = self.encoder(input_ids=ids, attention_mask=mask, **options).last_hidden_state
        logits: torch.Tensor = self.head(states[:, 0])
        return logits


class Rows:
    """Padded rows of token numbers: ids, mask and token types [rows, tokens], on the CPU."""

    def __init__(self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor) -> None:
        self.ids, self.mask, self.kinds = ids, mask, kinds


def rows(tokens: Sequence[Sequence[NDArray[Any]]], subwords: Subwords) -> Rows:
    """Each row's texts, given as their tokens, put together and padded to the longest row."""
    lengths = [1 + sum(len(text) + 1 for text in texts) for texts in tokens]
    shape = (len(tokens), max(lengths, default=1))
    ids, mask, kinds = np.full(shape, subwords.pad), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, texts in enumerate(tokens):
        ids[row, 0], at = subwords.start, 1
        for place, text in enumerate(texts):
            end = at + len(text)
            ids[row, at:end], ids[row, end] = text, subwords.end
            kinds[row, at : end + 1] = min(place, 1)
            at = end + 1
        mask[row, :at] = 1
    return Rows(torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(kinds))
