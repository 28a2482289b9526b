# SPDX-License-Identifier: Apache-2.0
"""From scores and the records they judge to the units of a version, with ratings on a common scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores, metrics_of
from interloq.agree.judgments import collect
from interloq.agree.score_columns import equal
from interloq.compare.compare_options import Ratings
from interloq.compare.comparison import Pairing
from interloq.compare.match_versions import Unit
from interloq.data.records.dialogue_names import name_dialogues
from interloq.data.records.raters import normalise, rater_notes, select_ratings
from interloq.data.records.sample_fingerprint import SamplePrint
from interloq.errors import InputError
from interloq.metrics.metric_names import about_dialogues
from interloq.records import Dialogue, Sample, SampleKeys, Score, format_key
from interloq.signature import fingerprint

ALL = Ratings()


@dataclass(slots=True)
class _Scores:
    """Scores of one unit by metric, and reasons for missing ones."""

    values: dict[str, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)  # id → fingerprint of what was scored

    def add(self, score: Score) -> None:
        """Add a score of the unit or, if it is a dialogue, of one of its utterances."""
        known = self.values.setdefault(score.metric, [])
        if score.sample:
            self.samples[score.id] = score.sample
        if score.value is not None:
            known.append(float(score.value))
        elif score.reason:
            self.reasons[score.metric] = score.reason

    def sample(self) -> str:
        """Return the fingerprint of the scored reply, or of all utterances of a dialogue together."""
        if len(self.samples) < 2:
            return "".join(self.samples.values())
        prints = [self.samples[id] for id in sorted(self.samples)]
        return str(SamplePrint(reply=fingerprint(*prints)))

    def means(self) -> dict[str, float]:
        """Return the mean score by metric; NaN if there is none."""
        means = {}
        for metric, values in self.values.items():
            means[metric] = math.fsum(values) / len(values) if values else math.nan
        return means


def sample_units(scores: Iterable[Score], samples: Sequence[Sample] = (), *, ratings: Ratings = ALL) -> list[Unit]:
    """Return one unit per scored sample; `samples`, if given, add contexts, texts, ratings and fields to slice by.

    Utterances of played dialogues, whose ids start with `system~`, become one unit per dialogue.
    """
    sample_keys = SampleKeys(sample.key for sample in samples)
    by_key = {sample.key: sample for sample in name_dialogues(samples)}
    rating_of = mean_ratings(samples, ratings)
    scores_of: dict[str, _Scores] = {}  # unit → its scores
    seen: dict[tuple[str, str], float] = {}
    players: dict[str, str] = {}  # played dialogue → its system
    dialogues: dict[str, str] = {}
    for score in scores:
        value = math.nan if score.value is None else float(score.value)
        if math.isinf(value) or not equal(seen.setdefault((score.id, score.metric), value), value):
            both = f"{seen[score.id, score.metric]:g} and {value:g}"
            what = f"{score.metric} scored {format_key(score.key)} twice: {both}"
            raise InputError(what, hint="give each metric's scores once, and choose one system of the file")
        unit_id = score.id
        if played := find_played_dialogue(score):
            unit_id = played
            players[played] = score.system
        dialogues[score.id] = score.dialogue
        scores_of.setdefault(unit_id, _Scores()).add(score)
    units = []
    for unit_id, unit_scores in scores_of.items():
        rating = math.nan
        if unit_id in players:
            occasion = unit_id.removeprefix(f"{players[unit_id]}~")
            unit = Unit(unit_id, {}, {"occasion": occasion}, fields={"partner": occasion.partition("/")[0]})
        else:
            sample = None
            if key := sample_keys.find(unit_id):
                sample, rating = by_key[key], rating_of.get(key, math.nan)
            unit = sample_unit(unit_id, sample, dialogues[unit_id])
        values = unit_scores.means()
        reasons = {metric: why for metric, why in unit_scores.reasons.items() if math.isnan(values[metric])}
        units.append(replace(unit, values=values, reasons=reasons, rating=rating, sample=unit_scores.sample()))
    place = {sample.id: i for i, sample in enumerate(samples)}
    return sorted(units, key=lambda unit: place.get(unit.id, len(place)))  # neighbours in the file stay neighbours


def find_played_dialogue(score: Score) -> str:
    """Return the dialogue of `interloq play run` to which a score or the scored utterance belongs; otherwise ""."""
    if not score.system or not score.id.startswith(f"{score.system}~"):
        return ""
    if about_dialogues(score.metric):
        return score.id
    return score.dialogue or score.id.rpartition("#")[0]


def dialogue_units(scores: Sequence[Score], dialogues: Sequence[Dialogue], *, ratings: Ratings = ALL) -> list[Unit]:
    """Return one unit per dialogue: its score or the mean score of its judged utterances, paired by occasion."""
    records = {dialogue.id: dialogue for dialogue in dialogues}
    rating_of = mean_ratings([Sample(d.id, (), "", ratings=d.ratings) for d in dialogues], ratings)
    rows_of: dict[str, dict[str, DialogueScore]] = {}  # dialogue → metric → its score
    for metric in metrics_of(scores):
        for row in dialogue_scores(scores, dialogues, metric=metric):
            rows_of.setdefault(row.dialogue, {})[metric] = row
    return [_dialogue_unit(records[id], rows, rating_of.get((id, ""), math.nan)) for id, rows in rows_of.items()]


def _dialogue_unit(dialogue: Dialogue, rows: Mapping[str, DialogueScore], rating: float) -> Unit:
    first = next(iter(rows.values()))
    keys: dict[Pairing, str] = {}
    if first.pairing != "none":
        keys["occasion"] = first.occasion
    return Unit(
        id=dialogue.id,
        values={metric: row.value for metric, row in rows.items()},
        keys=keys,
        rating=rating,
        fields={"partner": first.partner, **_texts(dialogue)},
        prompt="\n".join(turn.text for turn in dialogue.turns[: dialogue.given]),
        text="\n".join(f"{turn.speaker}: {turn.text}" for turn in dialogue.turns[dialogue.given :]),
        reasons={metric: row.reason for metric, row in rows.items() if row.reason},
    )


def _texts(record: Sample | Dialogue) -> dict[str, str]:
    """Return the further fields of a record as texts."""
    return {name: str(value) for name, value in record.fields.items()}


def mean_ratings(samples: Sequence[Sample], ratings: Ratings = ALL) -> dict[tuple[str, str], float]:
    """Return the mean rating of each sample that has one."""
    aspects: set[str] = set()
    for sample in samples:
        aspects.update(rating.aspect for rating in sample.ratings)
    if not aspects or (not ratings.aspect and "overall" not in aspects):
        return {}
    aspect = ratings.aspect or "overall"
    judgments = collect(samples, aspect=aspect, role=ratings.role, normalise=ratings.normalise)
    pairs = zip(judgments.keys, judgments.mean().tolist(), strict=True)
    return {key: value for key, value in pairs if not math.isnan(value)}


def sample_unit(id: str, sample: Sample | None, dialogue: str = "") -> Unit:
    """Return a unit without scores; `sample`, if known, adds its context, text and dialogue."""
    keys: dict[Pairing, str] = {"id": id}
    if sample is None:
        return Unit(id, {}, keys, dialogue)
    turns = tuple(turn.text for turn in sample.context)
    ends: tuple[str, ...] = ()
    if turns:
        keys["context"] = fingerprint(*turns)
    if len(turns) > 1:
        ends = (fingerprint(turns[0]), fingerprint(turns[-1]))
    return Unit(
        id=id,
        values={},
        keys=keys,
        dialogue=sample.dialogue or dialogue,
        prompt="\n".join(turns),
        text=sample.response,
        turns=turns,
        ends=ends,
        fields=_texts(sample),
    )


def common_scale(records: Mapping[str, Sequence[Any]], ratings: Ratings) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the samples or dialogues of each version with comparable ratings, and notes on the raters.

    Only raters who rated all versions have normalised ratings. The others would hide the difference: the mean of a
    rater's z-scores is 0, whichever version they rated.
    """
    aspect, role = ratings.aspect or "overall", ratings.role
    every = list(chain.from_iterable(records.values()))
    notes = rater_notes(every, aspect=aspect, role=role, normalised=bool(ratings.normalise))
    if not ratings.normalise:
        return {side: list(side_records) for side, side_records in records.items()}, notes
    rated_sides = []
    for side_records in records.values():
        raters = set[str]()
        for record in side_records:
            raters |= {r.rater for r in select_ratings(record, aspect, role) if r.rater and r.value is not None}
        if raters:
            rated_sides.append(raters)
    shared = set.intersection(*rated_sides) if len(rated_sides) > 1 else set()
    if not shared:
        raise InputError(
            f"no rater of {aspect!r} rated both versions, so ratings normalised by rater cannot compare them",
            hint="omit --normalise, or let the same people rate both",
        )
    scaled, left_out = normalise(every, ratings.normalise, aspect=aspect, role=role, raters=shared)
    remaining = iter(scaled)
    by_side = {side: list(islice(remaining, len(side_records))) for side, side_records in records.items()}
    return by_side, [*notes, *left_out]
