# SPDX-License-Identifier: Apache-2.0
"""Statistics of judged turns: the columns of the paper's Table 3, and users for whom only one class is known."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from interloq.scorers.interlocutor.samples import JudgedTurn

Figures = dict[str, float | None]


def figures(judged: Sequence[JudgedTurn], profiles: Mapping[str, str], *, labels: bool = True) -> Figures:
    """Dialogues, users, lengths, profiles and (with `labels`) continuity labels of one part."""
    dialogues = {each.dialogue.id: each.dialogue for each in judged}.values()
    users = {each.user for each in judged} - {""}
    texts = [profiles[user] for user in users if user in profiles]
    turns = characters = 0
    for dialogue in dialogues:
        for turn in dialogue.turns:
            turns += 1
            characters += len(turn.text)
    counted = {
        "samples": len(judged),
        "dialogues": len(dialogues),
        "users": len(users),
        "turns_per_dialogue": _mean(turns, len(dialogues)),
        "characters_per_turn": _mean(characters, turns),
        "characters_per_dialogue": _mean(characters, len(dialogues)),
    }
    if labels:
        counted |= _labels(judged)
    counted["profiles"] = len(texts)
    counted["characters_per_profile"] = _mean(sum(map(len, texts)), len(texts))
    return counted


def _labels(judged: Sequence[JudgedTurn]) -> Figures:
    """Counts of both labels, and of users with one of them only."""
    by_user = defaultdict[str, set[bool]](set)
    counts = Counter[bool | None]()
    for each in judged:
        label = each.replied
        counts[label] += 1
        if label is not None and each.user:
            by_user[each.user].add(label)
    one_class = list(map(len, by_user.values())).count(1)
    return {"replied": counts[True], "not_replied": counts[False], "users_with_one_class": one_class}


def _mean(total: int, n: int) -> float | None:
    return total / n if n else None
