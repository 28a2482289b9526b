# SPDX-License-Identifier: Apache-2.0
"""How well a rater's weights agree with people's ratings of the same references (Tsuta et al., 2020, Table 6).

A point is a distinct reference of a context that both have rated; samples that share it give one point, with all of its
ratings. Intervals are from resamples of contexts. Gold replies are compared only if the rater rates them too: most
raters give all of them weight 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interloq.agree.agreement import meta_evaluate
from interloq.agree.meta_options import RaterAgreementOptions
from interloq.agree.table import MetaTable
from interloq.data.records.jsonl import read
from interloq.errors import InputError
from interloq.rate.human import list_references, read_votes, votes_for
from interloq.rate.rater import Rater
from interloq.records import Rating, Sample, Score
from interloq.retrieve.leaks import is_original
from interloq.statistics.estimate import Estimate

COEFFICIENTS = ("spearman", "pearson")
WEIGHT = "weight"  # stands for a metric


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Correlation of weights with the mean rating and with each person, and the agreement of people."""

    table: MetaTable
    people: Mapping[str, Mapping[str, Estimate]]  # person → coefficient → correlation of the weights with their ratings
    contexts: int
    unrated: int  # references that people did not rate
    unjudged: int  # references to which the rater gave a default weight


@dataclass(frozen=True, slots=True)
class _RatedReference:
    """A point: a reference as a sample with people's ratings, its weight, and whether it is a gold reply."""

    sample: Sample
    weight: float
    is_gold: bool

    def add(self, votes: Sequence[Rating]) -> _RatedReference:
        """Return the point with further ratings, except those that another sample has brought."""
        new = [vote for vote in votes if vote not in self.sample.ratings]
        return replace(self, sample=replace(self.sample, ratings=(*self.sample.ratings, *new)))

    def rated_by(self, name: str) -> _RatedReference | None:
        """Return the point with the ratings of one person; None if there are none."""
        own = [rating for rating in self.sample.ratings if rating.rater == name]
        return replace(self, sample=replace(self.sample, ratings=tuple(own))) if own else None


def compare_with_people(
    samples: str | Path, rater: Rater, ratings: str | Path, options: RaterAgreementOptions
) -> RaterAgreement:
    """Compare the weights in a file that `rater` has rated with a file of ratings of its references."""
    votes = read_votes(str(ratings), options.aspect)
    points: dict[tuple[str, str], _RatedReference] = {}
    unrated, unjudged = set[tuple[str, str]](), set[tuple[str, str]]()
    for sample in read(samples, kind="samples", strict=True):
        context = "\n".join(turn.text for turn in sample.context) or sample.id
        for (key, reference), is_judged in zip(list_references(sample), rater.find_judged(sample), strict=True):
            own, place = votes_for(votes, key), (context, reference.text.strip())
            if not own:
                unrated.add(place)
            elif not is_judged:
                unjudged.add(place)
            else:
                rated = Sample(f"{key[0]} {key[1]}", sample.context, reference.text, (), "", (), context)
                new = _RatedReference(rated, reference.weight, is_original(reference))
                points[place] = points.get(place, new).add(own)
    chosen = _choose(list(points.values()))
    defaults = len(unjudged - points.keys()) + len(points) - len(chosen)
    if not chosen:
        raise InputError(
            f"no reference has a weight of the rater and a rating of aspect {options.aspect!r}",
            hint="an item of the ratings is <sample id>/<index of the reference, from 0>",
            where=str(ratings),
        )
    table = _correlate(chosen, options)
    contexts = len({point.sample.dialogue for point in chosen})
    people = _correlate_people(chosen, options)
    return RaterAgreement(table, people, contexts, len(unrated - points.keys() - unjudged), defaults)


def _choose(points: list[_RatedReference]) -> list[_RatedReference]:
    """Return the points without gold replies, if the rater gives all of them weight 1."""
    if any(point.is_gold and point.weight != 1 for point in points):
        return points
    return [point for point in points if not point.is_gold]


def _correlate(points: Iterable[_RatedReference], options: RaterAgreementOptions) -> MetaTable:
    samples, scores = [], []
    for point in points:
        samples.append(point.sample)
        scores.append(Score(point.sample.id, WEIGHT, point.weight))
    return meta_evaluate(
        scores, samples, aspect=options.aspect, coefficients=COEFFICIENTS, n_bootstrap=options.n_bootstrap,
        seed=options.seed, compare=False,
    )  # fmt: skip


def _correlate_people(
    points: list[_RatedReference], options: RaterAgreementOptions
) -> dict[str, Mapping[str, Estimate]]:
    """Return the correlations with each named person who rated at least three of the references."""
    names = {rating.rater for point in points for rating in point.sample.ratings}
    people = {}
    for name in sorted(names - {""}):
        own = [rated for point in points if (rated := point.rated_by(name))]
        if len(own) > 2:
            people[name] = _correlate(own, options).rows[0].with_mean
    return people
