# SPDX-License-Identifier: Apache-2.0
"""A trained scorer of contradictions: an encoder that reads an earlier turn and a reply together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.opening import reading_saved
from interloq.learn.calibrate import probabilities
from interloq.learn.start import files_of, load_trained_network, weights_of
from interloq.learn.store import check_counts, check_temperature, foreign, load_model
from interloq.models.batches import number_distinct
from interloq.models.cpu_linear import speed_up
from interloq.models.cross_encoder import TOKENS, CrossEncoder, row_outputs
from interloq.models.pretrained import Subwords
from interloq.models.processes import pick_device
from interloq.scorers.contradiction.job import KIND
from interloq.scorers.contradiction.turn_pairs import TurnPair
from interloq.signature import fingerprint

Floats = NDArray[np.float64]


class ContradictionScorer:
    """P(contradiction) of pairs, in float32: batching changes it by less than 1e-5."""

    def __init__(self, network: CrossEncoder, subwords: Subwords, facts: dict[str, Any], device: str = "auto") -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.subwords, self.facts, self.tokens = subwords, facts, TOKENS[self.device.type]

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """Load a scorer from its folder."""
        folder = Path(folder)
        facts, tensors = load_model(folder, kind=KIND)
        with reading_saved(folder):
            check_counts(facts, "longest")
            subwords = Subwords(files_of(folder, facts), longest=facts["longest"])
            if subwords.signature() != facts["subwords"]:
                raise foreign("the tokenizer", folder, "scorer")
            check_temperature(facts)
        network = load_trained_network(folder, facts, tensors, outputs=1)
        scorer = cls(network, subwords, facts, device)
        speed_up(scorer.network.encoder)
        return scorer

    def signature(self) -> str:
        parts = (weights_of(self.facts), str(self.facts["subwords"]), repr(self.facts["temperature"]))
        return f"{KIND}-{fingerprint(*parts)}"

    def chances(self, pairs: Sequence[TurnPair]) -> Floats:
        """Return P(the reply contradicts the earlier turn) of each pair; each distinct row is read once."""
        rows, which = number_distinct([pair.texts() for pair in pairs])
        texts, numbers = number_distinct([text for row in rows for text in row])
        read = self.subwords.texts(texts)
        tokens = [tuple(read[number] for number in row) for row in numbers.reshape(-1, 3)]
        logits = row_outputs(self, tokens, self.subwords, lambda batch: self.network(batch), 1)[:, 0]
        return probabilities(logits[which], self.facts["temperature"])
