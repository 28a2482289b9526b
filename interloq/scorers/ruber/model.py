# SPDX-License-Identifier: Apache-2.0
"""RUBER's unreferenced scorer (Tao et al., 2018): how well a reply fits an utterance, without any reference.

q = BiGRU_Q(utterance), r = BiGRU_R(reply), m = qᵀ M r, score = σ( MLP([q; m; r]) ), MLP 256–512–128 with tanh

The formula is from the paper. Separate GRUs, each with its own embeddings, and the sizes are from the public RUBER code
(liming-vie), which differs from ours: it starts from word2vec embeddings and M = 0, truncates utterances to 20 and
replies to 30 words, uses dropout .5 on the last layer, and lowers the learning rate with the loss. Ours learns subword
embeddings from scratch, starts with a random M (from 0 it learns later), truncates to 128 pieces, and uses no dropout
and a constant learning rate. The public code defines an L2 penalty but never adds it to the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.opening import reading_saved
from interloq.learn.gru import Pieces, SentenceGru
from interloq.learn.store import check_counts, foreign, load_model, restore_network
from interloq.models.batches import make_batches, number_distinct
from interloq.models.processes import pick_device
from interloq.signature import file_fingerprint

KIND, PIECES = "ruber_unreferenced", "pieces.model"
LAYERS = (256, 512, 128)
BATCH, TOKENS = 1024, 2**14  # texts or pairs, and tokens, per batch
DIGITS = 9


class VectorPairNetwork(torch.nn.Module):  # type: ignore[misc]
    """Scores pairs of vectors: a perceptron reads both and their quadratic feature."""

    def add_perceptron(self, dimensions: int) -> None:
        """Add the weights that score vectors of this size."""
        self.matrix = torch.nn.Parameter(torch.empty(dimensions, dimensions))
        torch.nn.init.xavier_uniform_(self.matrix)
        sizes = (2 * dimensions + 1, *LAYERS)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(before, after) for before, after in pairwise(sizes))
        self.output = torch.nn.Linear(LAYERS[-1], 1)

    def forward(self, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """Return one logit per pair."""
        values = torch.cat([query, quadratic(query, self.matrix, reply), reply], dim=1)
        for layer in self.layers:
            values = torch.tanh(layer(values))
        return self.output(values).squeeze(1).to(self.output.weight.dtype)


class RuberNetwork(VectorPairNetwork):
    """`query` and `reply` turn texts into vectors; `forward` scores pairs of vectors."""

    def __init__(self, *, vocabulary: int, embedding: int = 128, hidden: int = 128) -> None:
        super().__init__()
        self.query = SentenceGru(vocabulary=vocabulary, embedding=embedding, hidden=hidden)
        self.reply = SentenceGru(vocabulary=vocabulary, embedding=embedding, hidden=hidden)
        self.add_perceptron(2 * hidden)

    def forward(self, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """Return the scores [n] of n utterance vectors and n reply vectors."""
        return torch.sigmoid(super().forward(query, reply))


def quadratic(query: torch.Tensor, matrix: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
    """Return qᵀ M r of each row, as one column."""
    return ((query @ matrix) * reply).sum(dim=1, keepdim=True)


@dataclass(frozen=True, eq=False)
class RuberScorer:
    """A trained scorer. It computes in float64 and rounds, so that scores do not depend on batches or devices."""

    network: RuberNetwork
    pieces: Pieces
    device: torch.device
    facts: dict[str, Any]

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> RuberScorer:
        """Load a scorer from its folder."""
        facts, tensors = load_model(folder, kind=KIND)
        model = Path(folder) / PIECES
        if not model.exists() or file_fingerprint(model) != facts.get("pieces"):
            raise foreign(PIECES, folder, "scorer")
        with reading_saved(folder):
            check_counts(facts["config"], "longest", "embedding", "hidden")
            pieces = Pieces(model, longest=facts["config"]["longest"])
            sizes = {name: facts["config"][name] for name in ("embedding", "hidden")}
        network = restore_network(lambda: RuberNetwork(vocabulary=pieces.size, **sizes), tensors, folder)
        picked = pick_device(device)
        return cls(network.double().eval().to(picked), pieces, picked, facts)

    def signature(self) -> str:
        return f"{KIND}-{self.facts['weights']}-{self.pieces.signature()}"

    def scores(self, utterances: Sequence[str], replies: Sequence[str]) -> NDArray[np.float64]:
        """Return the score from 0 to 1 of each pair; each distinct text is read once."""
        with torch.inference_mode():
            queries, rows = self._vectors(self.network.query, utterances)
            answers, columns = self._vectors(self.network.reply, replies)
            scores = np.zeros(len(replies))
            for start in range(0, len(replies), BATCH):
                batch = slice(start, start + BATCH)
                scores[batch] = self.network(queries[rows[batch]], answers[columns[batch]]).cpu().numpy()
        return scores.round(DIGITS)

    def _vectors(self, gru: torch.nn.Module, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the vectors of the distinct texts, and the index of each text's vector."""
        distinct, which = number_distinct(texts)
        tokens = self.pieces.texts(distinct)
        rows = torch.zeros(len(distinct), 2 * self.facts["config"]["hidden"], dtype=torch.float64, device=self.device)
        for chosen in make_batches(tokens.lengths, size=BATCH, tokens=TOKENS, rng=None):
            joined = torch.from_numpy(np.concatenate([tokens[i] for i in chosen])).long().to(self.device)
            vectors = gru(joined, torch.from_numpy(tokens.lengths[chosen]))
            rows[torch.from_numpy(chosen).to(self.device)] = vectors
        return rows, torch.from_numpy(which).to(self.device)
