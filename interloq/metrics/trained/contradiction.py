# SPDX-License-Identifier: Apache-2.0
"""Contradiction: does the reply contradict an earlier turn of the dialogue?

score = 1 − max over earlier turns t of P(the reply contradicts t)

A cross-encoder reads each earlier turn with the reply and is told whether the same person said both. For the speaker's
own turns it looks for two statements that cannot both be true; for the other speaker's turns, for a claim about them
that is the opposite of what they said. Two people who say opposite things about themselves do not contradict each
other. See `interloq.scorers.contradiction.job` for the network's training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from interloq.learn.ready import EXTRAS, language_of, scorer_folder
from interloq.metrics.metric import Array, TurnClash
from interloq.metrics.network_metric import ANY_LANGUAGE, ContextReply, knows_language
from interloq.models.loaded import load_model
from interloq.needs import Needs
from interloq.records import Sample
from interloq.scorers.contradiction.turn_pairs import earlier_turns

NO_OWN_TURN = "no earlier turn of the same speaker"


@dataclass(frozen=True)
class Contradiction(ContextReply, name="contradiction"):
    """1 − P(the reply contradicts an earlier turn), for the turn that it contradicts most.

    `model` is `ready`, the scorer that comes with this package (extra `interloq[ready]`), or a folder written by
    `recipes/contradiction.py`. `speaker` is `any` for all earlier turns, or `same` for the reply's speaker alone, whose
    turns are found by the speakers in the context or, without them, because two people take turns. An empty reply
    scores 0.
    """

    needs = Needs(
        context=True, fields={"model": "'ready' with interloq[ready], or a trained scorer"}, extra="ready|encoder"
    )
    reads_all_turns = True
    model: Annotated[str, "folder of the trained network, or `ready`, which comes with this package"]
    speaker: Annotated[
        Literal["any", "same"], "whose earlier turns are read: everyone's, or only the reply's own speaker's"
    ] = "any"
    any_language: Annotated[bool, ANY_LANGUAGE] = False

    @property
    def language(self) -> str:
        """The only language that the network knows; empty if unknown."""
        return language_of(self.model)

    def network(self) -> Any:
        extra, folder = EXTRAS.get(self.model, "encoder"), str(scorer_folder(self.model, "contradiction"))
        made = "interloq.scorers.contradiction.model:ContradictionScorer.load"
        return load_model("metric 'contradiction'", made, folder, extra=extra)

    def unscorable(self, sample: Sample) -> str | None:
        """Return why a sample is unscored: no turn to read, or a reply in a language that the network does not know."""
        reason = super().unscorable(sample)
        if reason is None and not self.any_language:
            reason = knows_language(self, sample, trainable=False)
        if reason is None and not earlier_turns(sample, same_only=self.speaker == "same"):
            return NO_OWN_TURN
        return reason

    def network_scores(self, samples: Sequence[Sample]) -> Array:
        pairs, ends = [], [0]
        for sample in samples:
            pairs += [pair for _, pair in earlier_turns(sample, same_only=self.speaker == "same")]
            ends.append(len(pairs))
        if not samples:
            return np.zeros(0)
        chances = self.network().chances(pairs)
        return np.asarray(1 - np.maximum.reduceat(chances, ends[:-1]))

    def clash(self, sample: Sample) -> TurnClash | None:
        """Return the turn that the reply contradicts most; None for a sample without a score, or an empty reply."""
        if self.unscorable(sample) or not sample.response.strip():
            return None
        turns = earlier_turns(sample, same_only=self.speaker == "same")
        chances = self.network().chances([pair for _, pair in turns])
        most = int(chances.argmax())
        place, pair = turns[most]
        return TurnClash(place, pair.earlier, pair.same, float(chances[most]))
