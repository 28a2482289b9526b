# SPDX-License-Identifier: Apache-2.0
"""From files of scores and the dialogues they judge to rankings of systems.

People's score of each system is read from `{"mine": 4.1, "theirs": 3.9}`, or a table with a name and a number per line.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interloq.agree.dialogue_scores import dialogue_scores, metrics_of, select_rankable
from interloq.agree.system_agreement import rated_systems
from interloq.data.files.opening import not_utf8, read_small
from interloq.data.progress import Progress, silent
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.text.texts import kind_of
from interloq.errors import InputError, short_repr
from interloq.metrics.metric_names import find
from interloq.rank.against import score_against
from interloq.rank.rank import rank
from interloq.rank.rank_options import RankOptions
from interloq.rank.ranking import Ranking
from interloq.rank.scored_dialogues import read_scored, score_dialogues


@dataclass(frozen=True, slots=True)
class Rankings:
    """The ranking by each metric, or the reason why there is none."""

    rankings: list[Ranking]
    unranked: dict[str, str]


def rank_file(
    scores: Sequence[str | Path],
    options: RankOptions,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Rankings:
    """Rank systems by one metric of the score files, or by each metric with a direction; see `rank`.

    `scores` may be dialogues instead: they are scored here with `options.metric`, by default the packaged judge.
    `options.human` is a file with people's score of each system; by default it is their mean rating in the dialogues,
    if these have ratings. `aspect` and `role` select the ratings of samples or dialogues that are given instead of
    scores.
    """
    notes: list[str] = []
    if options.against:
        if options.dialogues or options.aspect is not None:
            raise InputError(
                "--against takes dialogues, not scores or ratings", hint="give the files of dialogues alone"
            )
        scored, notes = score_against(scores, options.against, options.metric, reading=reading, progress=progress)
    elif options.dialogues:
        scored = read_scored(scores, options.dialogues, aspect=options.aspect, role=options.role, reading=reading)
    elif options.aspect is None and all(path != "-" and kind_of(path) == "dialogues" for path in scores):
        read = read_scored([], scores, reading=reading)
        scored = replace(read, scores=score_dialogues(read.dialogues, options.metric, progress)[0])
    else:
        raise InputError("no dialogues given", hint="add --dialogues FILE, or rank a file of preferences")
    people: Mapping[str, float] = {}
    if options.human:
        people = read_system_scores(options.human)
    elif options.aspect is None:  # otherwise the ratings are what systems are ranked by
        people = rated_systems(scored.dialogues)
    metrics = metrics_of(scored.scores)
    if options.metric:
        metrics = [find(options.metric, metrics)]
    metrics, unranked = select_rankable(metrics, options.lower_is_better)
    rankings = Rankings([], unranked)
    with progress("ranking", None) as step:
        for name in metrics:
            ranking = rank(
                dialogue_scores(scored.scores, scored.dialogues, metric=name, pair_by=options.pair_by),
                method=options.method,
                by=options.by,
                lower_is_better=options.lower_is_better,
                n_bootstrap=options.n_bootstrap,
                n_permutations=options.n_permutations,
                seed=options.seed,
                human=people,
                partner_set=scored.partner_set,
                survival=options.survival,
                convergence=options.convergence,
            )
            rankings.rankings.append(replace(ranking, notes=(*ranking.notes, *notes)))
            step(1)
    return rankings


# ---- people's scores of systems --------------------------------------------------------------------------------------

SCORES_HINT = 'write {"system": score, …} as JSON, or lines system,score as CSV'


def read_system_scores(path: str | Path) -> dict[str, float]:
    """Return the score of each system by name; the first line of a table may be a header."""
    try:
        text = read_small(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(error, str(path)) from error
    read = _read_json if text.lstrip().startswith("{") else _read_table
    scores: dict[str, float] = {}
    for where, name, value in read(text, str(path)):
        if name in scores:
            raise InputError(f"system {name!r} is listed twice", hint="give each system one score", where=where)
        if not math.isfinite(value):
            raise InputError(f"the score of {name!r} is {value}", hint="omit the system", where=where)
        scores[name] = value
    if not scores:
        raise InputError("no scores of systems", hint=SCORES_HINT, where=str(path))
    return scores


def _read_json(text: str, path: str) -> Iterator[tuple[str, str, float]]:
    try:
        pairs: list[tuple[str, object]] = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError) as error:  # numbers with more digits than Python converts are also ValueErrors
        raise InputError(f"not valid JSON ({error})", hint=SCORES_HINT, where=path) from error
    for name, value in pairs:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(
                f"the score of {name!r} is not a number: {short_repr(value)}", hint=SCORES_HINT, where=path
            )
        try:
            yield path, name, float(value)
        except OverflowError as error:
            raise InputError(
                f"the score of {name!r} is too large: {short_repr(value)}", hint=SCORES_HINT, where=path
            ) from error


def _read_table(text: str, path: str) -> Iterator[tuple[str, str, float]]:
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"not a valid row: {error}", hint=SCORES_HINT, where=path) from error
    for number, row in enumerate(rows, start=1):
        if not any(cell.strip() for cell in row):
            continue
        where = f"{path}:{number}"
        if len(row) != 2:
            raise InputError(f"expected a system and a score, got {len(row)} cells", hint=SCORES_HINT, where=where)
        try:
            yield where, row[0].strip(), float(row[1])
        except ValueError as error:
            if number > 1:
                raise InputError(f"{row[1]!r} is not a number", hint=SCORES_HINT, where=where) from error
