# SPDX-License-Identifier: Apache-2.0
"""A cross-encoder with tokens for speakers: the side that is judged, the judge, and users that it knows.

    e(user) = e(judge) + own vector of the user

So every sample trains the judge's token, and a user without a vector is read as the judge in general: as anyone. Own
vectors start at random, as far apart as words, so that users differ from the first step on.
"""

from __future__ import annotations

from typing import Any

import torch

from interloq.models.cross_encoder import CrossEncoder
from interloq.models.token_rows import Packed, TokenRows
from interloq.scorers.interlocutor.reader import JUDGE


class SpeakerEncoder(CrossEncoder):
    """Token ids from `vocabulary` on belong to speakers, in the order of `reader`; the head has one output."""

    def __init__(self, base: CrossEncoder, users: int, *, added: int = 0) -> None:
        super().__init__(base.encoder, 1)
        self.head = base.head
        words = self.encoder.get_input_embeddings().weight.detach().float()
        centre, size = words.mean(dim=0), words.shape[1]
        self.sides = torch.nn.Parameter(centre + words.std() * torch.randn(2, size))
        own = torch.nn.Parameter(words.std() * torch.randn(users, size)) if users else None
        self.register_parameter("users", own)
        new = torch.nn.Parameter(torch.zeros(added, size)) if added else None
        self.register_parameter("added", new)

    def _inputs(self, rows: TokenRows | Packed) -> dict[str, Any]:
        given = super()._inputs(rows)
        ids = given.pop("input_ids")
        return {**given, "inputs_embeds": self._embed(ids)}

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        words = self.encoder.get_input_embeddings()(ids.clamp(max=self.vocabulary - 1))
        speakers = torch.nn.functional.embedding((ids - self.vocabulary).clamp(min=0), self._speakers())
        return torch.where((ids < self.vocabulary)[..., None], words, speakers.to(words.dtype))

    def _speakers(self) -> torch.Tensor:
        """Embeddings of all speakers' tokens."""
        own = [self.sides[JUDGE] + part for part in (self.users, self.added) if part is not None]
        return torch.cat([self.sides, *own])
