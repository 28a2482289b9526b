"""FED with both sides, only positive and only negative follow-ups against people, and what it does to repetition.

Sato, Kishinami, Sugiyama, Akama, Tokuhisa and Suzuki (2022), section 5.2, Table 1 and section 7.1: FED's negative
follow-ups alone agree best with people, its judgment of fluency agrees poorly, and repetitive dialogues are rated low.

    python recipes/fed_variants.py --data FOLDER --work FOLDER --model smollm2

Three sets, all rated by people:

- Spot the Bot: dialogues of six bots with each other. Annotators said of each side whether it is fluent, specific,
  sensible (these are the paper's own questions) and human (taken as the overall judgment; "cannot tell" counts half).
- Ji et al. (2022): conversations of people with ten bots, rated by the person who talked; the deliberately degraded
  bot is left out. `fluent` and `consistent` stand for fluency and sensibleness; overall is the mean of the seven
  ratings, with `robotic` and `repetitive` reversed, as in that paper. Specificity was not asked.
- FED (Mehri and Eskenazi, 2020): 375 replies and 125 dialogues.

As in the paper, a side of a dialogue has the mean over its utterances. To save time, only its middle and its last
utterance are read; `--per-pair` and `--per-bot` say how many dialogues are used, drawn by a hash of their names,
equally many of each pair of bots or of each bot. Agreement over dialogues and over systems (means of their dialogues)
are reported apart. Intervals come from resampled dialogues, or people, if they rated several.

Repetition is tested in two ways. Paired: the last utterance of a bot is replaced by one of its own earlier utterances
in the dialogue; as the control, by one that the bot said in another dialogue, which fits as badly but repeats nothing.
And by correlation: FED against the share of bigrams that were said before, and against people's ratings `repetitive`.

What decides was chosen before any result was seen. For the claims about Table 1, it is agreement over the dialogues of
Spot the Bot, because people answered the paper's questions there, with several annotators per dialogue: negative only
against both sides, as the mean of specificity and overall (fluency is the other claim, and sensibleness has no positive
follow-ups); and for fluency, the mean of the other three dimensions against it, with negative follow-ups, which the
paper goes on with. For repetition, it is the paired experiment by specificity with negative follow-ups, the variant
that the paper's section 7 is about. The model is not the paper's Blender (9B), and the follow-ups of sensibleness and
overall are our own, because the paper's were not published.

WORK keeps all likelihoods, so an interrupted run resumes. The exit code is 0, or 2 if data or the model are missing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fed_follow_ups import BOTH, DIMENSIONS, NEGATIVE, POSITIVE, SETS, Floats, Turns, has_both_sides, likelihoods
from fed_table import read as read_fed
from rated_sets import data_folder
from results import Cell, Finding, Places, PublishedTable, add_measured_option, interval_by_unit, report_measured
from spot_the_bot import objects, read_dialogues

from interloq import InputError, InterloqError, Sample, Turn, evaluate
from interloq.data.files.opening import lines
from interloq.metrics.likelihood.fed import turns as turns_of_sample
from interloq.signature import fingerprint
from interloq.statistics.correlation import spearman_rows

SPOT, JI, FED_REPLIES, FED_DIALOGUES = "Spot the Bot", "Ji et al. (2022)", "FED, replies", "FED, dialogues"
DIALOGUE_SETS = (SPOT, JI)
SPOT_QUESTIONS = {
    "fluent": "fluencyValue",
    "specificity": "specificityValue",
    "sensibleness": "sensitivenessValue",  # spelt like this in the data
    "overall": "is_human",
}
JI_QUESTIONS = {"fluent": "fluent", "sensibleness": "consistent"}
REVERSED = ("robotic", "repetitive")
DEGRADED = "QualityControl"
FED_QUESTIONS = {
    FED_REPLIES: {
        "fluent": "fluent",
        "specificity": "specific",
        "sensibleness": "semantically appropriate",
        "overall": "overall",
    },
    FED_DIALOGUES: {"sensibleness": "coherent", "overall": "overall"},
}
TITLES = {"fluent": "Fluency", "specificity": "Specificity", "sensibleness": "Sensibleness", "overall": "Overall"}
COLUMNS = {BOTH: "FED", POSITIVE: "w/o neg", NEGATIVE: "w/o pos"}
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "fluent": {BOTH: 0.121, POSITIVE: -0.145, NEGATIVE: 0.171},
    "specificity": {BOTH: -0.022, POSITIVE: -0.364, NEGATIVE: 0.340},
    "sensibleness": {BOTH: 0.370, NEGATIVE: 0.370},
    "overall": {BOTH: 0.329, POSITIVE: -0.367, NEGATIVE: 0.386},
}
BEST_ALONE, POOR_FLUENCY, PUNISHED = "002/40", "002/41", "002/30"  # rows of docs/papers.md
OTHERS = ("specificity", "sensibleness", "overall")
TWO_SIDED = ("specificity", "overall")
DECIMALS = 12  # of means, so that equal means are tied regardless of rounding


@dataclass(frozen=True, slots=True)
class Side:
    """One bot's part of a dialogue: what people said about it, and which of its utterances are read."""

    dialogue: str
    unit: str  # what is resampled: the dialogue, or the person who rated several
    system: str
    ratings: Mapping[str, float]  # by dimension, and `repetitive`
    turns: Turns
    own: tuple[int, ...]  # places of its utterances that answer something
    read: tuple[int, ...]

    def contexts(self) -> list[Turns]:
        """Return the dialogue up to each utterance that is read."""
        return [self.turns[: place + 1] for place in self.read]


@dataclass(frozen=True, slots=True)
class Scored:
    """Rated items of a set with FED's scores."""

    name: str
    level: str
    units: Sequence[str]
    unit: str
    systems: Sequence[str]
    human: Mapping[str, Floats]
    fed: Mapping[tuple[str, str], Floats]  # by dimension and set of follow-ups


@dataclass(frozen=True, slots=True)
class Replaced:
    """A dialogue up to a bot's last utterance: as it was, and with another utterance of the bot in its place."""

    dialogue: str
    unchanged: Turns
    repeated: Turns  # one of its earlier utterances in this dialogue
    foreign: Turns  # an utterance from another dialogue


# ---- reading ---------------------------------------------------------------------------------------------------------


def spot_sides(data: Path, per_pair: int) -> list[Side]:
    """Return both sides of some dialogues of each pair of bots."""
    answers: dict[tuple[str, int, str], list[float]] = {}
    for value in objects(data, "annotations"):
        for side in range(2):
            for dimension, question in SPOT_QUESTIONS.items():
                answer = value[f"entity{side}_annotation"].get(question)
                number = 0.5 if answer is None else float(answer)
                answers.setdefault((value["convo_id"], side, dimension), []).append(number)
    by_pair: dict[tuple[str, ...], list[Side]] = {}
    for dialogue in sorted(read_dialogues(data), key=lambda dialogue: fingerprint(dialogue.id)):
        chosen = by_pair.setdefault(tuple(sorted(dialogue.systems)), [])
        sides = []
        for side, (speaker, system) in enumerate(dialogue.systems.items()):
            ratings = {
                dimension: float(np.mean(answers[dialogue.id, side, dimension]))
                for dimension in DIMENSIONS
                if (dialogue.id, side, dimension) in answers
            }
            sides += _side(dialogue.id, dialogue.id, system, ratings, dialogue.turns, speaker)
        if len(sides) == 2 and len(chosen) < 2 * per_pair and all(side.ratings for side in sides):
            chosen += sides
    return [side for sides in by_pair.values() for side in sides]


def ji_sides(data: Path, per_bot: int) -> list[Side]:
    """Return the bot's side of some conversations with each bot."""
    path = data / "ji2022_part.jsonl.xz"
    if not path.exists():
        raise InputError(f"no {path.name} in {str(data)!r}", hint="put it there, or name another --data")
    talks = [json.loads(line) for _, line in lines(path)]
    by_bot: dict[str, list[Side]] = {}
    for talk in sorted(talks, key=lambda talk: fingerprint(talk["id"])):
        answers = {name: float(value) for name, value in talk["ratings"].items()}
        better = [100 - value if name in REVERSED else value for name, value in answers.items()]
        ratings = {dimension: answers[question] for dimension, question in JI_QUESTIONS.items()}
        ratings |= {"overall": float(np.mean(better)), "repetitive": answers["repetitive"]}
        turns = [Turn(turn["text"], turn["speaker"]) for turn in talk["turns"] if turn["text"].strip()]
        chosen = by_bot.setdefault(talk["system"], [])
        if talk["system"] != DEGRADED and len(chosen) < per_bot:
            chosen += _side(talk["id"], talk["worker"], talk["system"], ratings, turns, "bot")
    return [side for sides in by_bot.values() for side in sides]


def _side(
    dialogue: str, unit: str, system: str, ratings: Mapping[str, float], turns: Sequence[Turn], speaker: str
) -> list[Side]:
    """Return the side of a speaker, or none if it never answers."""
    said = [turn for turn in turns if turn.text.strip()]
    own = tuple(place for place, turn in enumerate(said) if place and turn.speaker == speaker)
    if not own:
        return []
    read = tuple(sorted({own[len(own) // 2], own[-1]}))
    return [Side(dialogue, unit, system, ratings, tuple(turn.text for turn in said), own, read)]


def replaced_endings(sides: Sequence[Side], limit: int) -> list[Replaced]:
    """Return dialogues whose last utterance of a bot can be replaced; one side of each dialogue."""
    by_system: dict[str, list[Side]] = {}
    for side in sides:
        by_system.setdefault(side.system, []).append(side)
    endings: dict[str, Replaced] = {}
    for side in sorted(sides, key=lambda side: fingerprint(side.dialogue, side.system)):
        last = side.own[-1]
        said = {_plain(turn) for turn in side.turns[: last + 1]}
        earlier = [
            side.turns[place] for place in side.own[:-1] if _plain(side.turns[place]) != _plain(side.turns[last])
        ]
        others = [
            other.turns[place]
            for other in by_system[side.system]
            for place in other.own
            if other.dialogue != side.dialogue and _plain(other.turns[place]) not in said
        ]
        if side.dialogue in endings or not earlier or not others:
            continue
        rng = np.random.default_rng(int(fingerprint(side.dialogue), 16))
        before = side.turns[:last]
        repeated, foreign = earlier[int(rng.integers(len(earlier)))], others[int(rng.integers(len(others)))]
        endings[side.dialogue] = Replaced(
            side.dialogue, (*before, side.turns[last]), (*before, repeated), (*before, foreign)
        )
        if len(endings) == limit:
            break
    return list(endings.values())


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# ---- scoring ---------------------------------------------------------------------------------------------------------

Score = Callable[[Sequence[Turns]], Mapping[tuple[str, str], Floats]]


def scorer(model: str, layout: str, work: Path) -> Score:
    """Return a function that scores dialogues by every variant of FED."""

    def score(dialogues: Sequence[Turns]) -> Mapping[tuple[str, str], Floats]:
        found = likelihoods(model, dialogues, work, layout=layout)
        scores: dict[tuple[str, str], Floats] = {}
        for dimension in DIMENSIONS:
            for sets in SETS if has_both_sides(dimension) else (NEGATIVE,):
                scores[dimension, sets] = found.fed(dimension, sets)
            scores.setdefault((dimension, BOTH), scores[dimension, NEGATIVE])
        return scores

    return score


def score_sides(name: str, sides: Sequence[Side], unit: str, score: Score) -> Scored:
    """Score the sides of dialogues: the mean over the utterances that are read."""
    contexts = [context for side in sides for context in side.contexts()]
    owners = np.repeat(np.arange(len(sides)), [len(side.read) for side in sides])
    sizes = np.bincount(owners, minlength=len(sides))
    fed = {key: np.bincount(owners, values, len(sides)) / sizes for key, values in score(contexts).items()}
    names = [name for name in (*DIMENSIONS, "repetitive") if name in sides[0].ratings]
    human = {name: np.array([side.ratings[name] for side in sides]) for name in names}
    systems = [side.system for side in sides]
    return Scored(name, "dialogue", [side.unit for side in sides], unit, systems, human, fed)


def score_fed_set(name: str, samples: Sequence[Sample], score: Score) -> Scored:
    """Score the replies or the dialogues of FED."""
    fed = score([turns_of_sample(sample) for sample in samples])
    human = {}
    for dimension, question in FED_QUESTIONS[name].items():
        means = []
        for sample in samples:
            values = [rating.value for rating in sample.ratings if rating.aspect == question]
            given = [value for value in values if value is not None]
            means.append(float(np.mean(given)) if given else np.nan)
        human[dimension] = np.array(means)
    level, unit = ("reply", "replies") if name == FED_REPLIES else ("dialogue", "dialogues")
    units = [fingerprint(*(turn.text for turn in sample.context)) for sample in samples]
    unit = "contexts" if level == "reply" else unit
    return Scored(name, level, units, unit, [sample.system for sample in samples], human, fed)


def repetition(sides: Sequence[Side]) -> Floats:
    """Return the share of bigrams that were said before, as the mean over all utterances of each side."""
    samples, owners = [], []
    for number, side in enumerate(sides):
        for place in side.own:
            context = [Turn(text) for text in side.turns[:place]]
            samples.append(Sample(f"{number}#{place}", context, side.turns[place]))
            owners.append(number)
    scores = evaluate("repetition", samples, n_bootstrap=0).by_sample
    values = np.array([scores[sample.key] for sample in samples], dtype=np.float64)
    owner = np.array(owners)
    scored = ~np.isnan(values)
    sums = np.bincount(owner[scored], values[scored], len(sides))
    sizes = np.bincount(owner[scored], minlength=len(sides))
    return np.asarray(sums / np.maximum(sizes, 1))


# ---- findings --------------------------------------------------------------------------------------------------------


def agreement(human: Floats, scores: Floats, places: Places) -> float:
    """Return Spearman's coefficient over these items; those without a rating are left out."""
    use = places[~np.isnan(human[places])]
    return float(spearman_rows(human[use][None], scores[use][None])[0])


def system_agreement(systems: Sequence[str], human: Floats, scores: Floats, places: Places) -> float:
    """Return Spearman's coefficient over the means of systems."""
    _, which = np.unique(np.asarray(systems), return_inverse=True)
    sizes = np.bincount(which[places])
    if not sizes.all():
        return float("nan")
    human_means = np.round(np.bincount(which[places], human[places]) / sizes, DECIMALS)
    score_means = np.round(np.bincount(which[places], scores[places]) / sizes, DECIMALS)
    return float(spearman_rows(human_means[None], score_means[None])[0])


def _agree(scored: Scored, level: str, dimension: str, sets: str, places: Places) -> float:
    human, scores = scored.human[dimension], scored.fed[dimension, sets]
    if level == "system":
        return system_agreement(scored.systems, human, scores, places)
    return agreement(human, scores, places)


def table_findings(scored: Scored, level: str) -> list[Finding]:
    """Return the findings about variants and about fluency on one set, over its items or over systems."""
    where = f"{scored.name}, {len(scored.units):,} {_items(scored)}"
    over = f"over {'systems' if level == 'system' else _level_name(scored)}"
    found: list[Finding] = []

    def add(item: str, way: str, statistic: Callable[[Places], float], published: float | None, decides: bool) -> None:
        value, ci, units = interval_by_unit(scored.units, statistic)
        found.append(
            Finding(
                item=item,
                way=f"{way}, {over}",
                value=value,
                ci=ci,
                units=units,
                unit=scored.unit,
                data=where,
                published=published,
                decides=decides and scored.name == SPOT and level == "dialogue",
            )
        )

    def gain(dimensions: Sequence[str], other: str) -> Callable[[Places], float]:
        def statistic(places: Places) -> float:
            gains = []
            for name in dimensions:
                alone = _agree(scored, level, name, NEGATIVE, places)
                gains.append(alone - _agree(scored, level, name, other, places))
            return float(np.mean(gains))

        return statistic

    two_sided = [name for name in TWO_SIDED if name in scored.human]
    for other in (BOTH, POSITIVE):
        against = f"negative only − {other.replace('_', ' ')}"
        published = float(np.mean([PUBLISHED[name][NEGATIVE] - PUBLISHED[name][other] for name in two_sided]))
        add(BEST_ALONE, f"{against}: {' and '.join(two_sided)}", gain(two_sided, other), published, other == BOTH)
        for name in two_sided if len(two_sided) > 1 else ():
            published = PUBLISHED[name][NEGATIVE] - PUBLISHED[name][other]
            add(BEST_ALONE, f"{against}: {name}", gain([name], other), published, False)
    if "fluent" not in scored.human:
        return found
    others = [name for name in OTHERS if name in scored.human]
    for sets in (NEGATIVE, BOTH):
        wanted = float(np.mean([PUBLISHED[name][sets] for name in others])) - PUBLISHED["fluent"][sets]

        def lead(places: Places, sets: str = sets) -> float:
            rest = [_agree(scored, level, name, sets, places) for name in others]
            return float(np.mean(rest)) - _agree(scored, level, "fluent", sets, places)

        way = f"mean of {', '.join(others)} − fluency, {sets.replace('_', ' ')}"
        add(POOR_FLUENCY, way, lead, wanted, sets == NEGATIVE)
    return found


def _level_name(scored: Scored) -> str:
    return "replies" if scored.level == "reply" else "dialogues"


def _items(scored: Scored) -> str:
    return "sides of dialogues" if scored.name == SPOT else _level_name(scored)


def table(scored: Scored, level: str) -> PublishedTable:
    """Return Table 1 with the figures of one set."""
    rows: dict[str, Sequence[Cell]] = {}
    for dimension in DIMENSIONS:
        cells = []
        for sets in COLUMNS:
            published = PUBLISHED[dimension].get(sets)
            if dimension not in scored.human or (dimension, sets) not in scored.fed:
                cells.append(Cell(published=published))
                continue

            def statistic(places: Places, dimension: str = dimension, sets: str = sets) -> float:
                return _agree(scored, level, dimension, sets, places)

            value, ci, _ = interval_by_unit(scored.units, statistic)
            cells.append(Cell(published=published, ours=value, ci=ci))
        rows[TITLES[dimension]] = cells
    note = "Sensibleness has no positive follow-ups."
    if scored.name == JI:
        note += " Ji et al. did not ask for specificity; consistent stands for sensibleness."
    if scored.name == FED_REPLIES:
        note += " Semantically appropriate stands for sensibleness."
    if scored.name == FED_DIALOGUES:
        note += " Only coherent, which stands for sensibleness, and overall were asked about dialogues."
    if scored.name == SPOT:
        note += " Overall is the share of answers that the bot is human."
    title = f"Spearman of FED with people, over {'systems' if level == 'system' else _level_name(scored)}"
    data = f"{scored.name}, {len(scored.units):,} {_items(scored)}"
    return PublishedTable(item="002/31", title=title, data=data, columns=list(COLUMNS.values()), rows=rows, note=note)


def paired_findings(name: str, endings: Sequence[Replaced], score: Score, *, decides: bool) -> list[Finding]:
    """Return how much FED falls when a bot's last utterance repeats an earlier one."""
    unchanged = score([ending.unchanged for ending in endings])
    repeated = score([ending.repeated for ending in endings])
    foreign = score([ending.foreign for ending in endings])
    units = [ending.dialogue for ending in endings]
    found = []
    for other, what in ((unchanged, "unchanged"), (foreign, "said in another dialogue")):
        for dimension in OTHERS:
            for sets in SETS if has_both_sides(dimension) else (NEGATIVE,):
                difference = other[dimension, sets] - repeated[dimension, sets]
                spread = float(np.std(np.concatenate([other[dimension, sets], repeated[dimension, sets]])))

                def drop(places: Places, difference: Floats = difference, spread: float = spread) -> float:
                    return float(difference[places].mean()) / spread

                value, ci, number = interval_by_unit(units, drop)
                is_theirs = (dimension, sets) == ("specificity", NEGATIVE)
                found.append(
                    Finding(
                        item=PUNISHED,
                        way=f"last utterance {what} − repeated, {dimension}, {sets.replace('_', ' ')}",
                        value=value,
                        ci=ci,
                        units=number,
                        unit="dialogues",
                        data=name,
                        decides=decides and is_theirs and other is unchanged,
                        note="in standard deviations of the score",
                    )
                )
    return found


def repetition_findings(scored: Scored, repeated: Floats) -> list[Finding]:
    """Return the correlation of FED with repetition, as counted and as rated, with its sign turned."""
    measures = {"share of repeated bigrams": repeated}
    if "repetitive" in scored.human:
        measures["people's rating `repetitive`"] = scored.human["repetitive"]
    found = []
    for what, values in measures.items():
        for level in ("dialogue", "system"):
            for dimension in OTHERS:

                def punished(
                    places: Places, level: str = level, values: Floats = values, dimension: str = dimension
                ) -> float:
                    scores = scored.fed[dimension, NEGATIVE]
                    if level == "system":
                        return -system_agreement(scored.systems, values, scores, places)
                    return -agreement(values, scores, places)

                value, ci, units = interval_by_unit(scored.units, punished)
                found.append(
                    Finding(
                        item=PUNISHED,
                        way=f"−Spearman of FED ({dimension}, negative only) with the {what}, over {level}s",
                        value=value,
                        ci=ci,
                        units=units,
                        unit=scored.unit,
                        data=f"{scored.name}, {len(scored.units):,} {_items(scored)}",
                    )
                )
    return found


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    args = _parser().parse_args(argv)
    try:
        data = data_folder(args.data)
        score = scorer(args.model, args.layout, Path(args.work))
        spot, ji = spot_sides(data, args.per_pair), ji_sides(data, args.per_bot)
        by_name = {SPOT: (spot, "dialogues"), JI: (ji, "people")}
        findings: list[Finding] = []
        tables: list[PublishedTable] = []
        for name, (sides, unit) in by_name.items():
            scored = score_sides(name, sides, unit, score)
            for level in ("dialogue", "system"):
                findings += table_findings(scored, level)
                tables.append(table(scored, level))
            endings = replaced_endings(sides, args.replaced)
            findings += paired_findings(name, endings, score, decides=name == SPOT)
            findings += repetition_findings(scored, repetition(sides))
        by_level = read_fed(data, args.limit)
        for name, level in ((FED_REPLIES, "turn"), (FED_DIALOGUES, "dialogue")):
            scored = score_fed_set(name, by_level[level], score)
            findings += table_findings(scored, scored.level)
            tables.append(table(scored, scored.level))
    except InterloqError as error:
        print(f"fed_variants: {error}", file=sys.stderr)
        return 2
    report_measured(args.measured, findings, tables, started)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="the data sets (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/fed", metavar="FOLDER", help="keeps all likelihoods (out/fed)")
    parser.add_argument("--model", default="smollm2", metavar="NAME", help="a causal language model (smollm2)")
    parser.add_argument("--layout", choices=("eos", "lines", "chat"), default="eos", help="how turns are written (eos)")
    parser.add_argument("--per-pair", type=int, default=8, metavar="N", help="dialogues per pair of bots (8)")
    parser.add_argument("--per-bot", type=int, default=24, metavar="N", help="conversations per bot (24)")
    parser.add_argument(
        "--replaced", type=int, default=120, metavar="N", help="dialogues made repetitive per set (120)"
    )
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="about N items per level of FED (all)")
    add_measured_option(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
