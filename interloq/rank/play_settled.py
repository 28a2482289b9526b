# SPDX-License-Identifier: Apache-2.0
"""Plays bots and scores their dialogues until the ranking is settled: connects `settle` to `play` and `metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores
from interloq.errors import InputError
from interloq.metrics.metric import Metric
from interloq.play.run import Hear, Plan, PlayOptions, playing
from interloq.play.schedule import BotMatch
from interloq.rank.running_ranking import check_metric, score_dialogues
from interloq.rank.settle import RULE, Look, Rule, Settled, plan_looks, rounds_of, watch
from interloq.records import Dialogue, Score
from interloq.registry import title
from interloq.signature import Signature, signature


@dataclass(frozen=True, slots=True)
class Played:
    """Result of playing until the ranking was settled, with the scores and the metric."""

    settled: Settled
    scores: tuple[Score, ...]  # of every judged utterance
    metric: str
    signature: Signature  # of the metric, with the partner set's hash


def play_until_settled(
    plan: Plan,
    output: str | Path,
    metric: Metric,
    rule: Rule = RULE,
    options: PlayOptions | None = None,
    *,
    on_look: Callable[[Look], None] | None = None,
) -> Played:
    """Play the plan round by round and write it to `output`; the plan's matches are the budget.

    All rounds between two looks are played together, in full batches. An interrupted run resumes.
    """
    check_metric(metric, rule.lower_is_better)
    rounds = rounds_of(plan.matches)
    systems = len({match.target for match in plan.matches})
    planned, _ = plan_looks(len(rounds), systems, rule)
    scores: list[Score] = []
    with playing(plan, output, options or PlayOptions()) as play_matches:
        scored_rounds = _score_rounds(play_matches, plan, planned, metric, scores)
        settled = watch(scored_rounds, rule, budget=len(rounds), systems=systems, on_look=on_look)
    if not settled.settled and settled.rounds < len(rounds):
        what = f"no target said anything in the dialogues after round {settled.rounds}"
        raise InputError(what, hint="see the failures in the dialogues", where=str(output))
    signed = signature(metric, partners=plan.run.get("partners", ""))
    return Played(settled, tuple(scores), title(metric), signed)


def _score_rounds(
    play_matches: Callable[[Sequence[BotMatch], Hear], None],
    plan: Plan,
    looks: Sequence[int],
    metric: Metric,
    scores: list[Score],
) -> Iterator[list[DialogueScore]]:
    """Yield the scores of each round, played together between two looks; end when no target says anything."""
    rounds = rounds_of(plan.matches)
    order = {match.id: place for place, match in enumerate(plan.matches)}
    for start, stop in pairwise([0, *looks]):
        dialogues: list[Dialogue] = []
        play_matches(list(chain.from_iterable(rounds[start:stop])), dialogues.append)
        # their order of arrival depends on what was played before
        dialogues.sort(key=lambda dialogue: order[dialogue.id])
        fresh = score_dialogues(metric, dialogues)
        if not fresh:
            return
        scores.extend(fresh)
        yield from _by_round(fresh, dialogues, rounds[start:stop])


def _by_round(
    scores: Sequence[Score], dialogues: Sequence[Dialogue], rounds: Sequence[Sequence[BotMatch]]
) -> Iterator[list[DialogueScore]]:
    rows = dialogue_scores(scores, dialogues)
    by_id: dict[str, list[DialogueScore]] = {}
    for row in rows:
        by_id.setdefault(row.dialogue, []).append(row)
    for round in rounds:
        yield list(chain.from_iterable(by_id.get(match.id, []) for match in round))


def facts(settled: Settled) -> dict[str, Any]:
    """The result for JSON."""
    from dataclasses import asdict

    return {**asdict(settled), "order": settled.order, "not_apart": [asdict(gap) for gap in settled.not_apart]}
