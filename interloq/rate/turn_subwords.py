# SPDX-License-Identifier: Apache-2.0
"""Tokenizer of raters that read several turns: the end token is between two turns, [CLS] turn [SEP] … turn [SEP] R1 …

In its own module, because it needs torch and what joins the turns does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from interloq.data.text.token_texts import Texts
from interloq.models.subwords import Subwords
from interloq.rate.turns import BETWEEN


class TurnSubwords(Subwords):
    """Subwords of texts that may be several turns; `longest` is that of a turn."""

    def __init__(self, folder: Path, *, longest: int, turns: int) -> None:
        super().__init__(folder, longest=longest)
        self.turns = turns

    def texts(self, texts: Sequence[str]) -> Texts:
        parts = [text.split(BETWEEN) for text in texts]
        turns = list(chain.from_iterable(parts))
        place = {turn: i for i, turn in enumerate(dict.fromkeys(turns))}
        every = super().texts(list(place))  # a turn is in several contexts
        flat = every.taken(np.array([place[turn] for turn in turns], dtype=np.int64))
        if len(flat.lengths) == len(parts):
            return flat
        last = np.cumsum(list(map(len, parts)))
        tokens = np.insert(flat.tokens, flat.ends[1:], self.end)  # after each turn, also the last of a text
        ends = np.concatenate([[0], (flat.ends + np.arange(len(flat.ends)))[last]])
        return Texts(tokens, ends).without(np.isin(np.arange(len(tokens)), ends[1:] - 1))

    def signature(self) -> str:
        return f"turns({self.turns})-{super().signature()}"


def rater_subwords(folder: Path, *, longest: int, turns: int) -> Subwords:
    """The tokenizer of a rater that reads this number of turns."""
    return TurnSubwords(folder, longest=longest, turns=turns) if turns > 1 else Subwords(folder, longest=longest)
