# SPDX-License-Identifier: Apache-2.0
"""Samples with the ratings of the interlocutor: single replies, or whole dialogues rated by those who took part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from interloq.interlocutor.samples import Judged
from interloq.interlocutor.two_person import has_bad_time
from interloq.records import INTERLOCUTOR, Dialogue, Rating, Sample


def rated_dialogues(dialogues: Iterable[Dialogue], dropped: Counter[str]) -> Iterator[Judged]:
    """One judged turn per dialogue and interlocutor who rated it: the last one addressed to them, after the rest.

    Ratings by nobody who spoke, and dialogues with unreadable times, are counted in `dropped`.
    """
    for dialogue in dialogues:
        if has_bad_time(dialogue):
            dropped["bad_time"] += 1
            continue
        speakers = {turn.speaker for turn in dialogue.turns}
        by_rater: dict[str, list[Rating]] = {}
        for rating in dialogue.ratings:
            if rating.role == INTERLOCUTOR and rating.rater in speakers - {""}:
                by_rater.setdefault(rating.rater, []).append(rating)
            else:
                dropped["ratings_by_others"] += 1
        dropped["dialogues_without_ratings"] += not by_rater
        for rater, ratings in by_rater.items():
            last = _last_to(dialogue, rater)
            dropped["one_speaker"] += last is None
            if last is not None:
                yield Judged(dialogue, last, rater, tuple(ratings))


def _last_to(dialogue: Dialogue, user: str) -> int | None:
    """The last turn with text that somebody else spoke."""
    turns = reversed(list(enumerate(dialogue.turns)))
    return next((i for i, turn in turns if turn.speaker != user and turn.text.strip()), None)


def rated_replies(samples: Iterable[Sample], dropped: Counter[str]) -> Iterator[Sample]:
    """The replies that their interlocutor rated; empty and unrated ones are counted in `dropped`."""
    for sample in samples:
        rated = any(rating.role == INTERLOCUTOR and rating.value is not None for rating in sample.ratings)
        empty = not sample.response.strip()
        dropped["empty_replies"] += empty
        dropped["replies_without_interlocutor_rating"] += not (rated or empty)
        if rated and not empty:
            yield sample
