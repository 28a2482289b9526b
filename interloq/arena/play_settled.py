"""Bots play, a metric scores, and both go on until the ranking is settled: `settle` joined to `play` and `metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interloq.arena.settle import ALPHA, FIRST, GROWTH, Look, Settled, plan_looks, rounds_of, watch
from interloq.data.jsonl import read
from interloq.errors import InputError
from interloq.meta.dialogue_scores import DialogueScore, dialogue_scores
from interloq.metrics.evaluate import evaluate
from interloq.metrics.metric import FittedMetric, Metric, SetMetric
from interloq.play.run import Plan, play
from interloq.play.samples import samples
from interloq.play.schedule import Match
from interloq.records import Dialogue, Score
from interloq.registry import name_of


@dataclass(frozen=True, slots=True)
class Played:
    settled: Settled
    scores: tuple[Score, ...]  # of every utterance that was judged


def play_until_settled(
    plan: Plan,
    output: str | Path,
    metric: Metric,
    *,
    alpha: float = ALPHA,
    first: int = FIRST,
    growth: float = GROWTH,
    margin: float = 0.0,
    lower_is_better: bool = False,
    batch: int | None = None,
    patience: float = 0.0,
    progress: Callable[[int], None] | None = None,
    on_look: Callable[[Look], None] | None = None,
) -> Played:
    """Play the plan round by round into `output`; its matches are the budget.

    All rounds between two looks are played together, in full batches. A run that was stopped goes on.
    """
    if isinstance(metric, FittedMetric):
        raise InputError(
            f"{name_of(metric)} takes constants from the whole set, so its scores would change from look to look",
            cure="settle by another metric, or play everything and rank with it afterwards",
        )
    if isinstance(metric, SetMetric):
        raise InputError(
            f"{name_of(metric)} is about sets of replies and says nothing about single ones",
            cure="settle by another metric, or play everything and score the systems with it afterwards",
        )
    rounds = rounds_of(plan.matches)
    systems = len({match.target for match in plan.matches})
    planned, _ = plan_looks(len(rounds), systems, alpha=alpha, first=first, growth=growth)
    scores: list[Score] = []

    def scored() -> Iterator[Sequence[DialogueScore]]:
        done = 0
        for stop in planned:
            matches = tuple(match for round in rounds[:stop] for match in round)
            play(replace(plan, matches=matches), output, batch=batch, patience=patience, progress=progress)
            dialogues = _dialogues(output, rounds[done:stop])
            scores.extend(_scores(metric, dialogues))
            yield from _by_round(scores, dialogues, rounds[done:stop])
            done = stop

    settled = watch(
        scored(),
        budget=len(rounds),
        systems=systems,
        alpha=alpha,
        first=first,
        growth=growth,
        margin=margin,
        lower_is_better=lower_is_better,
        on_look=on_look,
    )
    return Played(settled, tuple(scores))


def _dialogues(output: str | Path, rounds: Sequence[Sequence[Match]]) -> list[Dialogue]:
    ids = {match.id for round in rounds for match in round}
    return [dialogue for dialogue in read(output, kind="dialogues", strict=True) if dialogue.id in ids]


def _scores(metric: Metric, dialogues: Sequence[Dialogue]) -> list[Score]:
    judged = list(samples(dialogues))
    if not judged:
        raise InputError(
            f"no target said anything in {len(dialogues)} dialogues", cure="see the dialogues' troubles for why"
        )
    result, system_of = evaluate(metric, judged), {sample.id: sample.system for sample in judged}
    return [
        Score(id, result.metric, value if value == value else None, result.reasons.get(id, ""), system_of[id])
        for id, value in result.by_sample.items()
    ]


def _by_round(
    scores: Sequence[Score], dialogues: Sequence[Dialogue], rounds: Sequence[Sequence[Match]]
) -> Iterator[list[DialogueScore]]:
    ids = {dialogue.id for dialogue in dialogues}
    rows = dialogue_scores([score for score in scores if score.id.rpartition("#")[0] in ids], dialogues)
    by_id: dict[str, list[DialogueScore]] = {}
    for row in rows:
        by_id.setdefault(row.dialogue, []).append(row)
    for round in rounds:
        yield [row for match in round for row in by_id.get(match.id, [])]


def facts(settled: Settled) -> dict[str, Any]:
    """As it stands in JSON."""
    from dataclasses import asdict

    return {**asdict(settled), "order": settled.order, "not_apart": [asdict(gap) for gap in settled.not_apart]}
