"""Does P(answer) follow engagement, in replies of people and of systems? The part of `dcp_frozen.py` on rated replies.

Heads without users that learned from BYU chit-chat score replies of people and of systems in FED and USR, and are
correlated with `engaging` as rated by outsiders (no set has the interlocutor's own; the paper's two interlocutors rated
their own). What decides is the mean over the three sets of Pearson's r: for people's replies above 0 (003/54); and for
people's above systems', and for systems' replies the relevance scorer, which stands in for BERT-NSP, above DCP
(003/55). Contexts are resampled.

One of the two people rated how interesting most conversations of BYU chit-chat were; the mean P(answer) of the replies
is compared with that too, and with ConvAI's ratings in `dcp_profiles.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from frozen_heads import (
    Floats,
    Ints,
    Reduction,
    Rows,
    TrainedHead,
    encode_texts,
    features,
    interval_at,
    texts_of,
)
from numpy.typing import NDArray
from results import Cell, Finding, PublishedTable, interval_by_unit

from interloq import Sample
from interloq.data.sets.registry import locate, read_dataset, read_parts
from interloq.data.sets.usr import GROUND_TRUTH
from interloq.retrieve.leaks import context_of
from interloq.score.evaluate import evaluate_all

Labels = NDArray[np.bool_]
PEOPLE = ("Human", GROUND_TRUTH, "New Human Generated")
INTERESTING = "interesting"
PUBLISHED_HUMAN = {"DCP": (0.646 + 0.578) / 2, "NSP": (0.477 - 0.028) / 2}  # r, mean of both annotators
PUBLISHED_SYSTEM = {"DCP": (0.401 + 0.156) / 2, "NSP": (0.416 + 0.337) / 2}


@dataclass(frozen=True, slots=True)
class Rated:
    """Replies rated for engagement, the set of each, and the scores of DCP and of the relevance scorer."""

    samples: Sequence[Sample]
    sets: Ints
    ratings: Floats
    scores: Mapping[str, Sequence[Floats]]

    def is_human(self) -> Labels:
        """Return which replies were written by people."""
        return np.array([sample.system in PEOPLE for sample in self.samples])

    def contexts(self) -> list[str]:
        """Return the set and the context of each reply."""
        return [f"{number}/{context_of(s)}" for number, s in zip(self.sets, self.samples, strict=True)]

    def r(self, title: str, places: Ints) -> float:
        """Return Pearson's r with the ratings, averaged over sets and models."""
        values: list[float] = []
        for number in np.unique(self.sets):
            own = places[self.sets[places] == number]
            if len(own) > 2:
                values += [float(np.corrcoef(one[own], self.ratings[own])[0, 1]) for one in self.scores[title]]
        return float(np.nanmean(values))


def engaging_samples(data: Path) -> tuple[list[Sample], Ints, Floats]:
    """Return replies of FED and USR with a rating of `engaging`, the number of each one's set, and the mean rating."""
    sources = [("fed", "turn"), ("usr", "topical"), ("usr", "persona")]
    samples: list[Sample] = []
    sets: list[int] = []
    ratings: list[float] = []
    for number, (name, subset) in enumerate(sources):
        for sample in read_dataset(name, locate(name, data), subset=subset):
            values = [r.value for r in sample.ratings if r.aspect == "engaging" and r.value is not None]
            if values and sample.response.strip():
                samples.append(sample)
                sets.append(number)
                ratings.append(float(np.mean(values)))
    return samples, np.array(sets), np.array(ratings)


def score_engagement(
    data: Path, heads: Sequence[TrainedHead], reduction: Reduction, cache: Path, args: argparse.Namespace
) -> Rated:
    """Score the rated replies with heads that learned from BYU chit-chat, and with the relevance scorer."""
    samples, sets, ratings = engaging_samples(data)
    vectors = reduction(encode_texts(texts_of(samples), cache, args.encoder))
    rows = Rows(features(samples, vectors), ratings, np.zeros(len(samples), dtype=np.int64))
    result = evaluate_all([f"relevance(model={args.relevance!r})"], samples, n_bootstrap=0)[0][""]
    fits = np.array([result.by_sample[sample.key] for sample in samples])
    return Rated(samples, sets, ratings, {"DCP": [head.predict(rows) for head in heads], "NSP": [fits]})


def read_own_ratings(data: Path) -> dict[str, float]:
    """Return how interesting one of the two people found each conversation of BYU chit-chat."""
    name = "byu_chitchat"
    ratings = {}
    for _, dialogue in read_parts(name, locate(name, data)):
        for rating in dialogue.ratings:
            if rating.aspect == INTERESTING and rating.value is not None:
                ratings[dialogue.id] = rating.value
    return ratings


def engagement_findings(rated: Rated, resamples: int) -> list[Finding]:
    """Return whether DCP follows engagement in people's replies, more than in systems', where NSP is better."""
    human = rated.is_human()

    def people(title: str, places: Ints) -> float:
        return rated.r(title, places[human[places]])

    def systems(title: str, places: Ints) -> float:
        return rated.r(title, places[~human[places]])

    human_dcp, system_dcp = PUBLISHED_HUMAN["DCP"], PUBLISHED_SYSTEM["DCP"]
    nsp = "relevance network, as NSP"
    claims: list[tuple[str, str, Callable[[Ints], float], float, bool]] = [
        ("003/54", "DCP, replies of people: r above 0", lambda p: people("DCP", p), human_dcp, True),
        (
            "003/54",
            f"DCP above {nsp}, replies of people: r",
            lambda p: people("DCP", p) - people("NSP", p),
            human_dcp - PUBLISHED_HUMAN["NSP"],
            False,
        ),
        (
            "003/55",
            "DCP: r for people above r for systems",
            lambda p: people("DCP", p) - systems("DCP", p),
            human_dcp - system_dcp,
            True,
        ),
        (
            "003/55",
            f"{nsp} above DCP, replies of systems: r",
            lambda p: systems("NSP", p) - systems("DCP", p),
            PUBLISHED_SYSTEM["NSP"] - system_dcp,
            True,
        ),
        ("003/55", "DCP, replies of systems: r above 0", lambda p: systems("DCP", p), system_dcp, False),
    ]
    findings = []
    for item, way, statistic, published, decides in claims:
        value, ci, n = interval_by_unit(rated.contexts(), statistic, resamples=resamples)
        findings.append(
            Finding(
                item=item,
                way=way,
                value=value,
                ci=ci,
                units=n,
                unit="contexts",
                data="FED, USR (engaging)",
                published=published,
                decides=decides,
                note="frozen encoder; head learned from BYU chit-chat; outsiders' ratings; mean of three sets",
            )
        )
    return findings


def table_5(rated: Rated, resamples: int) -> PublishedTable:
    """Return correlations with engagement for replies of people and of systems, in place of Table 5."""
    human = rated.is_human()
    contexts = rated.contexts()
    rows: dict[str, Sequence[Cell]] = {}
    for title, name in (("NSP", "BERT-NSP (ours: relevance network)"), ("DCP", "BERT-DCP (ours: frozen MiniLM)")):
        cells = []
        for chosen, published in ((human, PUBLISHED_HUMAN[title]), (~human, PUBLISHED_SYSTEM[title])):
            places = np.flatnonzero(chosen)
            value, ci, _ = interval_at(places, contexts, partial(rated.r, title), resamples)
            cells.append(Cell(published=published, ours=value, ci=ci))
        rows[name] = cells
    return PublishedTable(
        item="003/44",
        title="Table 5: Pearson's r with engagement in single replies",
        data="FED and USR (mean of three sets)",
        columns=["replies of people", "replies of systems"],
        rows=rows,
        note="Published: mean of the two annotators, who rated replies to themselves. Ours: outsiders' ratings, and no "
        "user is known, so there are no rows with a token or a profile.",
    )
