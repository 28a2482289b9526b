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
from functools import partial
from pathlib import Path

from interloq.agree.dialogue_scores import dialogue_scores, metrics_of, select_rankable
from interloq.agree.system_agreement import rated_systems, rating_scores
from interloq.data.files.opening import not_utf8, read_small
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import header
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.text.texts import kind_of
from interloq.errors import InputError, short_repr
from interloq.metrics.metric_names import find
from interloq.play.dialogue_origin import common_origin
from interloq.play.samples import samples, whole_dialogues
from interloq.rank.rank import rank
from interloq.rank.rank_options import RankOptions
from interloq.rank.ranking import Ranking
from interloq.records import Dialogue, Score
from interloq.score.default_metrics import require_judge
from interloq.score.evaluate import evaluate_all, evaluate_by_unit
from interloq.score.parse_metrics import choose
from interloq.score.scored_samples import ScoredSamples

RATED = ("samples", "dialogues")  # kinds whose ratings can be ranked by


@dataclass(frozen=True, slots=True)
class ScoredDialogues:
    """Dialogues and the scores of their utterances; `partner_set` is the hash of the partners they were played with."""

    scores: list[Score]
    dialogues: list[Dialogue]
    partner_set: str = ""


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
    if options.dialogues:
        scored = read_scored(scores, options.dialogues, aspect=options.aspect, role=options.role, reading=reading)
    elif options.aspect is None and all(path != "-" and kind_of(path) == "dialogues" for path in scores):
        scored = _score_dialogues(read_scored([], scores, reading=reading), options.metric, progress)
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
            rankings.rankings.append(ranking)
            step(1)
    return rankings


def read_scored(
    scores: Sequence[str | Path],
    dialogues: Sequence[str | Path],
    *,
    aspect: str | None = None,
    role: str = "",
    reading: ReadOptions = READ_DEFAULTS,
) -> ScoredDialogues:
    """Read scores and their dialogues; files that cannot be compared are refused.

    With an `aspect`, `scores` are samples or dialogues, and people's ratings of them are the scores.
    """
    files = [str(path) for path in (*dialogues, *scores)]
    if "-" in files:
        raise InputError("rankings need files, not a pipe", hint="write scores and dialogues to files")
    for paths in (scores, dialogues):
        for path in paths:
            if paths.count(path) > 1:
                raise InputError(f"{path} is named twice", hint="name each file once")
    origin = common_origin({path: header(path) for path in files})
    played = list(reading.read_beside(dialogues, kind="dialogues"))
    return ScoredDialogues(_read_scores(scores, played, aspect, role, reading), played, origin.get("partners", ""))


def _score_dialogues(read: ScoredDialogues, metric: str, progress: Progress) -> ScoredDialogues:
    """Score the replies or dialogues that a metric judges, by default the packaged judge."""
    units = {False: list(samples(read.dialogues)), True: list(whole_dialogues(read.dialogues))}
    metric = metric or require_judge(units[False], "rank", of_dialogues=True)
    (chosen,), _ = choose([metric])
    with progress("scoring", None) as step:
        (by_system,) = evaluate_by_unit(
            [chosen.metric], lambda some, whole: evaluate_all(some, units[whole], n_bootstrap=0, progress=step)
        )
    return replace(read, scores=list(by_system[""].scores(chosen.name)))


def _read_scores(
    paths: Sequence[str | Path], dialogues: Sequence[Dialogue], aspect: str | None, role: str, reading: ReadOptions
) -> list[Score]:
    if aspect is None and role:
        raise InputError(f"role {role!r} without an aspect", hint="name the aspect of the ratings: --aspect overall")
    rated = {}
    if aspect is not None:
        for path in paths:
            if (kind := kind_of(path)) in RATED:
                rated[path] = kind
    if aspect is not None and not rated:
        raise InputError(f"no ratings of {aspect!r}: {paths[0]} has scores", hint="give samples or dialogues")
    scored = [path for path in paths if path not in rated]
    read_scores = partial(reading.read_beside, kind="scores")
    scores = list(ScoredSamples(dialogues=dialogues).check_all(scored, read_scores))
    for path, kind in rated.items():
        scores += rating_scores(reading.read_beside([path], kind=kind), aspect=aspect or "", role=role)
    return scores


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
