# SPDX-License-Identifier: Apache-2.0
"""Pairs of an earlier turn and a reply, as the network reads them.

    [CLS] who: earlier turn [SEP] utterance [SEP] reply [SEP]

`who` is `me` if the speaker of the reply said the earlier turn, and `you` otherwise. A question that the earlier turn
answers stands before it ("you: any pets? me: no"). The utterance is the last sentence of the turn that the reply
answers; it is empty if that is the earlier turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from interloq.records import Sample, Turn

SELF, OTHER = "me", "you"
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class TurnPair:
    """An earlier turn and a reply; `before` is the turn before the earlier one, `utterance` what the reply answers."""

    earlier: str
    reply: str
    same: bool
    before: str = ""
    utterance: str = ""

    def texts(self) -> tuple[str, str, str]:
        """Return the three texts of the network's row."""
        who, whom = (SELF, OTHER) if self.same else (OTHER, SELF)
        earlier = f"{who}: {self.earlier}"
        if self.before.rstrip().endswith("?"):
            earlier = f"{whom}: {_last_sentence(self.before)} {earlier}"
        return earlier, _last_sentence(self.utterance), self.reply


def _last_sentence(turn: str) -> str:
    return _SENTENCE.split(turn.strip())[-1]


def find_own_turns(context: Sequence[Turn]) -> list[bool]:
    """Return for each turn of a context whether the speaker of the reply said it.

    The reply's speaker is the last one who is not the speaker of the last turn. If a turn has no speaker, two people
    take turns.
    """
    if not all(turn.speaker for turn in context):
        return [(len(context) - place) % 2 == 0 for place in range(len(context))]
    speaker = ""
    for turn in reversed(context):
        if turn.speaker != context[-1].speaker:
            speaker = turn.speaker
            break
    return [turn.speaker == speaker for turn in context]


def earlier_turns(sample: Sample, *, same_only: bool) -> list[tuple[int, TurnPair]]:
    """Return the turns of a sample's context that have text, each with its place and its pair with the reply."""
    context = sample.context
    pairs = []
    for place, (turn, same) in enumerate(zip(context, find_own_turns(context), strict=True)):
        if not turn.text.strip() or (same_only and not same):
            continue
        before = context[place - 1].text if place else ""
        utterance = context[-1].text if place < len(context) - 1 else ""
        pairs.append((place, TurnPair(turn.text, sample.response, same, before, utterance)))
    return pairs
