# SPDX-License-Identifier: Apache-2.0
"""How much a ranking depends on the choice of systems and partners.

Sato et al. (2022, §7): in all-play-all the systems under test are each other's partners, so whoever chooses the systems
chooses the partners. To push a *favoured* system above an *unfavoured* one, they add two systems similar to the
unfavoured one: when it talks with systems like itself, it repeats itself and loses points. `cheating` compares the
favoured with the unfavoured system in the fair set (all systems except the similar ones) and in the unfair set of four,
for each system that could be favoured, and counts wins in a 2 × 2 table. One recorded all-play-all of all systems is
enough, because a dialogue does not depend on who else takes part; or `play` plays the unfair sets.

`influence` asks the same question about a fixed partner set: how each rank moves when a partner is dropped, added from
a pool, or swapped for one from the pool.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from interloq.agree.dialogue_scores import DialogueScore, downwards, means
from interloq.errors import InputError, count, nearest
from interloq.metrics.metric import Array
from interloq.rank.rank import ranks_of
from interloq.statistics.correlation import kendall_rows
from interloq.statistics.rounding import round_mean

# ---- cheating by the choice of systems -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheatingTrial:
    """One system favoured over another: its lead in the fair and in the unfair set."""

    favoured: str
    unfair_set: tuple[str, ...]
    fair: float  # favoured minus unfavoured; NaN if one has no score
    unfair: float
    dialogues: int  # of both in the unfair set

    @property
    def overturned(self) -> bool:
        """Return whether the favoured system loses (or ties) in the fair set and wins in the unfair one."""
        return self.unfair > 0 and self.fair <= 0


@dataclass(frozen=True, slots=True)
class Cheating:
    """Leads of favoured systems over the unfavoured one, in the fair and in the unfair sets."""

    unfavoured: str
    alike: tuple[str, ...]
    trials: tuple[CheatingTrial, ...]

    @property
    def table(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Count trials. Rows: favoured wins or loses in the fair set; columns: in the unfair set. A tie is a loss."""
        counts = Counter[tuple[bool, bool]]()
        for trial in self.trials:
            if trial.favoured not in self.unscored:
                counts[trial.fair > 0, trial.unfair > 0] += 1
        return (counts[True, True], counts[True, False]), (counts[False, True], counts[False, False])

    @property
    def unscored(self) -> tuple[str, ...]:
        """Return favoured systems without a score in one of the sets."""
        return tuple(trial.favoured for trial in self.trials if math.isnan(trial.fair + trial.unfair))


def cheating(
    rows: Sequence[DialogueScore],
    unfavoured: str,
    alike: Sequence[str],
    *,
    favoured: Iterable[str] = (),
    lower_is_better: bool | None = None,
    play: Callable[[tuple[str, ...]], Sequence[DialogueScore]] | None = None,
) -> Cheating:
    """Try to favour each of `favoured` (default: all others) over `unfavoured` by adding systems similar to it.

    `rows` come from an all-play-all that includes the similar systems, unless `play` gives the rows of unfair sets.
    """
    systems = sorted({row.system for row in rows})
    chosen = list(favoured) or [name for name in systems if name not in (unfavoured, *alike)]
    _check_cast(systems, unfavoured, [] if play else alike, chosen)
    if not alike:
        raise InputError("no similar system is given", hint="name systems similar to the unfavoured one, usually two")
    if not among(rows, systems):
        raise InputError("none of the systems talked to each other", hint="audit the scores of an all-play-all")
    sign = -1.0 if downwards(rows, lower_is_better) else 1.0
    trials = []
    for name in chosen:
        fair = means(among(rows, [system for system in systems if system == name or system not in alike]))
        cast = tuple(dict.fromkeys((name, unfavoured, *alike)))
        unfair_rows = play(cast) if play else among(rows, cast)
        unfair = means(unfair_rows)
        size = sum(row.system in (name, unfavoured) and not math.isnan(row.value) for row in unfair_rows)
        fair_lead = sign * (fair.get(name, math.nan) - fair.get(unfavoured, math.nan))
        unfair_lead = sign * (unfair.get(name, math.nan) - unfair.get(unfavoured, math.nan))
        trials.append(CheatingTrial(name, cast, fair_lead, unfair_lead, size))
    return Cheating(unfavoured, tuple(alike), tuple(trials))


def among(rows: Iterable[DialogueScore], systems: Sequence[str]) -> list[DialogueScore]:
    """Return the dialogues in which both sides are among these systems, including self-play if there is any."""
    return [row for row in rows if row.system in systems and row.partner in systems]


def _check_cast(systems: Sequence[str], unfavoured: str, alike: Sequence[str], favoured: Sequence[str]) -> None:
    for name in (unfavoured, *alike, *favoured):
        if name not in systems:
            raise InputError(f"no dialogue of system {name!r}{nearest(name, systems)}")
    for name in (*alike, *favoured):
        if name == unfavoured:
            raise InputError(f"{name!r} is given as unfavoured and in another role", hint="name another system")
    if not favoured:
        raise InputError(
            "no system is left to be favoured", hint="score more systems than the unfavoured and similar ones"
        )


# ---- influence of single partners ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplacementEffect:
    """One change of the partner set and its effect on the ranks."""

    kind: str  # drop, add or swap
    out: str
    into: str
    ranks: Mapping[str, int]
    moves: Mapping[str, int]  # system → rank before minus rank after: positive if it rose
    kendall: float  # correlation with the scores before; NaN if a system has none

    @property
    def moved(self) -> int:
        """Return the sum over systems of the places moved."""
        return sum(map(abs, self.moves.values()))


@dataclass(frozen=True, slots=True)
class Influence:
    """How much the ranking depends on which partners are in the set."""

    partners: tuple[str, ...]
    pool: tuple[str, ...]
    ranks: Mapping[str, int]  # with the unchanged set
    changes: tuple[ReplacementEffect, ...]  # largest moves first

    def range_of(self, system: str, kind: str = "") -> tuple[int, int] | None:
        """Return the best and worst rank of a system over all changes of a kind; None if there are none."""
        ranks = [change.ranks[system] for change in self.changes if kind in ("", change.kind)]
        return (min(ranks), max(ranks)) if ranks else None


def influence(
    rows: Sequence[DialogueScore],
    partners: Iterable[str] = (),
    pool: Iterable[str] = (),
    *,
    lower_is_better: bool | None = None,
) -> Influence:
    """Return how ranks move when partners change. The set is `partners`, by default all that are not in the pool."""
    met = sorted({row.partner for row in rows})
    spare = sorted(set(pool))
    chosen = sorted(set(partners)) or [name for name in met if name not in spare]
    for name in (*chosen, *spare):
        if name not in met:
            raise InputError(f"no dialogue with partner {name!r}{nearest(name, met)}")
    if both := sorted(set(chosen) & set(spare)):
        raise InputError(f"{both[0]!r} is both in the set and in the pool", hint="name it once")
    if len(chosen) < 2 and not spare:
        raise InputError(
            f"a set of {count(len(chosen), 'partner')} cannot be changed", hint="name a pool of scored partners"
        )
    table = _Table(rows, downwards(rows, lower_is_better))
    base = table.scores(chosen)
    changes = [table.change(base, kind, out, into, chosen) for kind, out, into in _changes(chosen, spare)]
    order = sorted(changes, key=lambda change: (-change.moved, change.kind, change.out, change.into))
    return Influence(tuple(chosen), tuple(spare), table.ranks(base), tuple(order))


def _changes(chosen: Sequence[str], spare: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield all changes of one partner: drop, add, swap."""
    if len(chosen) > 1:
        for name in chosen:
            yield "drop", name, ""
    for name in spare:
        yield "add", "", name
    for out, into in product(chosen, spare):
        yield "swap", out, into


class _Table:
    """Sums and sizes by system and partner, so that changes of partners need no second pass over the rows."""

    def __init__(self, rows: Sequence[DialogueScore], lower_is_better: bool) -> None:
        self.systems = sorted({row.system for row in rows})
        partners = sorted({row.partner for row in rows})
        self.place = {name: i for i, name in enumerate(partners)}
        self.sign = -1.0 if lower_is_better else 1.0
        self.sums = np.zeros((len(self.systems), len(self.place)))
        self.absolutes, self.sizes = np.zeros_like(self.sums), np.zeros_like(self.sums)
        number = {name: i for i, name in enumerate(self.systems)}
        for row in sorted(rows, key=lambda row: row.dialogue):
            if not math.isnan(row.value):
                cell = number[row.system], self.place[row.partner]
                self.sums[cell] += row.value
                self.absolutes[cell] += abs(row.value)
                self.sizes[cell] += 1

    def scores(self, partners: Iterable[str]) -> Array:
        columns = [self.place[name] for name in sorted(partners)]
        with np.errstate(invalid="ignore", divide="ignore"):
            n = self.sizes[:, columns].sum(axis=1)
            mean = self.sums[:, columns].sum(axis=1) / n
            size = self.absolutes[:, columns].sum(axis=1) / n
        return round_mean(self.sign * mean, size)

    def ranks(self, scores: Array) -> dict[str, int]:
        return dict(zip(self.systems, ranks_of(scores).tolist(), strict=True))

    def change(self, base: Array, kind: str, out: str, into: str, chosen: Sequence[str]) -> ReplacementEffect:
        fresh = self.scores([name for name in (*chosen, into) if name and name != out])
        before, after = self.ranks(base), self.ranks(fresh)
        both = ~np.isnan(base) & ~np.isnan(fresh)
        tau = math.nan
        if both.sum() > 1:
            tau = float(kendall_rows(base[both][None], fresh[both][None])[0])
        moves = {name: before[name] - after[name] for name in self.systems}
        return ReplacementEffect(kind, out, into, after, moves, tau)
