# SPDX-License-Identifier: Apache-2.0
"""People's ratings of replies or dialogues as scores, so that systems can be ranked by them.

With the labels `continued` of chats, survival curves of `rank` are the product-limit estimate of Kaplan and Meier
(1958): a reply that was answered has the probability 1, the last one before a person left 0, and the last one before
the limit of turns none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from interloq.metrics.metric_names import RATING
from interloq.play.samples import system_ratings
from interloq.records import Dialogue, Rating, Sample, Score


def rating_scores(records: Iterable[Sample | Dialogue], *, aspect: str, role: str = "") -> Iterator[Score]:
    """Mean rating of each reply, or of each system in a dialogue; unscored without a rating. '' is any role."""
    return chain.from_iterable(_scores(record, aspect, role) for record in records)


def metric_name(aspect: str, role: str = "", *, dialogues: bool) -> str:
    """How the scores are named: a spec, which says what was rated."""
    fields = {"aspect": aspect, "role": role, "of": "dialogue" if dialogues else ""}
    return f"{RATING}({','.join(f'{name}={value!r}' for name, value in fields.items() if value)})"


def _scores(record: Sample | Dialogue, aspect: str, role: str) -> Iterator[Score]:
    name = metric_name(aspect, role, dialogues=isinstance(record, Dialogue))
    if isinstance(record, Sample):
        yield _score(record.id, record.system, record.ratings, name, aspect, role)
        return
    for system in sorted(set(record.systems.values())):
        yield _score(record.id, system, system_ratings(record, system), name, aspect, role)


def _score(id: str, system: str, ratings: Iterable[Rating], name: str, aspect: str, role: str) -> Score:
    values = [one.value for one in ratings if one.aspect == aspect and role in ("", one.role) and one.value is not None]
    if not values:
        return Score(id, name, None, "not rated", system)
    return Score(id, name, sum(values) / len(values), "", system)
