# SPDX-License-Identifier: Apache-2.0
"""Replies to judge, from real conversations: questions that several people answered.

The reference is what one person answered. The system `person` says what another one answered to the same question in
another conversation; `random` gives a reply to something else, and `parrot` repeats the question. No person judged the
replies. The rating is a fact of the log: 1 if a person gave this reply to this question, 0 if not. Greetings are
excluded, because repeating one can be a proper reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from interloq.records import ILLUSTRATIVE, Pair, Rating, Reference, Sample, Turn
from interloq.retrieve.leaks import normalised

ASPECT = "person"
SEED = 0
WORDS = 4  # of a question: shorter ones depend on what was said before
_GREETING = re.compile(
    r"\bhow(?:['’]?s| is| are| was| has| have| goes)\b|\b(?:how|what) about you\b|\byou\?$", re.IGNORECASE
)


def real_replies(pairs: Sequence[Pair]) -> list[Sample]:
    """One sample per question and system, in the order of the questions."""
    rng = np.random.default_rng(SEED)
    samples: list[Sample] = []
    for gold, other in _answered_twice(pairs):
        replies = {"person": other.response, "random": _elsewhere(pairs, gold, rng), "parrot": gold.utterance}
        number = f"{len(samples) // len(replies) + 1:03d}"
        samples += [_sample(number, system, reply, gold) for system, reply in replies.items()]
    return samples


def _answered_twice(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Pair]]:
    """Two different replies to each question that got them in two conversations."""
    questions: dict[str, dict[str, Pair]] = {}
    for pair in pairs:
        text = pair.utterance
        if text.endswith("?") and len(text.split()) >= WORDS and not _GREETING.search(text):
            questions.setdefault(normalised(text), {}).setdefault(normalised(pair.response), pair)
    for _, replies in sorted(questions.items()):
        first, *others = replies.values()
        if elsewhere := [pair for pair in others if pair.thread != first.thread]:
            yield first, elsewhere[0]


def _elsewhere(pairs: Sequence[Pair], gold: Pair, rng: np.random.Generator) -> str:
    """A random reply to another utterance."""
    while True:
        pair = pairs[int(rng.integers(len(pairs)))]
        if normalised(pair.utterance) != normalised(gold.utterance):
            return pair.response


def _sample(number: str, system: str, reply: str, gold: Pair) -> Sample:
    rating = Rating(float(system == "person"), rater="log", aspect=ASPECT, role=ILLUSTRATIVE)
    return Sample(
        f"real/{number}/{system}",
        [Turn(gold.utterance)],
        reply,
        [Reference(gold.response)],
        system=system,
        ratings=[rating],
        dialogue=gold.thread,
    )
