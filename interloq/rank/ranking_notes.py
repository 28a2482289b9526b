# SPDX-License-Identifier: Apache-2.0
"""Notes on a ranking for its reader: what was resampled or excluded, and what cannot be compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from interloq.agree.dialogue_scores import DialogueScore, Pairing, both_sides, metric_of, pairing_of, partners
from interloq.errors import count
from interloq.metrics import metric_names
from interloq.statistics.bradley_terry import PairOutcome, connected, wins
from interloq.statistics.permutation import LEVEL

FEWEST_PARTNERS = 6  # with fewer shared units, no p-value is below .05
NAMED = 5  # names shown in a note


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
        texts.append(_range_note(systems, human))
    if metric_names.is_rating(metric_of(rows)):
        texts.append("ratings by people: higher ones are taken as better unless --lower-is-better is given")
    unranked = sorted({row.system for row in rows} - set(systems))
    if unranked:
        texts.append(f"not ranked, because no dialogue has a score: {_named(unranked)}")
    unscored = sum(math.isnan(row.value) for row in rows)
    if unscored:
        texts.append(f"unscored, so not in the means: {unscored} of {count(len(rows), 'dialogue')}")
    together = np.zeros(len(outcomes), dtype=np.intp)
    if method == "bradley-terry" and not connected(wins(outcomes, systems, together).sum(axis=0)):
        texts.append("some systems were never compared, not even through others: only the prior orders them")
    if human:
        strangers = sorted(set(systems) ^ set(human))
        if strangers:
            texts.append(f"not in the correlation, because only scored or only judged by people: {_named(strangers)}")
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


def _range_note(systems: Sequence[str], human: Mapping[str, float]) -> str:
    unknown = "" if human else "; its agreement with people is unknown (--human)"
    return (
        f"the {count(len(systems), 'rank range')} hold together with a probability of {100 * LEVEL:.0f} %: "
        f"they are of the order by this metric, not by people{unknown}"
    )


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
            f"systems talked to different partners ({name!r} never talked to {_named(missing)}): "
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


def _named(names: Sequence[str]) -> str:
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(repr(name) for name in names[:NAMED]) + rest
