# SPDX-License-Identifier: Apache-2.0
"""How long would this person stay? Survival curves of systems from the probability of a reply to each of their turns.

    S(t) = mean over dialogues of P_1 · … · P_t

is the probability that the other person still answers the system's t-th turn, if P_i is the probability that they
answer the i-th turn after answering all before it. If dialogues differ in length, shorter ones count as far as they go,
as in a product-limit estimate; with equal lengths this is the mean above:

    S(t) = S(t-1) · Σ_d P_d1 … P_dt / Σ_d P_d1 … P_d(t-1)    over the dialogues d with a t-th turn

A dialogue is used until its first unscored turn. If a system opens a dialogue, the opening answers nothing and may have
no score: its turns then count from the next one. The expected number of replies within H turns is S(1) + … + S(H); H is
the same for all systems. Resamples draw the same units as the ranking does, within each system.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

import numpy as np
from numpy.typing import NDArray

from interloq.agree.dialogue_scores import DialogueScore
from interloq.errors import count
from interloq.metrics.metric import Array
from interloq.statistics.estimate import Estimate
from interloq.statistics.resampling import bootstrap_counts, percentile_interval

NO_PROBABILITIES = "no survival curves: scores are not between 0 and 1, so they are not probabilities of a reply"
ROUNDING = 1e-9  # resamples that differ by a smaller share are equal


@dataclass(frozen=True, slots=True)
class Survival:
    """One system's curve."""

    system: str
    turns: tuple[Estimate, ...]  # S(1), S(2), …; `n` is the number of dialogues with this turn
    expected: Estimate  # replies within the first `horizon` turns
    horizon: int


def survival_curves(
    rows: Sequence[DialogueScore], units: Sequence[str], *, n_bootstrap: int = 1000, seed: int = 0
) -> tuple[Survival, ...]:
    """Return one curve per system, by name; `units` are resampled. Empty if scores are not probabilities."""
    if not are_probabilities(rows):
        return ()
    probabilities: dict[str, Array] = {}
    for name in sorted({row.system for row in rows if select_known_turns(row)}):
        probabilities[name] = _probabilities([row for row in rows if row.system == name])
    horizon = min((p.shape[1] for p in probabilities.values()), default=0)
    curves = []
    for name, p in probabilities.items():
        unit = [unit for row, unit in zip(rows, units, strict=True) if row.system == name]
        curves.append(_survival(name, p, np.unique(unit, return_inverse=True)[1], horizon, n_bootstrap, seed))
    return tuple(curves)


def are_probabilities(rows: Iterable[DialogueScore]) -> bool:
    """Return whether all scores of turns are between 0 and 1."""
    turns = chain.from_iterable(row.turns for row in rows)
    return not any(value < 0 or value > 1 for value in turns)


def select_known_turns(row: DialogueScore) -> tuple[float, ...]:
    """Return the scores before the first unscored turn; an unscored turn that opens the dialogue is skipped."""
    return tuple(takewhile(lambda value: not math.isnan(value), _counted_turns(row)))


def _counted_turns(row: DialogueScore) -> tuple[float, ...]:
    return row.turns[1:] if _starts_late(row) else row.turns


def _starts_late(row: DialogueScore) -> bool:
    """Return whether the system opened the dialogue with a turn that has no score."""
    return row.opens and bool(row.turns) and math.isnan(row.turns[0])


def survival_notes(rows: Sequence[DialogueScore]) -> list[str]:
    """Return notes on survival curves of these rows."""
    if not are_probabilities(rows):
        return [NO_PROBABILITIES]
    notes = []
    if late := sum(map(_starts_late, rows)):
        what = count(late, "dialogue")
        notes.append(
            f"{what} opened by the system with a turn that answers nothing and has no score: "
            "survival curves count its turns from the next one"
        )
    unused = cut = 0
    for row in rows:
        known = len(select_known_turns(row))
        if known == 0:
            unused += 1
        elif known < len(_counted_turns(row)):
            cut += 1
    if unused:
        notes.append(f"{count(unused, 'dialogue')} without a scored first turn: not in the survival curves")
    if cut:
        what = count(cut, "dialogue")
        notes.append(f"{what} with an unscored turn: survival curves use only the turns before it")
    return notes


def _probabilities(rows: Sequence[DialogueScore]) -> Array:
    """Return one row per dialogue and one column per turn; NaN after the last turn that is used."""
    turns = [select_known_turns(row) for row in rows]
    matrix = np.full((len(turns), max(map(len, turns))), np.nan)
    for target, values in zip(matrix, turns, strict=True):
        target[: len(values)] = values
    return matrix


def _survival(system: str, p: Array, unit: NDArray[np.intp], horizon: int, n_bootstrap: int, seed: int) -> Survival:
    reached = ~np.isnan(p)
    after = np.cumprod(np.where(reached, p, 1.0), axis=1)
    before = np.column_stack([np.ones(len(p)), after[:, :-1]])
    sums = np.zeros((3, int(unit.max()) + 1, p.shape[1]))
    for total, part in zip(sums, (after * reached, before * reached, reached), strict=True):
        np.add.at(total, unit, part)
    curve = _products(*sums.sum(axis=1, keepdims=True))[0]
    resampled = np.empty((0, p.shape[1]))
    for counts in bootstrap_counts(sums.shape[1], n_bootstrap, seed):
        resampled = np.concatenate([resampled, _products(counts @ sums[0], counts @ sums[1], counts @ sums[2])])
    turns = []
    for i, n in enumerate(reached.sum(axis=0)):
        turns.append(Estimate(float(curve[i]), int(n), _interval(resampled[:, i])))
    expected = Estimate(float(curve[:horizon].sum()), len(p), _interval(resampled[:, :horizon].sum(axis=1)))
    return Survival(system, tuple(turns), expected, horizon)


def _interval(resampled: Array) -> tuple[float, float] | None:
    """Return the 95 % interval; None without resamples.

    It is also None if all resamples are equal, as when everybody or nobody has left after a turn.
    """
    if not len(resampled):
        return None
    low, high = percentile_interval(resampled)
    return None if high - low <= ROUNDING * high else (low, high)


def _products(after: Array, before: Array, reached: Array) -> Array:
    """Return S(1), S(2), … of each row; NaN from the first turn that no drawn dialogue reaches, unless S is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(before > 0, after / before, np.where(reached > 0, 0.0, np.nan))
    return np.where(np.maximum.accumulate(ratio == 0, axis=1), 0.0, np.cumprod(ratio, axis=1))
