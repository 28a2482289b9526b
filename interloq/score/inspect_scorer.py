# SPDX-License-Identifier: Apache-2.0
"""Metrics as a scorer for tasks of Inspect: `Task(…, scorer=inspect_scorer("judge(model='ready')", "length"))`.

The reply is the model's last message, its context what was said before, and its references the target. Only metrics
that score a reply by itself can be used while a task runs; the others need the whole set: `interloq data import`.
Inspect is imported only here, when the scorer is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from interloq.data.records.messages import message_turns
from interloq.errors import SpecError
from interloq.metrics.metric import FittedMetric, SetMetric
from interloq.play.samples import samples, whole_dialogues
from interloq.records import Dialogue, Reference, Turn
from interloq.score.evaluate import evaluate_all
from interloq.score.parse_metrics import Chosen, choose

NO_REPLY = "the model did not reply"
_lock = Lock()  # models are loaded once, and one sample is scored at a time


def inspect_scorer(*metrics: str) -> Any:
    """Return a scorer of Inspect with a value per metric; a reply that it cannot score is NaN, with the reason."""
    try:
        from anyio import to_thread
        from inspect_ai import scorer as inspect
    except ImportError as error:
        raise SpecError("inspect_scorer needs inspect_ai; run: pip install inspect_ai") from error

    chosen, _ = choose(metrics)
    if not chosen:
        raise SpecError("inspect_scorer needs a metric, such as \"judge(model='ready')\"")
    for each in chosen:
        if isinstance(each.metric, FittedMetric | SetMetric):
            hint = "score the log: interloq data import LOG -o dialogues.jsonl, then play samples and score"
            raise SpecError(f"{each.name} compares all replies of a set, so it cannot score a single one; {hint}")

    def make(known: Chosen) -> Any:
        def interloq() -> Any:
            async def score(state: Any, target: Any) -> Any:
                messages = [message.model_dump() for message in state.messages]
                value, reason = await to_thread.run_sync(score_messages, known, messages, list(target))
                return inspect.Score(value=value, answer=state.output.completion, explanation=reason or None)

            return score

        return inspect.scorer(metrics=[inspect.mean(), inspect.stderr()], name=known.name)(interloq)()

    scorers = [make(each) for each in chosen]
    return scorers[0] if len(scorers) == 1 else scorers


def score_messages(chosen: Chosen, messages: Sequence[Any], references: Sequence[str]) -> tuple[float, str]:
    """Return the score of the last reply in messages, and the reason if it is NaN."""
    turns: list[Turn] = []
    for number, message in enumerate(messages, start=1):
        turns += message_turns(message, number)
    dialogue = Dialogue("1", turns, {"assistant": "model"})
    if not dialogue.turns or dialogue.turns[-1].speaker != "assistant":
        return math.nan, NO_REPLY
    make = whole_dialogues if chosen.metric.of == "dialogue" else samples
    sample = replace(list(make([dialogue]))[-1], references=tuple(Reference(text) for text in references if text))
    with _lock:
        (results,) = evaluate_all([chosen.metric], [sample], n_bootstrap=0)
    result = results[""]
    return result.by_sample[sample.key], result.reasons.get(sample.key, "")
