# SPDX-License-Identifier: Apache-2.0
"""FULL (De Bruyn et al., 2022): how unlikely is it that people complain after this dialogue?

likelihood   score = − Σ over five follow-ups f of log p(f | dialogue)
perplexity   score = mean over five follow-ups of exp( − log p(f | dialogue) / tokens of f )

The dialogue is the context with the reply. All five follow-ups are complaints, so higher is better. `likelihood` is the
paper's sum of log-likelihoods, negated; `perplexity` is what the authors' code averages, with two differences: there a
missing comma joins two follow-ups into one, and the end token is also predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from interloq.data.follow_ups import read_follow_ups
from interloq.errors import InputError
from interloq.metrics.likelihood.fed import LanguageModel, Layout, Longest, dialogue_scorer, turns
from interloq.metrics.metric import Array, Metric, needs_reply, score_rows
from interloq.needs import LANGUAGE_MODEL, Needs
from interloq.records import Sample
from interloq.signature import NETWORK, fingerprint


@dataclass(frozen=True)
class Full(Metric, name="full"):
    """How unlikely complaints are as the next turn."""

    papers = ("de-bruyn-etal-2022-open",)
    needs = Needs(fields={"model": LANGUAGE_MODEL}, extra="encoder")
    places = ("model", "follow_ups")
    libraries = NETWORK
    model: LanguageModel
    mode: Annotated[
        Literal["likelihood", "perplexity"],
        "mean likelihood of follow-ups, or their perplexity as averaged by the authors' code",
    ] = "likelihood"
    follow_ups: Annotated[str, '`en`, `ja`, `zh`, or your own JSON file with `{"full": [...]}`'] = "en"
    layout: Layout = "eos"
    longest: Longest = 1024

    def built_with(self) -> str:
        return f"{dialogue_scorer(self).signature()},follow-ups-{fingerprint(*self._follow_ups())}"

    def unscorable(self, sample: Sample) -> str | None:
        return needs_reply(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        dialogues = list(map(turns, samples))
        scored = dialogue_scorer(self).follow_up_scores(dialogues, self._follow_ups(), layout=self.layout)
        if self.mode == "likelihood":
            return score_rows(-scored.sums.sum(axis=1))
        return score_rows(np.exp(-scored.sums / scored.counts).mean(axis=1))

    def _follow_ups(self) -> tuple[str, ...]:
        file = read_follow_ups(self.follow_ups)
        if not file.full:
            raise InputError("the file has no 'full'", hint='write "full": ["…", …]', where=file.where)
        return file.full
