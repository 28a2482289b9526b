# SPDX-License-Identifier: Apache-2.0
"""Interlocutor score (Tsuta et al., 2024): the rating that the interlocutor would give the reply.

`model` is a folder written by `interloq train interlocutor`. Scores are on the scale of the ratings in training. The
judge is found as for `dcp`. An empty reply is unscored: nobody rated one.
"""

from __future__ import annotations

from dataclasses import dataclass

from interloq.metrics.metric import needs_reply
from interloq.metrics.trained.dcp import Dcp
from interloq.needs import Needs
from interloq.records import Sample


@dataclass(frozen=True)
class InterlocutorScore(Dcp, name="interlocutor_score"):
    """The rating that the interlocutor would give the reply, by a network trained on rated replies."""

    papers = ("tsuta-etal-2024-rethinking",)
    needs = Needs(
        context=True,
        fields={
            "model": "a trained model; make one: interloq corpus ratings RATED -o SAMPLES, "
            "interloq train interlocutor SAMPLES -o FOLDER"
        },
        extra="encoder",
    )
    kind = "interlocutor"
    is_probability = False

    def unscorable(self, sample: Sample) -> str | None:
        """Reason why a sample is unscored: no turn of its context has text, or the reply has none."""
        return super().unscorable(sample) or needs_reply(sample)
