# SPDX-License-Identifier: Apache-2.0
"""How long would this person stay? Survival curves of systems from the probability of a reply to each of their turns.

    S(t) = mean over dialogues of P_1 · … · P_t

is the probability that the other person still answers the system's t-th turn, if P_i is the probability that they
answer the i-th turn after answering all before it. If dialogues differ in length, shorter ones count as far as they go,
as in a product-limit estimate; with equal lengths this is the mean above:

    S(t) = S(t-1) · Σ_d P_d1 … P_dt / Σ_d P_d1 … P_d(t-1)    over the dialogues d with a t-th turn

A dialogue is used until its first unscored turn. If a system opens a dialogue, the opening answers nothing and may have
no score: its turns then count from the next one. The expected number of replies within H turns is S(1) + … + S(H); H is
the same for all systems. Resamples draw the same units as those of the ranking, within each system.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.errors import count
from interloq.meta.dialogue_scores import DialogueScore
from interloq.meta.table import Estimate
from interloq.metrics.evaluate import bootstrap_counts, percentile_interval
from interloq.metrics.metric import Array

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
    """One curve per system, by name; `units` are what is resampled. Empty if scores are not probabilities."""
    if not are_probabilities(rows):
        return ()
    systems = sorted({row.system for row in rows if known_turns(row)})
    found = {name: _probabilities([row for row in rows if row.system == name]) for name in systems}
    horizon = min((p.shape[1] for p in found.values()), default=0)
    curves = []
    for name, p in found.items():
        unit = [unit for row, unit in zip(rows, units, strict=True) if row.system == name]
        curves.append(_survival(name, p, np.unique(unit, return_inverse=True)[1], horizon, n_bootstrap, seed))
    return tuple(curves)


def are_probabilities(rows: Iterable[DialogueScore]) -> bool:
    """Whether all scores of turns are between 0 and 1."""
    return all(0 <= value <= 1 for row in rows for value in row.turns if not math.isnan(value))


def known_turns(row: DialogueScore) -> tuple[float, ...]:
    """The scores before the first unscored turn; an unscored turn that opens the dialogue is passed over."""
    turns = _counted_turns(row)
    missing = (i for i, value in enumerate(turns) if math.isnan(value))
    return turns[: next(missing, len(turns))]


def _counted_turns(row: DialogueScore) -> tuple[float, ...]:
    return row.turns[1:] if _starts_late(row) else row.turns


def _starts_late(row: DialogueScore) -> bool:
    """Whether the system opened the dialogue with a turn that has no score."""
    return row.opens and bool(row.turns) and math.isnan(row.turns[0])


def survival_notes(rows: Sequence[DialogueScore]) -> list[str]:
    """Notes on survival curves of these rows."""
    if not are_probabilities(rows):
        return [NO_PROBABILITIES]
    notes = []
    if late := sum(map(_starts_late, rows)):
        what = count(late, "dialogue")
        notes.append(
            f"{what} opened by the system with a turn that answers nothing and has no score: "
            "survival curves count its turns from the next one"
        )
    turns = [(len(known_turns(row)), len(_counted_turns(row))) for row in rows]
    if unused := sum(known == 0 for known, _ in turns):
        notes.append(f"{count(unused, 'dialogue')} without a scored first turn: not in the survival curves")
    if cut := sum(0 < known < counted for known, counted in turns):
        what = count(cut, "dialogue")
        notes.append(f"{what} with an unscored turn: survival curves use only the turns before it")
    return notes


def _probabilities(rows: Sequence[DialogueScore]) -> Array:
    """One row per dialogue, one column per turn; NaN after the last turn that is used."""
    turns = [known_turns(row) for row in rows]
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
    drawn = [_products(*(c @ total for total in sums)) for c in bootstrap_counts(sums.shape[1], n_bootstrap, seed)]
    resampled = np.concatenate(drawn) if drawn else None
    sizes = reached.sum(axis=0)
    return Survival(
        system=system,
        turns=tuple(
            Estimate(float(value), int(n), None if resampled is None else _interval(resampled[:, i]))
            for i, (value, n) in enumerate(zip(curve, sizes, strict=True))
        ),
        expected=Estimate(
            float(curve[:horizon].sum()),
            len(p),
            None if resampled is None else _interval(resampled[:, :horizon].sum(axis=1)),
        ),
        horizon=horizon,
    )


def _interval(resampled: Array) -> tuple[float, float] | None:
    """The 95 % interval; None if all resamples are equal, as after a turn at which everybody left or nobody did."""
    found = percentile_interval(resampled)
    return None if found[1] - found[0] <= ROUNDING * found[1] else found


def _products(after: Array, before: Array, reached: Array) -> Array:
    """S(1), S(2), … of each row; NaN from the first turn that no drawn dialogue reaches, unless S is 0 already."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(before > 0, after / before, np.where(reached > 0, 0.0, np.nan))
    return np.where(np.maximum.accumulate(ratio == 0, axis=1), 0.0, np.cumprod(ratio, axis=1))
