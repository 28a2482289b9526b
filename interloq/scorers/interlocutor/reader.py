# SPDX-License-Identifier: Apache-2.0
"""Samples as rows of tokens: [judge] profile [speaker] turn … [speaker] turn | [speaker] reply.

A speaker's token starts each turn: one token for the side that is judged, one for the judge, or the judge's own. The
row starts with the judge's token, so that the judge is known even if none of their turns fits. The end of the context
is read, as many whole turns as fit; only a last turn that does not fit by itself is cut, after its first tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interloq.models.pretrained import Subwords
from interloq.records import Sample
from interloq.scorers.interlocutor.continuity_labels import judges_turns

Tokens = NDArray[np.int32]
Row = tuple[Tokens, Tokens]  # context, and reply
REPLIER, JUDGE, USERS = 0, 1, 2  # tokens after the encoder's; the first user is USERS
SPECIAL = 3  # [CLS] and two [SEP]


@dataclass(frozen=True)
class SampleReader:
    """Reads samples with the tokens of an encoder and of `users` (name → number), and users' profiles.

    `cut` counts profiles, replies and turns of which only the first tokens were read.
    """

    subwords: Subwords
    tokens: int  # maximum per row
    profile_tokens: int
    vocabulary: int  # number of tokens of the encoder
    users: Mapping[str, int]
    profiles: Mapping[str, str]
    cut: Counter[str] = field(default_factory=Counter)

    def read(self, samples: Sequence[Sample], judges: Sequence[str]) -> list[Row]:
        """Return the row of each sample, as `judges` see it: names of users, or empty."""
        profiles = [self.profiles.get(judge, "").strip() for judge in judges]
        texts = dict.fromkeys(profiles)
        for sample in samples:
            texts.update(dict.fromkeys(turn.text for turn in sample.context))
            texts[sample.response] = None
        distinct = [text for text in texts if text.strip()]
        read = self.subwords.texts(distinct)
        tokens = {text: read[i] for i, text in enumerate(distinct)}
        return [self._row(*each, tokens) for each in zip(samples, judges, profiles, strict=True)]

    def _row(self, sample: Sample, judge: str, profile: str, tokens: Mapping[str, Tokens]) -> Row:
        own = JUDGE
        if judge in self.users:
            own = self.users[judge] + USERS
        profile_tokens = _NOTHING
        if profile:
            profile_tokens = self._first(tokens[profile], min(self.profile_tokens, self.tokens // 2), "profiles")
        start = self._mark_speaker(own, profile_tokens)
        room = self.tokens - SPECIAL - len(start)
        reply = self._first(tokens.get(sample.response, _NOTHING), room - 1, "replies")
        turns: list[Tokens] = []
        room -= 1 + len(reply)
        spoken = list(zip(sample.context, judges_turns(sample), strict=True))
        for spoken_turn, is_judge in reversed(spoken):
            if not spoken_turn.text.strip():
                continue
            turn = tokens[spoken_turn.text]
            speaker = own if is_judge else REPLIER
            if len(turn) >= room:
                if not turns and room > 1:
                    turns.append(self._mark_speaker(speaker, self._first(turn, room - 1, "turns")))
                break
            turns.append(self._mark_speaker(speaker, turn))
            room -= 1 + len(turn)
        return np.concatenate([start, *reversed(turns)]), self._mark_speaker(REPLIER, reply)

    def _mark_speaker(self, speaker: int, tokens: Tokens) -> Tokens:
        return np.concatenate([np.array([self.vocabulary + speaker], dtype=np.int32), tokens])

    def _first(self, tokens: Tokens, most: int, what: str) -> Tokens:
        self.cut[what] += len(tokens) > most
        return tokens[:most]


_NOTHING: Tokens = np.zeros(0, dtype=np.int32)


def number_users(names: Iterable[str]) -> dict[str, int]:
    """Number users in the order of their tokens."""
    return {user: i for i, user in enumerate(names)}
