# SPDX-License-Identifier: Apache-2.0
"""Scores as columns: one number per sample for every metric, in the order of the judgments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from interloq.agree.judgments import Judgments
from interloq.errors import InputError
from interloq.metrics.metric import Array
from interloq.records import Key, SampleKeys, Score, format_key
from interloq.score.selection import SampleFilter
from interloq.signature import fingerprint

LEAST, LARGEST = 1e-100, 1e100  # range in which sums of squares neither underflow nor overflow


def score_columns(
    scores: Iterable[Score], judgments: Judgments, selection: SampleFilter
) -> tuple[dict[str, Array], list[str]]:
    """One column of scores per metric, sorted by name; and notes on scores that belong to no sample."""
    place, known = {key: i for i, key in enumerate(judgments.keys)}, SampleKeys(judgments.keys)
    columns: dict[str, Array] = {}
    given: dict[str, set[int]] = {}
    stray: dict[str, list[Key]] = {}
    for score in scores:
        column = columns.setdefault(score.metric, np.full(len(place), np.nan))
        key = known.find(score.id, score.system)
        if key is None and selection.excludes(score):
            continue
        if key is None:
            stray.setdefault(score.metric, []).append(score.key)
            continue
        i = place[key]
        value = _value(score)
        seen = given.setdefault(score.metric, set())
        if i in seen and not equal(column[i], value):
            raise InputError(
                f"{score.metric} scored sample {format_key(key)} twice: {column[i]:g} and {value:g}",
                hint="give each metric's scores once",
            )
        seen.add(i)
        column[i] = value
    _check_ids(columns, stray, judgments)
    return {name: _rescaled(columns[name]) for name in sorted(columns)}, [
        _stray_note(name, keys) for name, keys in sorted(stray.items())
    ]


def columns_fingerprint(columns: Mapping[str, Array]) -> str:
    """Fingerprint of the scores of all metrics."""
    return fingerprint(*(part for name, column in columns.items() for part in (name, column.tobytes())))


def _rescaled(column: Array) -> Array:
    """The column scaled by a power of two if squares of its scores would overflow or underflow."""
    largest = float(np.nanmax(np.abs(column), initial=0.0))
    if largest == 0 or LEAST <= largest <= LARGEST:
        return column
    return np.asarray(np.ldexp(column, -math.frexp(largest)[1]))


def _value(score: Score) -> float:
    value = float("nan") if score.value is None else float(score.value)
    if math.isinf(value):
        raise InputError(
            f"{score.metric} scored sample {format_key(score.key)} {value}", hint="leave such a sample unscored (null)"
        )
    return value


def equal(first: float, second: float) -> bool:
    """Whether two scores are equal, or both missing."""
    return first == second or (math.isnan(first) and math.isnan(second))


def _check_ids(columns: Mapping[str, Array], stray: Mapping[str, Sequence[Key]], judgments: Judgments) -> None:
    if not columns:
        raise InputError("no scores", hint="make some: interloq score SAMPLES -m METRIC -o scores.jsonl")
    if stray and all(np.isnan(column).all() for column in columns.values()):
        seen, known = min(keys[0] for keys in stray.values()), judgments.keys[0]
        raise InputError(
            f"no score belongs to a sample: score 1 is of {format_key(seen)}, sample 1 is {format_key(known)}",
            hint="give the samples that were scored",
        )


def _stray_note(metric: str, keys: Sequence[Key]) -> str:
    return f"{metric}: scores without a sample, not used: {len(keys)}, for example {format_key(min(keys))}"
