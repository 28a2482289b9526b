"""Scored dialogues and their ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from interloq.agree.dialogue_scores import dialogue_scores
from interloq.rank.rank import rank
from interloq.rank.ranking import Ranking
from interloq.records import Dialogue, Score, Turn


def played(
    levels: Mapping[str, float], partners: Sequence[str] = ("p", "q"), openings: int = 10, *, seed: int = 0
) -> tuple[list[Score], list[Dialogue]]:
    """Bipartite dialogues of two utterances each; scores scatter around each system's level."""
    rng = np.random.default_rng(seed)
    scores, dialogues = [], []
    for target, partner, opening in product(levels, partners, range(openings)):
        id = f"{target}~{partner}/opening-{opening}/repeat-1"
        said = [f"opening {opening}", "yes?", "one", "ok", "two", "ok"]
        turns = [Turn(text, (target, partner)[i % 2]) for i, text in enumerate(said)]
        dialogues.append(Dialogue(id, turns, {target: target, partner: partner}, given=2))
        for turn in (2, 4):
            value = levels[target] + float(rng.normal())
            scores.append(Score(f"{id}#{turn}", "made", value, system=target))
    return scores, dialogues


def ranked(scores: Sequence[Score], dialogues: Sequence[Dialogue], **options: object) -> Ranking:
    return rank(dialogue_scores(scores, dialogues), **options)  # type: ignore[arg-type]


def recorded(*, given: int = 0, seed: int = 3) -> tuple[list[Score], list[Dialogue]]:
    """Thirty dialogues of each of two bots with a person, five repeats from each of six beginnings."""
    rng = np.random.default_rng(seed)
    scores, dialogues = [], []
    for bot, i in product("ab", range(30)):
        turns = [Turn(f"topic {i % 6}", "h"), Turn("go on", bot), Turn(f"{bot} says {rng.integers(10**9)}", bot)]
        dialogues.append(Dialogue(f"{bot}{i}", turns, {bot: bot, "h": "h"}, given=given))
        value = i % 6 + 0.3 * (bot == "b") + float(rng.normal(scale=0.35))
        scores.append(Score(f"{bot}{i}#2", "made", value, system=bot))
    return scores, dialogues
