# SPDX-License-Identifier: Apache-2.0
"""A trained scorer of contradictions: an encoder that reads an earlier turn and a reply together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.learn.calibrate import probabilities
from interloq.learn.cross_encoder_scorer import CrossEncoderScorer
from interloq.learn.store import check_counts
from interloq.models.batches import number_distinct
from interloq.models.cross_encoder import row_outputs
from interloq.scorers.contradiction.job import KIND
from interloq.scorers.contradiction.turn_pairs import TurnPair

Floats = NDArray[np.float64]


class ContradictionScorer(CrossEncoderScorer):
    """P(contradiction) of pairs."""

    kind = KIND

    @staticmethod
    def check_facts(facts: Mapping[str, Any]) -> int:
        check_counts(facts, "longest")
        return int(facts["longest"])

    def chances(self, pairs: Sequence[TurnPair]) -> Floats:
        """Return P(the reply contradicts the earlier turn) of each pair; each distinct row is read once."""
        rows, which = number_distinct([pair.texts() for pair in pairs])
        texts, numbers = number_distinct([text for row in rows for text in row])
        read = self.subwords.texts(texts)
        tokens = [tuple(read[number] for number in row) for row in numbers.reshape(-1, 3)]
        logits = row_outputs(self, tokens, self.subwords, lambda batch: self.network(batch), 1)[:, 0]
        return probabilities(logits[which], self.facts["temperature"])
