# SPDX-License-Identifier: Apache-2.0
"""What the interlocutor would do: answer the reply, or rate it (Tsuta et al., 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from interloq.metrics.metric import Array, TurnScore, needs_reply
from interloq.metrics.network_metric import ContextReply
from interloq.models.loaded import load_model
from interloq.needs import Needs
from interloq.records import Sample, Turn
from interloq.registry import name_of
from interloq.scorers.interlocutor.continuity_labels import judges_turns


@dataclass(frozen=True)
class Dcp(ContextReply, name="dcp"):
    """Dialogue continuity prediction (Tsuta et al., 2024): P(the interlocutor answers the reply).

    `model` is a folder written by `interloq train dcp`. The judge is the person who would speak next: `user`, or by
    default the one named in the sample (see `samples.judge_of`). A judge unknown to the model is treated as anyone. An
    empty reply scores 0. See `interloq.scorers.interlocutor.task` for the training.
    """

    papers = ("tsuta-etal-2024-rethinking",)
    needs = Needs(
        context=True,
        fields={
            "model": "a trained model; make one: interloq corpus continuity DIALOGUES -o SAMPLES, "
            "interloq train dcp SAMPLES -o FOLDER"
        },
        extra="encoder",
    )
    places = ("model", "profiles")
    kind: ClassVar[str] = "dcp"
    reads_all_turns = True
    user: Annotated[str | None, "user who judges; empty: anyone; `None`: the judge of each sample"] = None
    profiles: Annotated[str | None, "file of profiles; `None`: those saved with the model"] = None

    def network(self) -> Any:
        made = "interloq.scorers.interlocutor.model:InterlocutorModel.load"
        model = load_model(f"metric {name_of(self)!r}", made, self.model, kind=self.kind, profiles=self.profiles)
        model.check_user(self.user or "")
        return model

    def network_scores(self, samples: Sequence[Sample]) -> Array:
        scores: Array = self.network().scores(samples, self.user)
        return scores

    def course(self, sample: Sample) -> list[TurnScore]:
        """Return the scores of the replies to the same judge in the sample's context, and of its own reply."""
        spoken = [*zip(sample.context, judges_turns(sample), strict=True), (Turn(sample.response), False)]
        places = [i for i, (_, is_judge) in enumerate(spoken) if i and not is_judge]
        replies = [replace(sample, context=sample.context[:i], response=spoken[i][0].text) for i in places]
        scores = self.value(self.stats(replies)).tolist()
        course = []
        for i, reply, score in zip(places, replies, scores, strict=True):
            course.append(TurnScore(i, reply.response, None if math.isnan(score) else score))
        return course

    def unknown_judges(self, samples: Sequence[Sample]) -> int:
        """Return the number of samples whose judge is treated as anyone, although the model knows users."""
        if self.user is not None:
            return 0
        return int(self.network().unknown_judges(samples))


@dataclass(frozen=True)
class InterlocutorScore(Dcp, name="interlocutor_score"):
    """Interlocutor score (Tsuta et al., 2024): the rating that the interlocutor would give the reply.

    `model` is a folder written by `interloq train interlocutor`. Scores are on the scale of the ratings in training.
    The judge is found as for `dcp`. An empty reply is unscored, because nobody has rated one.
    """

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
        """Return why a sample is unscored: no turn of its context has text, or the reply has none."""
        return super().unscorable(sample) or needs_reply(sample)
