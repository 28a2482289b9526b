"""A language model that judges dialogues: log-likelihoods of replies and of follow-ups, for several metrics at a time.

Metrics come one after another with the same dialogues and other follow-ups, a dimension each. The first has its own
follow-ups calculated only; the second that comes with the same dialogues has all follow-ups of its file calculated at
once, and the others find theirs ready. So one dimension costs no more than it must, and eighteen little more than two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.models.lm.causal import FollowUpScores
from interloq.models.lm.loading import language_model
from interloq.models.lm.turns import Layout, Turns

FEW = 4  # sets of dialogues whose scores are kept


class DialogueScorer:
    """`name` and the options are those of `language_model`."""

    def __init__(self, name: str, *, longest: int = 1024, **options: Any) -> None:
        self.model = language_model(name, longest=longest, **options)
        self._kept: dict[tuple[Any, ...], tuple[list[str], FollowUpScores]] = {}

    def signature(self) -> str:
        return str(self.model.signature())

    def reply_scores(
        self, dialogues: Sequence[Turns], replies: Sequence[str], *, layout: Layout = "eos"
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Summed log-likelihoods of replies after their dialogues, and their tokens."""
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
        """As the model's own; `every` is what may be asked for next."""
        asked = (layout, whole, tuple(map(tuple, dialogues)))
        texts, found = self._kept.get(asked, ([], None))
        if found is None or not set(follow_ups) <= set(texts):
            texts = list(dict.fromkeys(follow_ups if found is None else [*texts, *follow_ups, *every]))
            found = self.model.follow_up_scores(dialogues, texts, layout=layout, whole=whole)
            self._keep(asked, texts, found)
        columns = [texts.index(text) for text in follow_ups]
        return FollowUpScores(found.sums[:, columns], found.counts[columns], found.context_sums, found.context_counts)

    def _keep(self, asked: tuple[Any, ...], texts: list[str], found: FollowUpScores) -> None:
        self._kept.pop(asked, None)
        while len(self._kept) >= FEW:
            del self._kept[next(iter(self._kept))]
        self._kept[asked] = (texts, found)
