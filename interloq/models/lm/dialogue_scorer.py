# SPDX-License-Identifier: Apache-2.0
"""Log-likelihoods of replies and follow-ups under a language model, shared by several metrics.

Metrics (one per dimension) call one after another with the same dialogues and different follow-ups. The first call
computes only its own follow-ups; a second call with the same dialogues computes all follow-ups of its file at once, and
later calls use those. So one dimension costs only what it needs, and eighteen cost little more than two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.models.lm.causal import FollowUpScores, LanguageModel
from interloq.models.lm.seq2seq import Seq2SeqModel
from interloq.models.lm.turns import Layout, Turns
from interloq.models.pretrained import has_encoder, model_folder

FEW = 4  # sets of dialogues whose scores are cached


def language_model(name: str, **options: Any) -> Any:
    """A causal or an encoder-decoder model, depending on the folder."""
    return (Seq2SeqModel if has_encoder(model_folder(name)) else LanguageModel)(name, **options)


class DialogueScorer:
    """Scores dialogues with the model that `language_model` loads; takes the same name and options."""

    def __init__(self, name: str, *, longest: int = 1024, **options: Any) -> None:
        self.model = language_model(name, longest=longest, **options)
        self._cache: dict[tuple[Any, ...], tuple[list[str], FollowUpScores]] = {}

    def signature(self) -> str:
        return str(self.model.signature())

    def reply_scores(
        self, dialogues: Sequence[Turns], replies: Sequence[str], *, layout: Layout = "eos"
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Summed log-likelihoods of replies after their dialogues, and their numbers of tokens."""
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
        """Like the model's own; `every` lists the follow-ups that later calls may ask for."""
        key = (layout, whole, tuple(map(tuple, dialogues)))
        texts, found = self._cache.get(key, ([], None))
        if found is None or not set(follow_ups) <= set(texts):
            texts = list(dict.fromkeys(follow_ups if found is None else [*texts, *follow_ups, *every]))
            found = self.model.follow_up_scores(dialogues, texts, layout=layout, whole=whole)
            self._store(key, texts, found)
        columns = [texts.index(text) for text in follow_ups]
        return FollowUpScores(found.sums[:, columns], found.counts[columns], found.context_sums, found.context_counts)

    def _store(self, key: tuple[Any, ...], texts: list[str], found: FollowUpScores) -> None:
        self._cache.pop(key, None)
        while len(self._cache) >= FEW:
            del self._cache[next(iter(self._cache))]
        self._cache[key] = (texts, found)
