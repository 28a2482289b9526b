# SPDX-License-Identifier: Apache-2.0
"""Dialogues to read, with the scores and failures of each turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from interloq.agree.dialogue_scores import DialogueScore, dialogue_of
from interloq.play.talk import failures
from interloq.records import Dialogue, Key, Score, Turn

_AT_TURN = re.compile(r"(.*) at turn ([0-9]{1,9})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One turn of a dialogue with its scores."""

    turn: Turn
    side: Literal["left", "right"]
    given: bool  # part of the given opening
    scores: tuple[Score, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DialogueCard:
    """One dialogue to read; the judged system is on the right."""

    dialogue: Dialogue
    turns: tuple[SpokenTurn, ...]
    ended: tuple[str, ...]  # failures after the last turn


def dialogue_cards(
    rows: Sequence[DialogueScore], dialogues: Mapping[str, Dialogue], scores: Iterable[Score], metrics: Iterable[str]
) -> dict[tuple[str, str], DialogueCard]:
    """Return the dialogues of these rows by id and system, with scores in the order of `metrics`."""
    by_turn = _scores_by_turn(scores, list(metrics), {row.dialogue for row in rows})
    cards = {}
    for row in rows:
        cards[row.dialogue, row.system] = _card(row, dialogues[row.dialogue], by_turn)
    return cards


def _scores_by_turn(
    scores: Iterable[Score], metrics: Sequence[str], chosen: Collection[str]
) -> dict[Key, tuple[Score, ...]]:
    """Return the scores of each sample of the chosen dialogues."""
    table: dict[Key, dict[str, Score]] = {}
    for score in scores:
        if score.metric in metrics and dialogue_of(score, chosen) in chosen:
            table.setdefault(score.key, {})[score.metric] = score
    ordered = {}
    for key, by_metric in table.items():
        ordered[key] = tuple(by_metric[metric] for metric in metrics if metric in by_metric)
    return ordered


def _card(row: DialogueScore, dialogue: Dialogue, by_turn: Mapping[Key, tuple[Score, ...]]) -> DialogueCard:
    failures_at = _failures_by_turn(dialogue)
    turns = []
    for i, turn in enumerate(dialogue.turns):
        speaker = dialogue.systems.get(turn.speaker, turn.speaker)
        side: Literal["left", "right"] = "left"
        if speaker == row.system and (row.partner != row.system or turn.speaker == next(iter(dialogue.systems))):
            side = "right"
        scores = by_turn.get((f"{dialogue.id}#{i}", speaker), ())
        turns.append(SpokenTurn(turn, side, i < dialogue.given, scores, tuple(failures_at.pop(i, ()))))
    ended: list[str] = []
    for _, texts in sorted(failures_at.items()):  # of no turn
        ended += texts
    return DialogueCard(dialogue, tuple(turns), tuple(ended))


def _failures_by_turn(dialogue: Dialogue) -> dict[int, list[str]]:
    """Return failures by turn, counted from 0; -1 if a failure names no turn."""
    by_turn: dict[int, list[str]] = {}
    for system, failure in failures(dialogue):
        at, what = -1, failure
        if placed := _AT_TURN.fullmatch(failure):
            at, what = int(placed[2]) - 1, placed[1]
        by_turn.setdefault(at, []).append(f"{system}: {what}")
    return by_turn
