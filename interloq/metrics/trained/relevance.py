# SPDX-License-Identifier: Apache-2.0
"""Relevance and validity: does the reply fit the context, and is it well formed?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from interloq.errors import SpecError
from interloq.learn.ready import EXTRAS, language_of, scorer_folder
from interloq.metrics.metric import Array, replies
from interloq.metrics.network_metric import ANY_LANGUAGE, ContextReply, knows_language
from interloq.models.loaded import load_model
from interloq.needs import Needs
from interloq.records import Sample


@dataclass(frozen=True)
class Relevance(ContextReply, name="relevance"):
    """Relevance: P(the reply fits the context), from a cross-encoder that reads the context and the reply together.

    `model` is a folder written by `interloq train relevance`, or a scorer that comes with this package: `ready` (extra
    `interloq[ready]`), or `ready-large`, which needs the encoder all-mpnet-base-v2 from the Hugging Face hub; write
    `./ready` for a folder of that name. `turns` is the number of turns of the context that are read; None means as many
    as in training. An empty reply scores 0. A packaged scorer leaves replies that are clearly not in English unscored,
    unless `any_language` is set. See `interloq.scorers.relevance.job` for the network's training.
    """

    needs = Needs(
        context=True,
        fields={
            "model": "a trained scorer, or 'ready' with interloq[ready]; "
            "make one: interloq train relevance PAIRS -o FOLDER"
        },
        extra="ready|encoder",
    )
    reads_all_turns = True
    model: Annotated[str, "folder of the trained network, or one that comes with this package: `ready`, `ready-large`"]
    turns: Annotated[int | None, "last turns of the context that are read; `None`: as many as in training"] = None
    any_language: Annotated[bool, ANY_LANGUAGE] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.turns is not None and self.turns < 1:
            raise SpecError(f"relevance: turns must be at least 1, got {self.turns}")

    @property
    def language(self) -> str:
        """The only language that the network knows; empty if unknown."""
        return language_of(self.model)

    def unscorable(self, sample: Sample) -> str | None:
        reason = super().unscorable(sample)
        if reason is None and not self.any_language:
            reason = knows_language(self, sample)
        return reason

    def network(self) -> Any:
        extra = EXTRAS.get(self.model, "encoder")
        made = "interloq.scorers.relevance.model:RelevanceScorer.load"
        return load_model("metric 'relevance'", made, str(scorer_folder(self.model)), extra=extra)

    def network_scores(self, samples: Sequence[Sample]) -> Array:
        contexts = [[turn.text for turn in sample.context] for sample in samples]
        scores: Array = self.network().scores(contexts, replies(samples), turns=self.turns)
        return scores


@dataclass(frozen=True)
class Valid(ContextReply, name="valid"):
    """Valid: P(the reply is a well-formed utterance), regardless of the context; the VUP of Phy et al. (2020).

    `model` is a folder written by `interloq train valid`. The encoder reads the reply alone; it is trained to tell
    replies of logs from the same replies with words shuffled, dropped or repeated. An empty reply scores 0.
    """

    papers = ("phy-etal-2020-deconstruct",)
    needs = Needs(fields={"model": "a trained scorer; make one: interloq train valid PAIRS -o FOLDER"}, extra="encoder")

    def network(self) -> Any:
        return load_model("metric 'valid'", "interloq.scorers.relevance.model:ValidScorer.load", self.model)

    def network_scores(self, samples: Sequence[Sample]) -> Array:
        scores: Array = self.network().of(replies(samples))
        return scores

    def unscorable(self, sample: Sample) -> str | None:  # noqa: ARG002
        """Return None: every reply can be scored, even without a context."""
        return None
