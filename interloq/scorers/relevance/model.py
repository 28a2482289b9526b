# SPDX-License-Identifier: Apache-2.0
"""Trained scorers: an encoder that reads a reply with its context, or alone.

`relevance` is P(the reply fits the context), `valid` is P(the reply is well formed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.learn.cross_encoder_scorer import CrossEncoderScorer
from interloq.learn.store import check_counts
from interloq.models.batches import number_distinct
from interloq.models.cross_encoder import Network, row_outputs

Floats = NDArray[np.float64]


class RelevanceScorer(CrossEncoderScorer):
    """Scores replies after contexts (lists of turns)."""

    kind = "relevance"

    @staticmethod
    def check_facts(facts: Mapping[str, Any]) -> int:
        check_counts(facts["config"], "longest", "turns", "reply")
        check_counts(facts["config"], "context", least=0)  # `valid` reads the reply alone
        return int(facts["config"]["longest"])

    def scores(self, contexts: Sequence[Sequence[str]], replies: Sequence[str], *, turns: int | None = None) -> Floats:
        """Return P of each reply after its context; each distinct pair is read once. Turns without text are skipped."""
        logits = self._outputs(contexts, replies, turns, lambda batch: self.network(batch), 1)[:, 0]
        return np.asarray(np.exp(-np.logaddexp(0.0, -logits / self.facts["temperature"])))

    def states(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Floats:
        """Return the state that the head reads, for each reply after its context [replies, dimensions].

        Each distinct pair is read once, as in `scores`.
        """
        return self._outputs(contexts, replies, None, self.network.states, self.dimensions)

    @property
    def dimensions(self) -> int:
        """Size of a state."""
        return int(self.network.head.in_features)

    def _outputs(
        self, contexts: Sequence[Sequence[str]], replies: Sequence[str], turns: int | None, network: Network, width: int
    ) -> Floats:
        """Return the outputs [replies, width] of the network, or of its encoder, for each reply after its context."""
        pairs = self._last_turns(contexts, replies, turns)
        distinct, which = number_distinct(pairs)
        outputs: Floats = row_outputs(self, self._read(distinct), self.subwords, network, width, padded=self.padded)
        return outputs[which]

    def token_rows(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[tuple[NDArray[Any], ...]]:
        """Return the tokens of each context and of its reply, as the network reads them."""
        return self._read(self._last_turns(contexts, replies, None))

    def _last_turns(
        self, contexts: Sequence[Sequence[str]], replies: Sequence[str], turns: int | None
    ) -> list[tuple[tuple[str, ...], str]]:
        """Return the last turns with text of each context, and its reply."""
        last = turns or self.facts["config"]["turns"]
        pairs = []
        for context, reply in zip(contexts, replies, strict=True):
            with_text = [turn for turn in context if turn.strip()]
            pairs.append((tuple(with_text[-last:]), reply))
        return pairs

    def _read(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> list[tuple[NDArray[Any], ...]]:
        """Return the tokens of each context, with separators between turns, and of each reply."""
        place: dict[str, int] = {}
        for turns, reply in pairs:
            for text in (*turns, reply):
                place.setdefault(text, len(place))
        texts, config = self.subwords.texts(list(place)), self.facts["config"]
        between = np.array([self.subwords.end], dtype=np.int32)
        read: list[tuple[NDArray[Any], ...]] = []
        for turns, reply in pairs:
            parts = []
            for turn in turns:
                parts += [texts[place[turn]], between]
            read.append((np.concatenate(parts)[:-1][-config["context"] :], texts[place[reply]][: config["reply"]]))
        return read


class ValidScorer(RelevanceScorer):
    """Scores replies without a context."""

    kind = "valid"

    def of(self, replies: Sequence[str]) -> Floats:
        """Return P of each reply; each distinct reply is read once."""
        return self.scores([()] * len(replies), replies)

    def _read(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> list[tuple[NDArray[Any], ...]]:
        texts = self.subwords.texts([reply for _, reply in pairs])
        return [(texts[i][: self.facts["config"]["reply"]],) for i in range(len(pairs))]
