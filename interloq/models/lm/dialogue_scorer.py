# SPDX-License-Identifier: Apache-2.0
"""Log-likelihoods of replies and follow-ups under a language model, shared by several metrics.

Metrics (one per dimension) call one after another with the same dialogues and different follow-ups. The first call
computes only its own follow-ups; a second call with the same dialogues computes all follow-ups of its file at once, and
later calls use those. So one dimension costs only what it needs, and eighteen cost little more than two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.models.lm.causal import FollowUpScores, LanguageModel
from interloq.models.lm.network import Layout, Turns
from interloq.models.lm.seq2seq import Seq2SeqModel
from interloq.models.pretrained import has_encoder, model_folder

FEW = 4  # sets of dialogues whose scores are cached
MARGIN = 64  # tokens of the model kept for the answer, as in causal.py


def language_model(name: str, **options: Any) -> Any:
    """Return a causal or an encoder-decoder model, depending on the folder."""
    if has_encoder(model_folder(name)):
        return Seq2SeqModel(name, **options)
    return LanguageModel(name, **options)


class DialogueScorer:
    """Scores dialogues with the model that `language_model` loads; it takes the same name and options."""

    def __init__(self, name: str, *, longest: int = 1024, **options: Any) -> None:
        self.model = language_model(name, longest=longest, **options)
        self._cache: dict[tuple[Any, ...], tuple[list[str], FollowUpScores]] = {}

    def signature(self) -> str:
        return str(self.model.signature())

    def reply_scores(
        self, dialogues: Sequence[Turns], replies: Sequence[str], *, layout: Layout = "eos"
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the summed log-likelihoods of replies after their dialogues, and their numbers of tokens."""
        sums, counts = self.model.reply_scores(dialogues, replies, layout=layout)
        return sums, counts

    def follow_up_scores(
        self,
        dialogues: Sequence[Turns],
        follow_ups: Sequence[str],
        *,
        every: Sequence[str] = (),
        layout: Layout = "eos",
        whole: bool = False,
    ) -> FollowUpScores:
        """Score follow-ups as the model does; `every` lists the follow-ups that later calls may need."""
        key = (layout, whole, tuple(map(tuple, dialogues)))
        texts, scores = self._cache.get(key, ([], None))
        if scores is None:
            texts = list(dict.fromkeys(follow_ups))
        elif not set(follow_ups) <= set(texts):
            texts, scores = list(dict.fromkeys([*texts, *follow_ups, *every])), None
        if scores is None:
            scores = self.model.follow_up_scores(dialogues, texts, layout=layout, whole=whole)
            self._store(key, texts, scores)
        columns = [texts.index(text) for text in follow_ups]
        return replace(scores, sums=scores.sums[:, columns], counts=scores.counts[columns])

    def _store(self, key: tuple[Any, ...], texts: list[str], scores: FollowUpScores) -> None:
        self._cache.pop(key, None)
        while len(self._cache) >= FEW:
            del self._cache[next(iter(self._cache))]
        self._cache[key] = (texts, scores)


def choice_probabilities(
    model: Any, prompts: Sequence[str], choices: Sequence[str], *, layout: Layout
) -> NDArray[np.float64]:
    """Return p(choice | prompt) [prompts, choices], not normalised: a row sums to the probability of its choices."""
    dialogues = [[prompt] for prompt in prompts]
    lengths = model.context_lengths(dialogues, layout=layout)
    room = model.longest - min(MARGIN, model.longest // 2)
    if max(lengths, default=0) > room:
        raise InputError(
            f"a prompt has {max(lengths):,} tokens, and the model reads at most {room:,}",
            hint="lower `longest`, or use a shorter rubric",
            where=str(model.folder),
        )
    scores = model.follow_up_scores(dialogues, choices, layout=layout)
    counts = scores.counts.tolist()
    if len(set(counts)) > 1:
        sizes = ", ".join(f"{choice!r} {n}" for choice, n in zip(choices, counts, strict=True))
        raise InputError(f"the model's answers differ in tokens: {sizes}", hint="use another scale or model")
    return np.asarray(np.exp(scores.sums))
