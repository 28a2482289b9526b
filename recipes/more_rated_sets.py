"""Three more rated sets, which are not tested: judges may learn from them, and blends for dialogues with a system.

- PredictiveEngagement: replies to one utterance of DailyDialog. Pairs whose utterance ends a context of the eight
  tested sets are skipped, because replies to the same utterance are rated there.
- Spot the Bot: each side of a dialogue is one item. Its rating is the mean of the annotators' answers: is it a human
  ("cannot tell" counts half), is it fluent, sensible, specific?
- ConvAI: the person's rating of the bot, in dialogues that say which side is the bot.

A dialogue is represented by at most four replies of the rated side, spread evenly over it. Each has the dialogue's
rating.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from rated_sets import RatedSet
from spot_the_bot import objects, read_dialogues

from interloq import InputError, Rating, Sample, Turn
from interloq.data.files.opening import lines
from interloq.data.sets.registry import locate, read_dataset
from interloq.retrieve.leaks import normalise_text

ENGAGEMENT, SPOT, CONVAI = "PredictiveEngagement", "Spot the Bot", "ConvAI"
LIVE = (SPOT, CONVAI)  # dialogues with a system, rated as a whole
REPLIES, ITEMS = 4, 1000  # per dialogue, per set
ASKED = ("is_human", "fluencyValue", "sensitivenessValue", "specificityValue")
Side = tuple[str, Sequence[Turn], str, float]  # id, turns, rated speaker, rating


def more_rated_sets(data: Path, tested: Collection[RatedSet]) -> dict[str, RatedSet]:
    """The three sets."""
    return {
        ENGAGEMENT: _engagement(data, tested),
        SPOT: _of_sides(list(spot_the_bot(data))),
        CONVAI: _of_sides(list(convai(data))),
    }


def _engagement(data: Path, tested: Collection[RatedSet]) -> RatedSet:
    ends = {normalise_text(s.context[-1].text) for own in tested for s in own.samples if s.context}
    every = read_dataset("predictive_engagement", locate("predictive_engagement", data))
    return _of([[s] for s in every if normalise_text(s.context[-1].text) not in ends])


def spot_the_bot(data: Path) -> Iterator[Side]:
    """Each annotated side of a dialogue."""
    answers: dict[tuple[str, int], list[float]] = {}
    for value in objects(data, "annotations"):
        for side in range(2):
            given = [value[f"entity{side}_annotation"].get(name) for name in ASKED]
            answers.setdefault((value["convo_id"], side), []).append(
                float(np.mean([0.5 if answer is None else answer for answer in given]))
            )
    for dialogue in read_dialogues(data, humans=True):
        for side, speaker in enumerate(dialogue.systems):
            if found := answers.get((dialogue.id, side)):
                yield f"{dialogue.id}/{side}", dialogue.turns, speaker, float(np.mean(found))


def convai(data: Path) -> Iterator[Side]:
    """Each dialogue in which one side is known to be a bot, and was rated."""
    path = data / "logs" / "convai_human_bot.jsonl.xz"
    if not path.exists():
        raise InputError(f"no {path.name} in {str(path.parent)!r}", hint="put it there, or name another --data")
    for _, line in lines(path):
        value = json.loads(line)
        bots = [name for name, kind in value.get("speaker_class", {}).items() if kind == "Bot"]
        if len(bots) == 1 and value.get("eval_score"):
            turns = [Turn(turn["text"], turn["speaker"]) for turn in value["turns"]]
            yield value["id"], turns, bots[0], float(value["eval_score"])


def _of_sides(sides: Sequence[Side]) -> RatedSet:
    """At most ITEMS of them, drawn at random, without those that never reply."""
    found = [group for side in sides if (group := _replies(side))]
    drawn = np.random.default_rng(0).permutation(len(found))[:ITEMS]
    return _of([found[i] for i in np.sort(drawn)])


def _replies(side: Side) -> list[Sample]:
    id, given, speaker, rating = side
    turns = [turn for turn in given if turn.text.strip()]
    places = [i for i, turn in enumerate(turns) if i and turn.speaker == speaker]
    chosen = np.unique(np.linspace(0, len(places) - 1, REPLIES).round().astype(int)) if places else ()
    ratings = [Rating(rating, aspect="overall")]
    return [
        Sample(f"{id}#{places[k]}", turns[: places[k]], turns[places[k]].text, ratings=ratings, dialogue=id)
        for k in chosen
    ]


def _of(groups: Sequence[Sequence[Sample]]) -> RatedSet:
    samples: list[Sample] = []
    items: list[int] = []
    human = []
    for i, group in enumerate(groups):
        samples += group
        items += [i] * len(group)
        human.append(np.mean([rating.value for rating in group[0].ratings]))
    return RatedSet(samples, np.array(items), np.array(human))
