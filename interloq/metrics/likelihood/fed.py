# SPDX-License-Identifier: Apache-2.0
"""FED and FULL: what would people say next?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from interloq.data.follow_ups import FollowUps, read_follow_ups
from interloq.errors import InputError
from interloq.metrics.metric import Array, needs_reply, score_rows
from interloq.metrics.network_metric import NetworkMetric
from interloq.models.loaded import load_model
from interloq.needs import LANGUAGE_MODEL, Needs
from interloq.records import Sample
from interloq.registry import name_of
from interloq.signature import fingerprint

Mode = Literal["conditional", "whole"]
Sets = Literal["both", "negative_only", "positive_only"]
Over = Literal["mean", "sum"]
Prior = Literal["none", "empty", "context"]
LanguageModel = Annotated[
    str, "causal or encoder-decoder language model: a folder, a package, or `hub:org/name@revision`"
]
Layout = Annotated[  # see models/lm/network.py
    Literal["eos", "lines", "chat"], "turns each end with an end token, are lines, or follow the model's chat template"
]
Longest = Annotated[int, "most tokens read; longer contexts lose their oldest turns"]
SCORER = "interloq.models.lm.dialogue_scorer:DialogueScorer"


class DialogueLikelihood(NetworkMetric):
    """Base of metrics that run a language model on dialogues; their fields `model` and `longest` describe it."""

    needs = Needs(fields={"model": LANGUAGE_MODEL}, extra="smollm2|encoder")

    def unscorable(self, sample: Sample) -> str | None:
        return needs_reply(sample)

    def network(self) -> Any:
        metric: Any = self
        return load_model(f"metric {name_of(self)!r}", SCORER, metric.model, longest=metric.longest)


@dataclass(frozen=True)
class Fed(DialogueLikelihood, name="fed"):
    """FED (Mehri and Eskenazi, 2020): what would people say next? Praise speaks for the reply, complaints against it.

    conditional   s(f) = log p(f | dialogue) / tokens of f
    whole         s(f) = log p(dialogue, f) / tokens of both

    score = mean over positive f of s(f) − mean over negative f of s(f)

    The dialogue is the context with the reply. `over='sum'` sums follow-ups instead (Sato et al., 2022, eq. 1). `sets`
    can exclude one side; a dimension without positive follow-ups has 0 in their place. Higher is better in every mode.
    `prior` subtracts a baseline from each s(f): with `empty`, its value without any dialogue, which is a constant for
    each dimension; with `context`, its value after the dialogue without the reply, so that the reply is judged and not
    its dialogue.

    `whole` is what the authors' code does: the mean is over the whole text, so the dialogue's own likelihood and length
    are part of the score if the two sides differ in number. `conditional` uses the follow-ups alone.
    """

    papers = ("mehri-eskenazi-2020-unsupervised",)
    places = ("model", "follow_ups")
    model: LanguageModel
    dimension: Annotated[str, "quality to judge, such as `fluent` or `depth`; `_` may be used for a space"] = "overall"
    mode: Annotated[Mode, "likelihood of the follow-up, or of the whole text (the authors' code)"] = "conditional"
    follow_ups: Annotated[str, "`en`, `ja`, `zh`, or your own JSON file"] = "en"
    sets: Annotated[Sets, "follow-ups to use; negative ones alone were best in Sato et al. (2022)"] = "both"
    over: Annotated[Over, "mean over follow-ups, or their sum as in Sato et al. (2022)"] = "mean"
    prior: Annotated[Prior, "subtract the follow-up's likelihood without any dialogue, or before the reply"] = "none"
    layout: Layout = "eos"
    longest: Longest = 1024

    def built_with(self) -> str:
        positive, negative = self._sides(read_follow_ups(self.follow_ups))
        return f"{super().built_with()},follow-ups-{fingerprint(*positive, '', *negative)}"

    def stats(self, samples: Sequence[Sample]) -> Array:
        file = read_follow_ups(self.follow_ups)
        positive, negative = self._sides(file)
        asked, every = [*positive, *negative], file.texts()
        values = self._values([turns(sample) for sample in samples], asked, every)
        if self.prior == "empty":
            values = values - self._values([()], asked, [])
        elif self.prior == "context":
            values = values - self._values([context(sample) for sample in samples], asked, every)
        split = len(positive)
        return score_rows(self._combine(values[:, :split]) - self._combine(values[:, split:]))

    def _values(self, dialogues: Sequence[tuple[str, ...]], asked: Sequence[str], every: Sequence[str]) -> Array:
        """Return s(f) [dialogues, follow-ups]."""
        whole = self.mode == "whole"
        scored = self.network().follow_up_scores(dialogues, asked, every=every, layout=self.layout, whole=whole)
        if not whole:
            return np.asarray(scored.sums / scored.counts)
        tokens = scored.context_counts[:, None] + scored.counts
        return np.asarray((scored.context_sums[:, None] + scored.sums) / tokens)

    def _combine(self, values: Array) -> Array:
        if not values.shape[1]:
            return np.zeros(len(values))
        if self.over == "mean":
            return np.asarray(values.mean(axis=1))
        return np.asarray(values.sum(axis=1))

    def _sides(self, file: FollowUps) -> tuple[tuple[str, ...], tuple[str, ...]]:
        dimension = file.dimension(self.dimension)
        positive = dimension.positive if self.sets != "negative_only" else ()
        negative = dimension.negative if self.sets != "positive_only" else ()
        if not positive and not negative:
            side = self.sets.removesuffix("_only")
            raise InputError(f"{dimension.name!r} has no {side} follow-ups", hint="use sets='both'", where=file.where)
        return positive, negative


def turns(sample: Sample) -> tuple[str, ...]:
    """Return the dialogue with the reply as its last turn; turns without text are skipped."""
    return (*context(sample), sample.response)


def context(sample: Sample) -> tuple[str, ...]:
    """Return the turns of the context that have text."""
    return tuple(turn.text for turn in sample.context if turn.text.strip())


@dataclass(frozen=True)
class Full(DialogueLikelihood, name="full"):
    """FULL (De Bruyn et al., 2022): how unlikely is it that people complain after this dialogue?

    likelihood   score = − Σ over five follow-ups f of log p(f | dialogue)
    perplexity   score = mean over five follow-ups of exp( − log p(f | dialogue) / tokens of f )

    The dialogue is the context with the reply. All five follow-ups are complaints, so higher is better. `likelihood` is
    the paper's sum of log-likelihoods, negated; `perplexity` is what the authors' code averages, with two differences:
    there a missing comma joins two follow-ups into one, and the end token is also predicted.
    """

    papers = ("de-bruyn-etal-2022-open",)
    places = ("model", "follow_ups")
    model: LanguageModel
    mode: Annotated[
        Literal["likelihood", "perplexity"],
        "mean likelihood of follow-ups, or their perplexity as averaged by the authors' code",
    ] = "likelihood"
    follow_ups: Annotated[str, '`en`, `ja`, `zh`, or your own JSON file with `{"full": [...]}`'] = "en"
    layout: Layout = "eos"
    longest: Longest = 1024

    def built_with(self) -> str:
        return f"{super().built_with()},follow-ups-{fingerprint(*self._follow_ups())}"

    def stats(self, samples: Sequence[Sample]) -> Array:
        dialogues = list(map(turns, samples))
        scored = self.network().follow_up_scores(dialogues, self._follow_ups(), layout=self.layout)
        if self.mode == "likelihood":
            return score_rows(-scored.sums.sum(axis=1))
        return score_rows(np.exp(-scored.sums / scored.counts).mean(axis=1))

    def _follow_ups(self) -> tuple[str, ...]:
        file = read_follow_ups(self.follow_ups)
        if not file.full:
            raise InputError("the file has no 'full'", hint='write "full": ["…", …]', where=file.where)
        return file.full
