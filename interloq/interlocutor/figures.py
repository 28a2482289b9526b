# SPDX-License-Identifier: Apache-2.0
"""Statistics of judged turns: those of the paper's Table 3, and users for whom only one class is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from interloq.interlocutor.samples import Judged

Figures = dict[str, float | None]


def figures(judged: Sequence[Judged], profiles: Mapping[str, str], *, labels: bool = True) -> Figures:
    """Dialogues, users, lengths, profiles and (with `labels`) continuity labels of one part."""
    dialogues = {each.dialogue.id: each.dialogue for each in judged}.values()
    users = {each.user for each in judged} - {""}
    texts = [profiles[user] for user in users if user in profiles]
    turns = [turn.text for dialogue in dialogues for turn in dialogue.turns]
    characters = sum(map(len, turns))
    return {
        "samples": len(judged),
        "dialogues": len(dialogues),
        "users": len(users),
        "turns_per_dialogue": _mean(len(turns), len(dialogues)),
        "characters_per_turn": _mean(characters, len(turns)),
        "characters_per_dialogue": _mean(characters, len(dialogues)),
        **(_labels(judged) if labels else {}),
        "profiles": len(texts),
        "characters_per_profile": _mean(sum(map(len, texts)), len(texts)),
    }


def _labels(judged: Sequence[Judged]) -> Figures:
    """Counts of both labels, and of users with one of them only."""
    by_user = defaultdict[str, set[bool]](set)
    labels = [each.replied for each in judged]
    for each, label in zip(judged, labels, strict=True):
        if label is not None:
            by_user[each.user].add(label)
    one_class = sum(len(known) == 1 for user, known in by_user.items() if user)
    return {"replied": labels.count(True), "not_replied": labels.count(False), "users_with_one_class": one_class}


def _mean(total: int, n: int) -> float | None:
    return total / n if n else None
