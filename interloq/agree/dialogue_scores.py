# SPDX-License-Identifier: Apache-2.0
"""From the scores of single utterances to scores of dialogues.

A system's score in a dialogue is the mean over its scored utterances, or the score of a metric that judges the whole
dialogue (`llm_judge(of='dialogue')`), whose scores have the dialogue's id. Dialogues of different systems are paired if
they share an *occasion*: the one they name, or else the partner, the given opening and the side that starts. Occasions
are the unit of resampling and of comparison between systems. A dialogue that names no occasion and has no given opening
is not paired; ids do not matter. Repeats of an occasion are numbered in the order of a hash of their texts, so that no
result depends on ids. Unscored dialogues are kept, with the reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from interloq.agree.score_columns import equal
from interloq.data.records.dialogue_names import natural
from interloq.errors import InputError, count
from interloq.metrics import metric_names
from interloq.play.samples import system_ratings, target_of
from interloq.play.talk import failures, kind_of
from interloq.records import Dialogue, Sample, Score, Turn
from interloq.reliability.weak_references import predicted_metric
from interloq.signature import fingerprint
from interloq.statistics.rounding import mean_of

Pairing = Literal["occasion", "opening", "none"]
PAIR_HINTS = {
    "occasion": 'add "occasion": "…" to dialogues that belong together, or pair by none',
    "opening": "let all systems start with the same given turns (interloq play run), or pair by none",
}
NO_SCORE = "none of its utterances has a score"
LARGEST = 1e100  # largest score: above it, sums of squares overflow
TOO_LARGE = "too large to be averaged"
TURNS = "turns"  # the metric that counts the turns of rated dialogues


@dataclass(frozen=True, slots=True)
class DialogueScore:
    """One metric's score of one system in one dialogue; NaN with a reason if there is none."""

    dialogue: str
    system: str
    partner: str
    value: float
    occasion: str  # shared by the dialogues that systems are compared over
    utterances: int = 0  # scored ones
    reason: str = ""  # why there is no value
    failure: str = ""  # what went wrong while it was played: `name: what`, without the turn so that it can be counted
    metric: str = ""
    pairing: Pairing = "opening"  # how the occasion was determined; "none": the dialogue is not paired
    content: str = ""  # fingerprint of the texts, independent of the dialogue's id
    turns: tuple[float, ...] = ()  # score of each utterance of the system, in order; NaN if unscored
    opens: bool = False  # whether its first utterance opens the dialogue, and so answers nothing


def metrics_of(scores: Iterable[Score]) -> list[str]:
    """Return the names of the metrics in scores, sorted."""
    return sorted({score.metric for score in scores})


def select_rankable(metrics: Sequence[str], lower_is_better: bool | None) -> tuple[list[str], dict[str, str]]:
    """Return the metrics that can rank systems, and why the others cannot; refuse scores without any such metric."""
    ranked: list[str] = []
    unranked: dict[str, str] = {}
    hints: dict[str, None] = {}
    for name in metrics:
        why = metric_names.unrankable(name, lower_is_better)
        if predicted_metric(name):
            why = "it predicts how reliable references are, not how good replies are", "rank by the scores of a metric"
        if why is None:
            ranked.append(name)
        else:
            unranked[name] = why[0]
            hints[why[1]] = None
    if unranked and not ranked:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in unranked.items())
        raise InputError(f"cannot rank by {reasons}", hint=", or ".join(hints))
    return ranked, unranked


def metric_of(rows: Iterable[DialogueScore]) -> str:
    """Return the metric of these rows, or an empty string if there are none."""
    return next((row.metric for row in rows), "")


def downwards(rows: Iterable[DialogueScore], lower_is_better: bool | None) -> bool:
    """Return whether lower is better: as given, or as the rows' metric defines it; refuse an unknown direction."""
    return metric_names.downwards(metric_of(rows), lower_is_better)


def dialogue_scores(
    scores: Iterable[Score], dialogues: Iterable[Dialogue], *, metric: str = "", pair_by: Pairing | None = None
) -> list[DialogueScore]:
    """Return one row per dialogue and system, in the order of the ids; `metric` may be omitted if there is only one.

    A dialogue without any score counts for its target. If both sides of any dialogue are scored, both sides of all
    dialogues get rows. Dialogues are paired by the occasion they name, or else by their given opening, unless `pair_by`
    is given.
    """
    by_id: dict[str, Dialogue] = {}
    for dialogue in dialogues:
        if dialogue.id in by_id:
            hint = "name each file once, and give every dialogue its own id, for example <system>/<number>"
            raise InputError(f"duplicate dialogue id {dialogue.id!r}", hint=hint)
        by_id[dialogue.id] = dialogue
    values, metric = _values(scores, metric, by_id)
    _check_dialogues(values, by_id)
    spoken: dict[str, set[str]] = {}
    for id, system in values:
        spoken.setdefault(id, set()).add(system)
    both = any(len(systems) > 1 for systems in spoken.values())
    rows = []
    for id in sorted(by_id, key=natural):
        dialogue = by_id[id]
        judged = spoken.get(id) or {target_of(dialogue)}
        if both:
            judged = set(dialogue.systems.values())
        rows += [_row(dialogue, system, values.get((id, system), {}), metric, pair_by) for system in sorted(judged)]
    if pair_by not in (None, "none") and all(row.pairing == "none" for row in rows):
        needed = "names an occasion" if pair_by == "occasion" else "has given turns"
        raise InputError(f"cannot pair by {pair_by}: no dialogue {needed}", hint=PAIR_HINTS[pair_by])
    return _number_repeats(rows)


def both_sides(rows: Sequence[DialogueScore]) -> bool:
    """Return whether both systems of a dialogue are judged."""
    return len({row.dialogue for row in rows}) < len(rows)


def unit_names(rows: Sequence[DialogueScore]) -> Callable[[DialogueScore], str]:
    """Return the function that names the independent unit of a row: its dialogue if both sides of dialogues are judged,
    otherwise the occasion, which dialogues of several systems may share.
    """
    if both_sides(rows):
        return lambda row: f"{row.content} {row.dialogue}"
    return lambda row: row.occasion


def pairing_of(rows: Iterable[DialogueScore]) -> Pairing | Literal["mixed"]:
    """Return how the dialogues are paired; `mixed` if not all in the same way."""
    kinds = sorted({row.pairing for row in rows})
    if not kinds:
        return "none"
    if len(kinds) > 1:
        return "mixed"
    return kinds[0]


def partners(rows: Iterable[DialogueScore]) -> dict[str, set[str]]:
    """Return the partners of each system."""
    met: dict[str, set[str]] = {}
    for row in rows:
        met.setdefault(row.system, set()).add(row.partner)
    return met


def _values(
    scores: Iterable[Score], metric: str, dialogues: Collection[str]
) -> tuple[dict[tuple[str, str], dict[str, float]], str]:
    """Return scores by dialogue and system, then by utterance (NaN if unscored); and the name of the metric."""
    values: dict[tuple[str, str], dict[str, float]] = {}
    metrics = set()
    for score in scores:
        metrics.add(score.metric)
        if metric and score.metric != metric:
            continue
        value = math.nan if score.value is None else float(score.value)
        if abs(value) > LARGEST:
            raise InputError(
                f"{score.metric} scored {score.id!r} {value:g}: {TOO_LARGE}", hint="leave it unscored (null)"
            )
        dialogue = dialogue_of(score, dialogues)
        if not dialogue or not score.system:
            raise InputError(
                f"score {score.id!r} of {score.metric} does not belong to an utterance in a dialogue",
                hint="score the output of `interloq play samples`: ids <dialogue>#<turn>, each with its system",
            )
        turns = values.setdefault((dialogue, score.system), {})
        if not equal(turns.setdefault(score.id, value), value):
            raise InputError(
                f"{score.metric} scored {score.id!r} twice: {turns[score.id]:g} and {value:g}",
                hint="give each metric's scores once; two runs of one system need two names",
            )
    if not metrics:
        raise InputError("no scores", hint="make some: interloq score SAMPLES -m METRIC -o scores.jsonl")
    choices = f"choose one of: {', '.join(sorted(metrics))}"
    if metric and metric not in metrics:
        raise InputError(f"no scores of {metric!r}", hint=choices)
    if not metric and len(metrics) > 1:
        raise InputError(f"scores of {len(metrics)} metrics", hint=choices)
    return values, metric or metrics.pop()


def dialogue_of(score: Score, dialogues: Collection[str]) -> str:
    """Return the dialogue that a score belongs to.

    If the score names none of these dialogues, its id is read as `interloq play samples` makes it.
    """
    if metric_names.about_dialogues(score.metric):
        return score.id
    if score.dialogue in dialogues:
        return score.dialogue
    return score.id.rpartition("#")[0]


def _check_dialogues(values: Mapping[tuple[str, str], object], by_id: Mapping[str, Dialogue]) -> None:
    missing = sorted({dialogue for dialogue, _ in values} - by_id.keys(), key=natural)
    if missing:
        raise InputError(
            f"{count(len(missing), 'scored dialogue')} not found among the dialogues, for example {missing[0]!r}",
            hint="name every file of dialogues that was scored",
        )
    for id, system in values:
        if system not in by_id[id].systems.values():
            known = ", ".join(sorted(set(by_id[id].systems.values()))) or "none"
            raise InputError(
                f"{system!r} has scores in dialogue {id!r}, whose systems are: {known}",
                hint="give the dialogues that the samples were made from",
            )


def _row(
    dialogue: Dialogue, system: str, turns: Mapping[str, float], metric: str, pair_by: Pairing | None
) -> DialogueScore:
    known = sorted(value for value in turns.values() if not math.isnan(value))
    partner = next((name for name in dialogue.systems.values() if name != system), system)
    pairing, occasion = _occasion(dialogue, system, partner, pair_by)
    failure = "; ".join(dict.fromkeys(f"{bot}: {kind_of(what)}" for bot, what in failures(dialogue)))
    spoken = []
    for i, turn in enumerate(dialogue.turns):
        if i >= dialogue.given and dialogue.systems.get(turn.speaker) == system:
            spoken.append(i)
    return DialogueScore(
        dialogue=dialogue.id,
        system=system,
        partner=partner,
        value=mean_of(known) if known else math.nan,
        occasion=occasion,
        pairing=pairing,
        content=_content(dialogue.turns),
        utterances=len(known),
        reason="" if known else failure or NO_SCORE,
        failure=failure,
        metric=metric,
        turns=tuple(turns.get(f"{dialogue.id}#{i}", math.nan) for i in spoken),
        opens=0 in spoken,
    )


def _occasion(dialogue: Dialogue, system: str, partner: str, pair_by: Pairing | None) -> tuple[Pairing, str]:
    """Return how the dialogue is paired, and its occasion."""
    if dialogue.occasion and pair_by in (None, "occasion"):
        return "occasion", f"named {dialogue.occasion}"
    if not dialogue.given or pair_by not in (None, "opening"):
        return "none", f"alone {system}|{_content(dialogue.turns)}"
    speaks = next((turn.speaker for turn in dialogue.turns[dialogue.given :]), "")
    side = "first" if dialogue.systems.get(speaks, speaks) == system else "second"
    return "opening", "|".join([partner, _content(dialogue.turns[: dialogue.given]), side])


def _content(turns: Iterable[Turn]) -> str:
    return fingerprint(*(turn.text for turn in turns))


def _number_repeats(rows: Sequence[DialogueScore]) -> list[DialogueScore]:
    """Number the repeats of each occasion, independently of ids.

    In self-play, the same opening is the same occasion for all systems.
    """
    seen: Counter[tuple[str, str]] = Counter()
    numbered = list(rows)
    is_self_play = all(row.partner == row.system for row in rows)
    for i in sorted(range(len(rows)), key=lambda i: (rows[i].content, repr(rows[i].value), natural(rows[i].dialogue))):
        row, occasion = rows[i], rows[i].occasion
        if is_self_play:
            occasion = occasion.removeprefix(row.partner)
        seen[row.system, occasion] += 1
        numbered[i] = replace(row, occasion=f"{occasion}|{seen[row.system, occasion]}")
    return numbered


def means(rows: Iterable[DialogueScore]) -> dict[str, float]:
    """Return the mean score of each system over its scored dialogues; NaN if it has none."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(row.system, [])
        if not math.isnan(row.value):
            values[row.system].append(row.value)
    return {name: mean_of(v) if v else math.nan for name, v in sorted(values.items())}


@dataclass(frozen=True, slots=True)
class Extremes:
    """A system's best and worst dialogues, the most extreme first; no dialogue is in both."""

    best: tuple[DialogueScore, ...]
    worst: tuple[DialogueScore, ...]
    n: int  # dialogues to choose from


def extremes(rows: Sequence[DialogueScore], n: int, *, lower_is_better: bool | None = None) -> dict[str, Extremes]:
    """Return up to n best and n worst scored dialogues of each system; by default the metric defines the direction."""
    scored: dict[str, list[DialogueScore]] = {}
    for row in rows:
        if not math.isnan(row.value):
            scored.setdefault(row.system, []).append(row)
    sign = 1 if downwards(rows, lower_is_better) else -1
    by_system = {}
    for system, its_rows in sorted(scored.items()):
        order = sorted(its_rows, key=lambda row: (sign * row.value, natural(row.dialogue)))
        best = order[: min(n, (len(order) + 1) // 2)]
        worst = order[len(best) :][::-1][:n]
        by_system[system] = Extremes(tuple(best), tuple(worst), len(order))
    return by_system


def rated_dialogues(scores: Iterable[Score], dialogues: Sequence[Dialogue]) -> tuple[list[Score], list[Sample]]:
    """Return scores of dialogues by each metric and by their number of turns, and the dialogues as rated items.

    An item has no text of its own; dialogues on one occasion share a context. The number of turns is a metric because
    people often rate longer dialogues higher, and a metric should do better than that.
    """
    if not any(dialogue.ratings for dialogue in dialogues):
        raise InputError("no dialogue has ratings", hint='give dialogues "ratings": [{"value": 4, …}]')
    scores, by_id = list(scores), {dialogue.id: dialogue for dialogue in dialogues}
    dialogue_values: list[Score] = []
    items: dict[tuple[str, str], Sample] = {}
    for metric in metrics_of(scores):
        for row in dialogue_scores(scores, dialogues, metric=metric):
            value = None if row.reason else row.value
            dialogue_values.append(Score(row.dialogue, metric, value, row.reason, row.system))
            context = () if row.pairing == "none" else (row.occasion,)
            ratings = system_ratings(by_id[row.dialogue], row.system)
            items[row.dialogue, row.system] = Sample(row.dialogue, context, system=row.system, ratings=ratings)
    turns = [Score(id, TURNS, float(len(by_id[id].turns)), system=system) for id, system in items]
    return [*dialogue_values, *turns], list(items.values())
