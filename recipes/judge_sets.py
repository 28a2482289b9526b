"""Rated replies and dialogues that the packaged judges learn from, by aspect, with the licence of each set.

    python recipes/judge_sets.py --data DATA -o RATED.jsonl

Each line is one reply: its set, the item that was rated (a reply, or a dialogue with several replies), the context, and
the item's mean ratings. Ratings have the names of five aspects: `overall`, `relevant`, `natural` and `engaging` of a
reply, and `dialogue`, the overall rating of a whole conversation. Where a set asked several questions about one aspect,
its rating is their mean. Only the order of the ratings within a set is learned, so scales may differ between sets.

Excluded, because their licences do not allow this use, or not for weights that are shared: DailyDialog++ (research
only), Hazumi (research only), KokoroChat (CC BY-NC-ND), and the damaged replies of the robustness set (GPL).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from more_rated_sets import CONVAI, ENGAGEMENT, REPLIES, SPOT, more_rated_sets
from rated_sets import RatedSet, data_folder, rated_sets
from ready_logs import write_objects

from interloq import InputError, InterloqError, Sample
from interloq.data.files.opening import lines

JI, DSTC7 = "Ji 2022", "DSTC7"
OVERALL, RELEVANT, NATURAL, ENGAGING, DIALOGUE = ASPECTS = ("overall", "relevant", "natural", "engaging", "dialogue")
NOT_STATED = "none stated (ratings are facts; no text is kept)"
LICENCES: Mapping[str, str] = {
    "GRADE ConvAI2": NOT_STATED,
    "GRADE DailyDialog": NOT_STATED,
    "GRADE EmpatheticDialogues": NOT_STATED,
    "USR PersonaChat": NOT_STATED,
    "USR Topical-Chat": NOT_STATED,
    "multi-reference DailyDialog": NOT_STATED,
    "FED turn": NOT_STATED,
    "FED dialogue": NOT_STATED,
    ENGAGEMENT: "MIT",
    SPOT: NOT_STATED,
    CONVAI: NOT_STATED,
    JI: "MIT",
    DSTC7: "O-UDA 1.0",
}
# the aspect that each question of a set belongs to; questions that are not listed are not learned
QUESTIONS: Mapping[str, Mapping[str, str]] = {
    "overall": {OVERALL: "overall"},
    "GRADE": {OVERALL: "overall", RELEVANT: "overall"},  # people were asked how coherent the reply is
    "USR": {
        OVERALL: "overall",
        RELEVANT: "maintains context",
        NATURAL: "natural,understandable",
        ENGAGING: "engaging",
    },
    "FED turn": {
        OVERALL: "overall",
        RELEVANT: "relevant,semantically appropriate",
        NATURAL: "fluent,understandable",
        ENGAGING: "interesting,engaging",
    },
    ENGAGEMENT: {OVERALL: "overall", ENGAGING: "overall"},  # people were asked how engaging the reply is
    DSTC7: {OVERALL: "relevance,informativeness", RELEVANT: "relevance", ENGAGING: "informativeness"},
    JI: {DIALOGUE: "interesting,fun,consistent,fluent,topic", NATURAL: "fluent", ENGAGING: "interesting,fun"},
    SPOT: {DIALOGUE: "overall"},
    CONVAI: {DIALOGUE: "overall"},
    "FED dialogue": {DIALOGUE: "overall"},
}


@dataclass(frozen=True, slots=True)
class RatedReply:
    """A reply of a rated item, with the item's mean rating of each aspect."""

    set: str
    item: int
    context: Sequence[str]
    reply: str
    ratings: Mapping[str, float]


def rated_replies(data: Path) -> Iterator[RatedReply]:
    """Yield the replies of all sets."""
    tested = rated_sets(data)
    for name, rated in (tested | more_rated_sets(data, tested.values())).items():
        yield from _replies_of_set(name, rated)
    yield from ji_2022(data)
    yield from dstc7(data)


def _replies_of_set(name: str, rated: RatedSet) -> Iterator[RatedReply]:
    for sample, item in zip(rated.samples, rated.items.tolist(), strict=True):
        answers = _answers(sample) or {"overall": [float(rated.human[item])]}
        yield RatedReply(name, item, _texts(sample), sample.response, join_questions(name, answers))


def _answers(sample: Sample) -> dict[str, list[float]]:
    answers: dict[str, list[float]] = {}
    for rating in sample.ratings:
        if rating.value is not None:
            answers.setdefault(rating.aspect, []).append(float(rating.value))
    return answers


def _texts(sample: Sample) -> list[str]:
    return [turn.text for turn in sample.context]


def join_questions(name: str, answers: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the mean answer to the questions of each aspect."""
    questions = QUESTIONS.get(name) or QUESTIONS.get(name.split()[0]) or QUESTIONS["overall"]
    ratings = {}
    for aspect, asked in questions.items():
        means = [float(np.mean(answers[question])) for question in asked.split(",") if question in answers]
        if means:
            ratings[aspect] = float(np.mean(means))
    return ratings


def ji_2022(data: Path) -> Iterator[RatedReply]:
    """Yield conversations of a person with a bot, represented by at most REPLIES of the bot's replies."""
    path = _file(data, "ji2022_part.jsonl.xz")
    for item, (_, line) in enumerate(lines(path)):
        talk = json.loads(line)
        turns = [turn for turn in talk["turns"] if turn["text"].strip()]
        places = [i for i, turn in enumerate(turns) if i and turn["speaker"] == "bot"]
        if not places:
            continue
        ratings = join_questions(JI, {question: [value] for question, value in talk["ratings"].items()})
        for k in np.unique(np.linspace(0, len(places) - 1, REPLIES).round().astype(int)).tolist():
            before = [turn["text"] for turn in turns[: places[k]]]
            yield RatedReply(JI, item, before, turns[places[k]]["text"], ratings)


def dstc7(data: Path) -> Iterator[RatedReply]:
    """Yield replies of systems; a text about the topic stands in for the context. People's replies are omitted."""
    item = 0
    for _, line in lines(_file(data, "dstc7_part.jsonl.xz")):
        query = json.loads(line)
        for reply in query["replies"]:
            if reply["system"] == "Human" or not reply["response"].strip():
                continue
            relevance = [rating[1] for rating in reply["ratings"]]
            informativeness = [rating[2] for rating in reply["ratings"]]
            ratings = join_questions(DSTC7, {"relevance": relevance, "informativeness": informativeness})
            yield RatedReply(DSTC7, item, [query["grounding"]], reply["response"], ratings)
            item += 1


def _file(data: Path, name: str) -> Path:
    path = data / name
    if not path.exists():
        raise InputError(f"no {name} in {str(data)!r}", hint="put it there, or name another --data")
    return path


def write_replies(replies: Iterable[RatedReply], path: Path) -> None:
    objects_of_replies = [{**asdict(reply), "context": list(reply.context)} for reply in replies]
    write_objects(path, objects_of_replies)


def read_replies(path: Path) -> list[RatedReply]:
    """Read the file that `write_replies` wrote."""
    return [RatedReply(**json.loads(line)) for _, line in lines(path)]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="published sets (default: $INTERLOQ_DATA)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    args = parser.parse_args(argv)
    try:
        write_replies(rated_replies(data_folder(args.data)), Path(args.output))
    except InterloqError as error:
        print(f"judge_sets: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
