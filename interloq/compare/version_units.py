# SPDX-License-Identifier: Apache-2.0
"""From scores and the records they judge to the units of a version."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores, metrics_of
from interloq.agree.judgments import collect
from interloq.agree.score_columns import equal
from interloq.compare.comparison import Pairing
from interloq.compare.versions import Unit
from interloq.data.records.dialogue_names import name_dialogues
from interloq.data.records.raters import Normalise
from interloq.data.records.sample_fingerprint import SamplePrint
from interloq.errors import InputError
from interloq.metrics.metric_names import about_dialogues
from interloq.records import Dialogue, Sample, SampleKeys, Score, format_key
from interloq.signature import fingerprint


@dataclass(frozen=True, slots=True)
class Ratings:
    """Whose ratings of what are averaged."""

    aspect: str = ""  # empty: `overall`, if there are ratings of it
    role: str = ""
    normalise: Normalise = ""  # put each rater's ratings on a common scale


ALL = Ratings()


@dataclass(slots=True)
class _Scores:
    """Scores of one unit by metric, and why there is none."""

    values: dict[str, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)  # id → fingerprint of what was scored

    def add(self, score: Score) -> None:
        """One more score; if the unit is a dialogue, of one of its utterances."""
        known = self.values.setdefault(score.metric, [])
        if score.sample:
            self.samples[score.id] = score.sample
        if score.value is not None:
            known.append(float(score.value))
        elif score.reason:
            self.reasons[score.metric] = score.reason

    def sample(self) -> str:
        """Fingerprint of what was scored; of the utterances of a dialogue, one for all replies."""
        if len(self.samples) < 2:
            return "".join(self.samples.values())
        return str(SamplePrint(reply=fingerprint(*(text for _, text in sorted(self.samples.items())))))

    def means(self) -> dict[str, float]:
        """Mean score by metric; NaN if there is none."""
        return {metric: math.fsum(v) / len(v) if v else math.nan for metric, v in self.values.items()}


def sample_units(scores: Iterable[Score], samples: Sequence[Sample] = (), *, ratings: Ratings = ALL) -> list[Unit]:
    """One unit per scored sample; `samples`, if given, add contexts, texts, ratings and fields to slice by.

    Utterances of played dialogues, whose ids start with `system~`, become one unit per dialogue.
    """
    known, by_key = SampleKeys(s.key for s in samples), {s.key: s for s in name_dialogues(samples)}
    rated = mean_ratings(samples, ratings)
    units: dict[str, _Scores] = {}
    seen: dict[tuple[str, str], float] = {}
    systems: dict[str, str] = {}
    dialogues: dict[str, str] = {}
    for score in scores:
        _check_repeated(score, seen)
        id = played_dialogue(score)
        systems[id or score.id] = score.system if id else ""
        dialogues[score.id] = score.dialogue
        units.setdefault(id or score.id, _Scores()).add(score)
    found = []
    for id, own in units.items():
        key = None if systems[id] else known.find(id)
        sample = by_key.get(key) if key else None
        base = _played_unit(id, systems[id]) if systems[id] else sample_unit(id, sample, dialogues[id])
        rating = rated.get(key, math.nan) if key else math.nan
        found.append(_with(base, own, rating=rating))
    place = {sample.id: i for i, sample in enumerate(samples)}
    return sorted(found, key=lambda unit: place.get(unit.id, len(place)))  # neighbours in the file stay neighbours


def played_dialogue(score: Score) -> str:
    """The dialogue by `interloq play run` that a score judges, as a whole or an utterance; empty if there is none."""
    if not score.system or not score.id.startswith(f"{score.system}~"):
        return ""
    return score.id if about_dialogues(score.metric) else score.dialogue or score.id.rpartition("#")[0]


def dialogue_units(
    scores: Sequence[Score],
    dialogues: Sequence[Dialogue],
    *,
    ratings: Ratings = ALL,
) -> list[Unit]:
    """One unit per dialogue: its score or the mean score of its judged utterances, paired by occasion."""
    records = {dialogue.id: dialogue for dialogue in dialogues}
    rated = mean_ratings([Sample(d.id, (), "", ratings=d.ratings) for d in dialogues], ratings)
    found: dict[str, dict[str, DialogueScore]] = {}
    for metric in metrics_of(scores):
        for row in dialogue_scores(scores, dialogues, metric=metric):
            found.setdefault(row.dialogue, {})[metric] = row
    return [_dialogue_unit(records[id], rows, rated.get((id, ""), math.nan)) for id, rows in found.items()]


def _dialogue_unit(dialogue: Dialogue, rows: Mapping[str, DialogueScore], rating: float) -> Unit:
    first = next(iter(rows.values()))
    keys: dict[Pairing, str] = {"occasion": first.occasion} if first.pairing != "none" else {}
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
    """Further fields of a record as texts."""
    return {name: str(value) for name, value in record.fields.items()}


def mean_ratings(samples: Sequence[Sample], ratings: Ratings = ALL) -> dict[tuple[str, str], float]:
    """Mean rating of each sample that has one."""
    aspects = {rating.aspect for sample in samples for rating in sample.ratings}
    if not aspects or (not ratings.aspect and "overall" not in aspects):
        return {}
    aspect = ratings.aspect or "overall"
    judgments = collect(samples, aspect=aspect, role=ratings.role, normalise=ratings.normalise)
    pairs = zip(judgments.keys, judgments.mean().tolist(), strict=True)
    return {key: value for key, value in pairs if not math.isnan(value)}


def _check_repeated(score: Score, seen: dict[tuple[str, str], float]) -> None:
    value = math.nan if score.value is None else float(score.value)
    if math.isinf(value) or not equal(seen.setdefault((score.id, score.metric), value), value):
        what = f"{score.metric} scored {format_key(score.key)} twice: {seen[score.id, score.metric]:g} and {value:g}"
        raise InputError(what, hint="give each metric's scores once, and choose one system of the file")


def sample_unit(id: str, sample: Sample | None, dialogue: str = "") -> Unit:
    """A unit without scores; `sample`, if known, adds its context, text and dialogue."""
    keys: dict[Pairing, str] = {"id": id}
    turns = tuple(part.text for part in sample.context) if sample else ()
    if turns:
        keys["context"] = fingerprint(*turns)
    return Unit(
        id=id,
        values={},
        keys=keys,
        dialogue=sample.dialogue if sample and sample.dialogue else dialogue,
        prompt="\n".join(turns),
        text=sample.response if sample else "",
        turns=turns,
        ends=(fingerprint(turns[0]), fingerprint(turns[-1])) if len(turns) > 1 else (),
        fields=_texts(sample) if sample else {},
    )


def _played_unit(id: str, system: str) -> Unit:
    occasion = id.removeprefix(f"{system}~")
    return Unit(id=id, values={}, keys={"occasion": occasion}, fields={"partner": occasion.partition("/")[0]})


def _with(unit: Unit, scores: _Scores, *, rating: float) -> Unit:
    values = scores.means()
    reasons = {metric: why for metric, why in scores.reasons.items() if math.isnan(values[metric])}
    return replace(unit, values=values, reasons=reasons, rating=rating, sample=scores.sample())
