"""Bots play, a metric scores, and both go on until the ranking is settled: `settle` joined to `play` and `metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.arena.running import check_metric, score_dialogues
from interloq.arena.settle import RULE, Look, Rule, Settled, plan_looks, rounds_of, watch
from interloq.data.jsonl import read
from interloq.errors import InputError
from interloq.meta.dialogue_scores import DialogueScore, dialogue_scores
from interloq.metrics.metric import Metric
from interloq.play.run import Plan, play
from interloq.play.schedule import Match
from interloq.play.talk import Tally
from interloq.records import Dialogue, Score
from interloq.registry import spec
from interloq.signature import signature


@dataclass(frozen=True, slots=True)
class Played:
    settled: Settled
    scores: tuple[Score, ...]  # of every utterance that was judged
    metric: str
    signature: str  # of the metric, with the partner set's hash


def play_until_settled(
    plan: Plan,
    output: str | Path,
    metric: Metric,
    rule: Rule = RULE,
    *,
    batch: int | None = None,
    patience: float = 0.0,
    again: bool = False,
    tally: Tally | None = None,
    progress: Callable[[int], None] | None = None,
    on_look: Callable[[Look], None] | None = None,
) -> Played:
    """Play the plan round by round into `output`; its matches are the budget.

    All rounds between two looks are played together, in full batches. A run that was stopped goes on; `again` plays
    dialogues in trouble once more.
    """
    check_metric(metric, rule.lower_is_better)
    rounds = rounds_of(plan.matches)
    systems = len({match.target for match in plan.matches})
    planned, _ = plan_looks(len(rounds), systems, rule)
    scores: list[Score] = []

    def scored() -> Iterator[Sequence[DialogueScore]]:
        done = 0
        for stop in planned:
            play(
                plan,
                output,
                matches=[match for round in rounds[done:stop] for match in round],
                batch=batch,
                patience=patience,
                again=again,
                tally=tally,
                progress=progress,
            )
            dialogues = _dialogues(output, rounds[done:stop])
            scores.extend(found := score_dialogues(metric, dialogues))
            if not found:
                raise InputError(
                    f"no target said anything in {len(dialogues)} dialogues", cure="see the dialogues' troubles for why"
                )
            yield from _by_round(scores, dialogues, rounds[done:stop])
            done = stop

    settled = watch(scored(), rule, budget=len(rounds), systems=systems, on_look=on_look)
    signed = signature(metric, partners=plan.run.get("partners", ""))
    return Played(settled, tuple(scores), spec(metric), signed)


def _dialogues(output: str | Path, rounds: Sequence[Sequence[Match]]) -> list[Dialogue]:
    ids = {match.id for round in rounds for match in round}
    return [dialogue for dialogue in read(output, kind="dialogues", strict=True) if dialogue.id in ids]


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
