# SPDX-License-Identifier: Apache-2.0
"""Notes on a ranking for its reader: what was resampled or excluded, and what cannot be compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from interloq.errors import count
from interloq.meta.bradley_terry import Comparison, connected, wins
from interloq.meta.dialogue_scores import DialogueScore, both_sides, metric_of, pairing_of, partners
from interloq.meta.rating_scores import is_rating
from interloq.metrics import metric_names

FEW_PARTNERS = 10  # with fewer clusters percentile intervals are known to be too narrow
NAMED = 5  # names shown in a note


def notes(
    rows: Sequence[DialogueScore],
    systems: Sequence[str],
    found: Sequence[Comparison],
    human: Mapping[str, float] | None,
    *,
    method: str,
    by: str,
) -> list[str]:
    """Notes on a ranking of `systems`, which are those with a score; `found` are their comparisons."""
    texts = [
        _resampling_note(rows, by),
        _pairing_note(rows),
        *_partner_notes([row for row in rows if row.system in systems], by),
    ]
    if not metric_names.is_known(metric_of(rows)):
        what = "ratings by people" if is_rating(metric_of(rows)) else "this metric is not registered here"
        texts.append(f"{what}: higher scores are taken as better unless --lower-is-better is given")
    unranked = sorted({row.system for row in rows} - set(systems))
    if unranked:
        texts.append(f"not ranked, because no dialogue has a score: {_named(unranked)}")
    unscored = sum(math.isnan(row.value) for row in rows)
    if unscored:
        texts.append(f"unscored, so not in the means: {unscored} of {count(len(rows), 'dialogue')}")
    together = np.zeros(len(found), dtype=np.intp)
    if method == "bradley-terry" and not connected(wins(found, systems, together).sum(axis=0)):
        texts.append("some systems were never compared, not even through others: only the prior orders them")
    if human is not None:
        strangers = sorted(set(systems) ^ set(human))
        if strangers:
            texts.append(f"not in the correlation, because only scored or only judged by people: {_named(strangers)}")
    return texts


def _resampling_note(rows: Sequence[DialogueScore], by: str) -> str:
    if by == "partner":
        return "resamples draw partners, with all their dialogues; the systems are fixed"
    unit = "occasions, with the dialogues of all systems on them"
    if both_sides(rows):
        unit = "dialogues, with both sides"
    elif pairing_of(rows) == "none":
        unit = "dialogues within each system"
    return f"resamples draw {unit}; partners and systems are fixed"


def _pairing_note(rows: Sequence[DialogueScore]) -> str:
    alone = sum(row.pairing == "none" for row in rows)
    if alone == len(rows):
        return (
            "not paired: dialogues of different systems share no given turns and name no common occasion "
            "(or pairing is switched off)"
        )
    known = {"opening": "start with the same given turns", "occasion": "name the same occasion"}
    how = " or ".join(text for kind, text in known.items() if any(row.pairing == kind for row in rows))
    rest = f"; {alone} of {count(len(rows), 'dialogue')} not paired" if alone else ""
    return f"paired: dialogues that {how} are compared with each other{rest}"


def _partner_notes(rows: Sequence[DialogueScore], by: str) -> list[str]:
    """Notes on differences between the systems' partners; a system need not talk to itself."""
    met, notes = partners(rows), []
    everyone = set().union(*met.values())
    lacking = {name: sorted(everyone - found - {name}) for name, found in met.items()}
    selves = all(found == {name} for name, found in met.items())
    if any(lacking.values()) and not selves:
        name = next(name for name in sorted(lacking) if lacking[name])
        notes.append(
            f"systems talked to different partners ({name!r} never talked to {_named(lacking[name])}): "
            "their scores are not comparable"
        )
    sizes = Counter(row.system for row in rows)
    if len(set(sizes.values())) > 1:
        (most, n), (fewest, m) = sizes.most_common()[0], sizes.most_common()[-1]
        notes.append(f"systems have different numbers of dialogues: {most!r} {n}, {fewest!r} {m}")
    if by == "partner" and len(everyone) < FEW_PARTNERS:
        notes.append(
            f"only {count(len(everyone), 'partner')}: intervals over fewer than {FEW_PARTNERS} partners are too narrow"
        )
    return notes


def _named(names: Sequence[str]) -> str:
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(repr(name) for name in names[:NAMED]) + rest
