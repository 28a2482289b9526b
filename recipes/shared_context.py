"""Rows in which several replies share one context, for language models: the context is read once.

    [start] context [end] reply [end] reply [end] …

Each reply has the positions that it would have if it alone followed the context, and sees only the context and itself.
Tokens of a language model see only earlier tokens, so each reply gets the same state as in a row of its own. With four
replies, this costs less than half as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.models.cross_encoder import CrossEncoder
from interloq.models.pretrained import Subwords
from interloq.scorers.relevance.job import RelevanceBatch, RelevanceJob, RelevanceTask, _contexts

CONTEXT, PADDING = 0, -1  # owners of tokens that belong to no reply
ROUNDED = 16  # row lengths are rounded up to a multiple of this
Tokens = NDArray[Any]


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Ids, positions and owners [rows, tokens], and where replies end: the row and position of each."""

    ids: torch.Tensor
    positions: torch.Tensor
    owners: torch.Tensor
    rows: torch.Tensor
    ends: torch.Tensor


def share_contexts(contexts: Sequence[Tokens], replies: Sequence[Sequence[Tokens]], subwords: Subwords) -> SharedRows:
    """Join each context with its replies."""
    lengths = [len(context) + 2 + sum(len(reply) + 1 for reply in own) for context, own in zip(contexts, replies)]  # noqa: B905
    shape = (len(contexts), -(-max(lengths) // ROUNDED) * ROUNDED)
    ids = np.full(shape, subwords.pad, dtype=np.int64)
    positions = np.zeros(shape, dtype=np.int64)
    owners = np.full(shape, PADDING, dtype=np.int64)
    rows: list[int] = []
    ends: list[int] = []
    for row, (context, own) in enumerate(zip(contexts, replies, strict=True)):
        start = len(context) + 2
        ids[row, 0] = subwords.start
        ids[row, 1 : start - 1] = context
        ids[row, start - 1] = subwords.end
        positions[row, :start] = np.arange(start)
        owners[row, :start] = CONTEXT
        place = start
        for number, reply in enumerate(own, start=1):
            inside = slice(place, place + len(reply) + 1)
            ids[row, place : inside.stop - 1] = reply
            ids[row, inside.stop - 1] = subwords.end
            positions[row, inside] = start + np.arange(len(reply) + 1)
            owners[row, inside] = number
            place = inside.stop
            rows.append(row)
            ends.append(place - 1)
    return SharedRows(*map(torch.from_numpy, (ids, positions, owners, np.array(rows), np.array(ends))))


def shared_states(network: CrossEncoder, rows: SharedRows) -> torch.Tensor:
    """Return the state of each reply [replies, dimensions]."""
    device = network.head.weight.device
    ids, positions, owners = (part.to(device, non_blocking=True) for part in (rows.ids, rows.positions, rows.owners))
    places = torch.arange(ids.shape[1], device=device)
    sees = (owners[:, None, :] == CONTEXT) | (owners[:, None, :] == owners[:, :, None])
    mask = (sees & (places[None, :] <= places[:, None]))[:, None]
    states = network.encoder(input_ids=ids, position_ids=positions, attention_mask=mask, use_cache=False)
    found: torch.Tensor = states.last_hidden_state[rows.rows.to(device), rows.ends.to(device)]
    return found


# ---- training of relevance -------------------------------------------------------------------------------------------


class SharedContextTask(RelevanceTask):
    """Learns as `RelevanceTask` does, from a share of the batches; true and wrong replies share their context."""

    share = 1.0

    def batches(self, part: Any, epoch: int) -> Sequence[Any]:
        batches = super().batches(part, epoch)
        if part == "train":
            return batches[: round(self.share * len(batches))]
        return batches

    def prepare(self, part: Any, examples: Any) -> RelevanceBatch:
        own = self.exchanges.range(part)
        epoch, places = np.divmod(examples, own.stop - own.start)
        drawn = self._drawn[part, int(epoch[0])]
        replies = self._replies(own.start + places, drawn.texts[places], drawn.spoiled[places], examples)
        contexts = _contexts(self.exchanges, own.start + places, self.subwords.end, self.settings.context)
        grouped = [[replies[i * self.choices + k] for k in range(self.choices)] for i in range(len(examples))]
        rows = share_contexts([contexts[i] for i in range(len(examples))], grouped, self.subwords)
        return RelevanceBatch(rows, len(examples))  # type: ignore[arg-type]

    def logits(self, prepared: RelevanceBatch) -> torch.Tensor:
        logits = self.network.head(shared_states(self.network, prepared.rows))  # type: ignore[arg-type]
        return logits.float().view(prepared.exchanges, -1)


class SharedContextJob(RelevanceJob):
    """Trains a language model; its rows are never packed."""

    def task(self, run: Any) -> RelevanceTask:
        made = super().task(run)
        made.network.packing.enable = NotPacked  # type: ignore[method-assign, assignment]
        return SharedContextTask(made.network, made.exchanges, made.settings, made.subwords)


class NotPacked:
    """Stands in for the packing of a network."""

    def __init__(self, device: torch.device) -> None:
        pass

    def __enter__(self) -> bool:
        return False

    def __exit__(self, *_: object) -> None:
        pass
