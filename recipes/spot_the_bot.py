"""Rank the bots of Spot The Bot (ConvAI2) from their dialogues with each other, and compare with the human ranking.

Deriu et al. (2020), "Spot The Bot": six bots talk with each other; people read parts of the dialogues and say of each
side whether it is a human. The human ranking is by the share of "human" among all answers about a bot ("cannot tell"
counts as not human). Here every utterance of a bot is scored by a metric, with the turns before it as the context; a
bot's score is the mean over its dialogues of the mean over its utterances, and is compared with that ranking. Agreement
over single dialogues is another question, and is printed apart: each side's score against the share of its annotators
who took it for a human.

    python recipes/spot_the_bot.py --data FOLDER -m length -m "relevance(model='FOLDER')"

FOLDER (or INTERLOQ_DATA) contains spot_the_bot_convai2.dialogues.jsonl.gz and
spot_the_bot_convai2.annotations.jsonl.gz. One bot prints its end and padding tokens (`< /s ><pad>`); they are removed,
as people were not meant to see them. With `--humans` the 300 dialogues of people with each other take part as another
system. There are no published figures to compare with; with six systems the intervals are wide for any metric. The exit
code is 0, or 2 if data are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import Interval, Places, interval_by_unit

from interloq import Dialogue, InputError, InterloqError, Score, Turn
from interloq.agree.dialogue_scores import dialogue_scores
from interloq.data.files.opening import lines
from interloq.metrics import metric_names
from interloq.play.samples import samples
from interloq.rank.rank import rank
from interloq.rank.ranking import Method, Ranking
from interloq.score.evaluate import evaluate_all
from interloq.statistics.correlation import spearman_rows
from interloq.statistics.estimate import COEFFICIENTS
from interloq.terminal.console import interval, number, number_with_interval, p_value, print_json, print_table

NAME = "spot_the_bot_convai2"
HUMAN = "human"
Floats = NDArray[np.float64]
_SIGNS = re.compile(r"<\s*/?\s*(?:s|pad)\s*>|</?s>|<pad>")


@dataclass(frozen=True, slots=True)
class DialogueAgreement:
    """Spearman of a metric with people over the sides of dialogues."""

    metric: str
    spearman: float
    ci: Interval
    sides: int


def read_dialogues(data: Path, *, humans: bool = False, limit: int | None = None) -> list[Dialogue]:
    """Dialogues of bots with each other; dialogues of people with each other belong to one system, `human`.

    `limit` keeps this many per pair of systems, the first by id.
    """
    found: dict[tuple[str, ...], list[Dialogue]] = {}
    for dialogue in sorted(map(_dialogue, objects(data, "dialogues")), key=lambda d: d.id):
        if humans or HUMAN not in dialogue.systems.values():
            found.setdefault(tuple(sorted(dialogue.systems)), []).append(dialogue)
    return [dialogue for pair in found.values() for dialogue in pair[:limit]]


def _dialogue(value: dict[str, Any]) -> Dialogue:
    """Read a dialogue; speakers are named by side, because two people share one system."""
    first, second = value["system_type0"], value["system_type1"]
    if first == second:
        systems = {first: first, f"{first} (2)": second}
        speakers = [list(systems)[i % 2] for i in range(len(value["convo"]))]
    else:
        systems = {first: first, second: second}
        speakers = [turn["id"] for turn in value["convo"]]
    turns = [Turn(_clean(turn["text"]), who) for turn, who in zip(value["convo"], speakers, strict=True)]
    return Dialogue(value["_id"]["$oid"], turns, systems)


def _clean(text: str) -> str:
    return " ".join(_SIGNS.sub(" ", text).split())


def judged_human(data: Path) -> dict[str, float]:
    """Share of answers about each system that call it a human."""
    systems = {v["_id"]["$oid"]: (v["system_type0"], v["system_type1"]) for v in objects(data, "dialogues")}
    votes: dict[str, list[bool]] = {}
    for value in objects(data, "annotations"):
        for side, name in enumerate(systems.get(value["convo_id"], ())):
            votes.setdefault(name, []).append(value[f"entity{side}_annotation"]["is_human"] is True)
    return {name: sum(found) / len(found) for name, found in sorted(votes.items())}


def judged_human_sides(data: Path) -> dict[tuple[str, str], float]:
    """Share of answers about each system in each dialogue that call it a human."""
    systems = {v["_id"]["$oid"]: (v["system_type0"], v["system_type1"]) for v in objects(data, "dialogues")}
    votes: dict[tuple[str, str], list[bool]] = {}
    for value in objects(data, "annotations"):
        for side, name in enumerate(systems.get(value["convo_id"], ())):
            answer = value[f"entity{side}_annotation"]["is_human"]
            votes.setdefault((value["convo_id"], name), []).append(answer is True)
    return {side: sum(found) / len(found) for side, found in votes.items()}


def objects(data: Path, part: str) -> Iterator[dict[str, Any]]:
    """The lines of one of the files."""
    path = data / f"{NAME}.{part}.jsonl.gz"
    if not path.exists():
        raise InputError(f"no {path.name} in {str(data)!r}", hint=f"put {path.name} there, or name another --data")
    for _, line in lines(path):
        yield json.loads(line)


def scored(dialogues: Sequence[Dialogue], metrics: Sequence[str]) -> list[Score]:
    """Scores of every utterance of every system by every metric."""
    systems = {name for dialogue in dialogues for name in dialogue.systems.values()}
    judged = list(samples(dialogues, targets=systems))
    return [score for by_system in evaluate_all(metrics, judged, n_bootstrap=0) for score in by_system[""].scores()]


def rankings(
    scores: Sequence[Score], dialogues: Sequence[Dialogue], human: dict[str, float], resamples: int
) -> Iterable[Ranking]:
    methods: tuple[Method, ...] = ("mean", "bradley-terry")
    for metric in dict.fromkeys(score.metric for score in scores):
        rows = dialogue_scores(scores, dialogues, metric=metric)
        for method in methods:
            lower = (
                metric_names.direction(metric) == "lower"
            )  # `length` defines neither as better: here longer replies win
            yield rank(rows, method=method, lower_is_better=lower, n_bootstrap=resamples, human=human)


def dialogue_agreement(
    scores: Sequence[Score], dialogues: Sequence[Dialogue], human: dict[tuple[str, str], float], resamples: int
) -> Iterator[DialogueAgreement]:
    """Spearman of each metric with people over the sides of dialogues; dialogues are resampled."""
    for metric in dict.fromkeys(score.metric for score in scores):
        rows = dialogue_scores(scores, dialogues, metric=metric)
        rated = [row for row in rows if (row.dialogue, row.system) in human and not np.isnan(row.value)]
        values = np.array([row.value for row in rated])
        people = np.array([human[row.dialogue, row.system] for row in rated])

        def agreement(places: Places, values: Floats = values, people: Floats = people) -> float:
            return float(spearman_rows(values[places][None], people[places][None])[0])

        value, ci, _ = interval_by_unit([row.dialogue for row in rated], agreement, resamples=resamples)
        yield DialogueAgreement(metric, value, ci, len(rated))


def show(found: Sequence[Ranking], human: dict[str, float]) -> None:
    order = sorted((name for name in human if any(_has(r, name) for r in found)), key=lambda name: -human[name])
    rows = [["people: judged human", *(number(human[name]) for name in order)]]
    for ranking in found:
        standing = {s.system: s for s in ranking.standings}
        cells = [f"{standing[n].rank} {_range(standing[n].rank_range)} {standing[n].score:.3f}" for n in order]
        rows.append([f"{ranking.metric}, {ranking.method}", *cells])
    print_table("rank, range of ranks, score", ["metric", *order], rows)
    rows = []
    for ranking in found:
        estimates = [ranking.human[name] for name in COEFFICIENTS]
        cells = [f"{number(e.value)} {interval(e.ci)} p={p_value(e.p)}" for e in estimates]
        rows.append([f"{ranking.metric}, {ranking.method}", *cells])
    print_table(f"agreement with people over {len(order)} systems", ["metric", *COEFFICIENTS], rows)


def show_dialogue_agreement(found: Sequence[DialogueAgreement]) -> None:
    rows = [[one.metric, f"{one.sides:,}", number_with_interval(one.spearman, one.ci)] for one in found]
    print_table("agreement with people over sides of dialogues", ["metric", "sides", "spearman"], rows)


def _has(ranking: Ranking, name: str) -> bool:
    return any(standing.system == name for standing in ranking.standings)


def _range(ranks: tuple[int, int] | None) -> str:
    return "" if ranks is None else f"({ranks[0]}–{ranks[1]})"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("INTERLOQ_DATA", "."), help="data folder ($INTERLOQ_DATA)")
    parser.add_argument("-m", "--metric", action="append", metavar="SPEC", help="a metric; repeat for more")
    parser.add_argument("--humans", action="store_true", help="add dialogues of people with each other as a system")
    parser.add_argument("--limit", type=int, metavar="N", help="only N dialogues per pair of systems (default: all 45)")
    parser.add_argument("--bootstrap", type=int, default=1000, metavar="N", help="resamples (default 1000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    try:
        dialogues = read_dialogues(Path(args.data), humans=args.humans, limit=args.limit)
        human = judged_human(Path(args.data))
        human = human if args.humans else {name: share for name, share in human.items() if name != HUMAN}
        scores = scored(dialogues, args.metric or ["length"])
        found = list(rankings(scores, dialogues, human, args.bootstrap))
        sides = judged_human_sides(Path(args.data))
        by_dialogue = list(dialogue_agreement(scores, dialogues, sides, args.bootstrap))
    except InterloqError as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        each = [asdict(one) for one in by_dialogue]
        print_json({"people": human, "rankings": [asdict(ranking) for ranking in found], "dialogues": each})
    else:
        show(found, human)
        show_dialogue_agreement(by_dialogue)
    return 0


if __name__ == "__main__":
    sys.exit(main())
