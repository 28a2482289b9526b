# SPDX-License-Identifier: Apache-2.0
"""Rankings as plain values, ready for a table, JSON or the report, and notes for their reader."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from interloq.agree.dialogue_scores import DialogueScore, Pairing, both_sides, metric_of, pairing_of, partners
from interloq.errors import count
from interloq.metrics import metric_names
from interloq.rank.convergence import ConvergencePoint
from interloq.rank.survival import Survival
from interloq.signature import Signature
from interloq.statistics.bradley_terry import PairOutcome, is_connected, wins
from interloq.statistics.estimate import Estimate
from interloq.statistics.permutation import LEVEL
from interloq.tabular import Row, Tabular, bounds

FEWEST_PARTNERS = 6  # with fewer shared units, no p-value is below .05
NAMED = 5  # names shown in a note
Method = Literal["mean", "bradley-terry"]
Unit = Literal["dialogue", "partner"]


def format_range(ranks: tuple[int, int] | None) -> str:
    """Format a range of ranks, such as 2–4 or 3; empty if there is none."""
    if ranks is None:
        return ""
    low, high = ranks
    return str(low) if low == high else f"{low}–{high}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Rank of one system; None if it has no score."""

    system: str
    score: float
    ci: tuple[float, float] | None
    rank: int | None
    rank_range: tuple[int, int] | None  # the ranges of all systems hold together with a probability of `range_level`
    best: float | None  # share of resamples in which it ranks first; ties share
    dialogues: int  # scored ones
    utterances: int
    unscored: int
    reasons: Mapping[str, int]  # why dialogues have no score
    failures: Mapping[str, int]  # what went wrong in dialogues, scored or not


@dataclass(frozen=True, slots=True)
class Difference:
    """Test of whether the first system is better than the second."""

    first: str
    second: str
    difference: float  # of their scores: positive if the first has the higher one
    ci: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None
    n: int  # dialogues of both; the difference, its interval and its p-value all come from these
    units: int  # independent ones: occasions, dialogues or partners
    shared: int  # units with dialogues of both systems, which pair them


@dataclass(frozen=True, slots=True, repr=False)
class Ranking(Tabular):
    """Ranks of all systems with their uncertainty, and tests of the differences."""

    metric: str
    method: Method
    by: Unit
    pairing: Pairing | Literal["mixed", "dialogue"]  # how systems are paired; dialogue: within dialogues of both
    lower_is_better: bool
    standings: tuple[Standing, ...]  # best first
    differences: tuple[Difference, ...]  # all pairs of ranked systems, the better system first
    human: Mapping[str, Estimate]  # coefficient → correlation with people's scores; empty if none were given
    notes: tuple[str, ...]
    signature: Signature
    survival: tuple[Survival, ...] = ()  # curves of the systems, by name, if they were asked for
    convergence: tuple[ConvergencePoint, ...] = ()  # by number of dialogues, if it was asked for
    unit: str = "occasion"  # what counts as independent: occasion, dialogue or partner
    range_level: float = LEVEL
    order: Estimate | None = None  # share of pairs of systems that the metric orders as people do

    def _title(self) -> str:
        """Return what the systems are ranked by."""
        return f"{count(len(self.standings), 'system')} ranked by {self.metric}, method {self.method}"

    def _table_rows(self) -> list[Row]:
        """Return one row per system, the best first."""
        return [
            {
                "system": standing.system,
                "rank": standing.rank,
                "rank_from": standing.rank_range and standing.rank_range[0],
                "rank_to": standing.rank_range and standing.rank_range[1],
                "score": standing.score,
                **bounds(standing.ci),
                "best": standing.best,
                "dialogues": standing.dialogues,
                "unscored": standing.unscored,
            }
            for standing in self.standings
        ]


# ---- notes -----------------------------------------------------------------------------------------------------------


def notes(
    rows: Sequence[DialogueScore],
    systems: Sequence[str],
    outcomes: Sequence[PairOutcome],
    human: Mapping[str, float],
    *,
    method: str,
    by: str,
) -> list[str]:
    """Return notes on a ranking of `systems`, which all have a score; `outcomes` are their comparisons."""
    texts = [
        _unit_note(rows, by),
        _pairing_note(rows, by),
        *_partner_notes([row for row in rows if row.system in systems], by),
    ]
    if len(systems) > 1:
        unknown = "" if human else "; its agreement with people is unknown (--human)"
        texts.append(
            f"the {count(len(systems), 'rank range')} hold together with a probability of {100 * LEVEL:.0f} %: "
            f"they are of the order by this metric, not by people{unknown}"
        )
    if metric_names.is_rating(metric_of(rows)):
        texts.append("ratings by people: higher ones are taken as better unless --lower-is-better is given")
    unranked = sorted({row.system for row in rows} - set(systems))
    if unranked:
        texts.append(f"not ranked, because no dialogue has a score: {_format_names(unranked)}")
    unscored = sum(math.isnan(row.value) for row in rows)
    if unscored:
        texts.append(f"unscored, so not in the means: {unscored} of {count(len(rows), 'dialogue')}")
    together = np.zeros(len(outcomes), dtype=np.intp)
    if method == "bradley-terry" and not is_connected(wins(outcomes, systems, together).sum(axis=0)):
        texts.append("some systems were never compared, not even through others: only the prior orders them")
    if human:
        strangers = sorted(set(systems) ^ set(human))
        if strangers:
            texts.append(
                f"not in the correlation, because only scored or only judged by people: {_format_names(strangers)}"
            )
    return texts


def unit_word(rows: Sequence[DialogueScore], by: str) -> str:
    """Return what counts as independent: occasion, dialogue or partner."""
    if by == "partner":
        return "partner"
    if both_sides(rows) or pairing_of(rows) == "none":
        return "dialogue"
    return "occasion"


def pairing_of_units(rows: Sequence[DialogueScore], by: str) -> Pairing | Literal["mixed", "dialogue"]:
    """Return how systems are paired; `dialogue` if both sides of dialogues are judged, and compared within them."""
    if by == "dialogue" and both_sides(rows):
        return "dialogue"
    return pairing_of(rows)


def _unit_note(rows: Sequence[DialogueScore], by: str) -> str:
    units = {
        "partner": "partners, with all their dialogues; the systems are fixed",
        "dialogue": f"dialogues{', with both sides' if both_sides(rows) else ''}; partners and systems are fixed",
        "occasion": "occasions, with the dialogues of all systems on them; partners and systems are fixed",
    }
    return f"independent units, of all intervals and tests: {units[unit_word(rows, by)]}"


def _pairing_note(rows: Sequence[DialogueScore], by: str) -> str:
    if pairing_of_units(rows, by) == "dialogue":
        return "paired within dialogues: two systems that talked to each other share that dialogue"
    if by == "partner":
        return "paired by partner: two systems that talked to the same partner share it"
    alone = sum(row.pairing == "none" for row in rows)
    if alone == len(rows):
        return (
            "not paired: dialogues of different systems share no given turns and name no common occasion "
            "(or pairing is switched off)"
        )
    pairings, shared = {row.pairing for row in rows}, []
    if "opening" in pairings:
        shared.append("start with the same given turns")
    if "occasion" in pairings:
        shared.append("name the same occasion")
    how = " or ".join(shared)
    rest = f"; {alone} of {count(len(rows), 'dialogue')} not paired" if alone else ""
    return f"paired: dialogues that {how} are compared with each other{rest}"


def _partner_notes(rows: Sequence[DialogueScore], by: str) -> list[str]:
    """Return notes on differences between the systems' partners; a system need not talk to itself."""
    met, notes = partners(rows), []
    everyone = set().union(*met.values())
    lacking = {}
    self_play = True
    for name, met_partners in sorted(met.items()):
        self_play = self_play and met_partners == {name}
        if missing := sorted(everyone - met_partners - {name}):
            lacking[name] = missing
    if lacking and not self_play:
        name, missing = next(iter(lacking.items()))
        notes.append(
            f"systems talked to different partners ({name!r} never talked to {_format_names(missing)}): "
            "their scores are not comparable"
        )
    sizes = Counter(row.system for row in rows)
    if len(set(sizes.values())) > 1:
        (most, n), (fewest, m) = sizes.most_common()[0], sizes.most_common()[-1]
        notes.append(f"systems have different numbers of dialogues: {most!r} {n}, {fewest!r} {m}")
    if by == "partner" and len(everyone) < FEWEST_PARTNERS:
        few = count(len(everyone), "partner")
        notes.append(f"only {few}: at least {FEWEST_PARTNERS} are needed to tell two systems apart")
    return notes


def _format_names(names: Sequence[str]) -> str:
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(repr(name) for name in names[:NAMED]) + rest
