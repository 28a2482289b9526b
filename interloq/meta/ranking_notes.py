"""What a reader of a ranking should know beside its numbers: what was resampled, left out, or cannot be compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from interloq.meta.bradley_terry import Comparison, joined, wins
from interloq.meta.dialogue_scores import DialogueScore, both_sides, metric_of, pairing_of, partners
from interloq.metrics import metric_names

FEW_PARTNERS = 10  # with fewer clusters percentile intervals are known to be too narrow
NAMED = 5  # names a note tells


def notes(
    rows: Sequence[DialogueScore],
    systems: Sequence[str],
    found: Sequence[Comparison],
    human: Mapping[str, float] | None,
    *,
    method: str,
    by: str,
) -> list[str]:
    """Of the ranking of `systems`, those of the rows that have a score; `found` are their comparisons."""
    told = [
        _resampling_note(rows, by),
        _pairing_note(rows),
        *_partner_notes([row for row in rows if row.system in systems], by),
    ]
    if not metric_names.is_known(metric_of(rows)):
        told.append("no metric of this name is known here: unless it is said, the highest score is taken as the best")
    unranked = sorted({row.system for row in rows} - set(systems))
    if unranked:
        told.append(f"no dialogue has a score, so no rank: {_named(unranked)}")
    unscored = sum(math.isnan(row.value) for row in rows)
    if unscored:
        told.append(f"without a score, so in no mean: {unscored} of {len(rows)} dialogues")
    together = np.zeros(len(found), dtype=np.intp)
    if method == "bradley-terry" and not joined(wins(found, systems, together).sum(axis=0)):
        told.append("some systems were never compared, not even through others: the prior alone orders them")
    if human is not None:
        strangers = sorted(set(systems) ^ set(human))
        if strangers:
            told.append(f"only scored or only judged by people, so not in the correlation: {_named(strangers)}")
    return told


def _resampling_note(rows: Sequence[DialogueScore], by: str) -> str:
    if by == "partner":
        return "resamples draw partners, with all dialogues they took part in; the systems stay the same"
    unit = "occasions, with the dialogues of all systems on them"
    if both_sides(rows):
        unit = "dialogues, with both sides"
    elif pairing_of(rows) == "none":
        unit = "dialogues within each system"
    return f"resamples draw {unit}; partners and systems stay the same"


def _pairing_note(rows: Sequence[DialogueScore]) -> str:
    alone = sum(row.pairing == "none" for row in rows)
    if alone == len(rows):
        return (
            "not paired: nothing is known that dialogues of two systems share, no given turns and no occasion "
            "(or pairing is switched off)"
        )
    known = {"opening": "begin with the same given turns", "occasion": "name the same occasion"}
    how = " or ".join(said for kind, said in known.items() if any(row.pairing == kind for row in rows))
    rest = f"; {alone} of {len(rows)} dialogues do neither and are not paired" if alone else ""
    return f"paired: dialogues that {how} are compared with each other{rest}"


def _partner_notes(rows: Sequence[DialogueScore], by: str) -> list[str]:
    """Systems that met different partners are not comparable; nobody has to meet itself."""
    met, notes = partners(rows), []
    everyone = set().union(*met.values())
    lacking = {name: sorted(everyone - found - {name}) for name, found in met.items()}
    selves = all(found == {name} for name, found in met.items())
    if any(lacking.values()) and not selves:
        name = next(name for name in sorted(lacking) if lacking[name])
        notes.append(
            f"systems met different partners ({name!r} never met {_named(lacking[name])}): "
            "their scores are not comparable"
        )
    sizes = Counter(row.system for row in rows)
    if len(set(sizes.values())) > 1:
        (most, n), (fewest, m) = sizes.most_common()[0], sizes.most_common()[-1]
        notes.append(f"systems have different numbers of dialogues: {most!r} {n}, {fewest!r} {m}")
    if by == "partner" and len(everyone) < FEW_PARTNERS:
        notes.append(f"only {len(everyone)} partners: intervals over partners are too narrow below {FEW_PARTNERS}")
    return notes


def _named(names: Sequence[str]) -> str:
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(repr(name) for name in names[:NAMED]) + rest
