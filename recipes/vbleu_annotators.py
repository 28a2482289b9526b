"""Correlations with single annotators, and Table 4 of Tsuta et al. (2023) with the parts of `vbleu_tables.py`.

Only the ratings of USR's two sets name their annotators, four or five in each. As in the paper, a metric's highest and
lowest correlations are those with the annotators who agree with it most and least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rated_sets import Floats, RatedSet
from reference_claims import context_numbers, spearman
from results import Cell, Finding, Places, PublishedTable, interval_by_unit
from vbleu_published import (
    DELTA_BLEU,
    GOLD_BERTSCORE,
    GOLD_BLEU,
    PEOPLE,
    PUBLISHED,
    REFERENCED,
    V_BERTSCORE,
    V_BLEU,
)

from interloq import Score
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import MetaTable
from interloq.statistics.correlation import complete_rows, resample_coefficients, values
from interloq.statistics.resampling import percentile_interval

Scores = Mapping[str, Mapping[str, Floats]]  # set → row → scores
TABLE_4 = (GOLD_BLEU, REFERENCED, GOLD_BERTSCORE, DELTA_BLEU, V_BLEU, V_BERTSCORE, PEOPLE)


def lowest_annotator(
    sets: Mapping[str, RatedSet], scores: Scores, rows: tuple[str, str], resamples: int, where: str
) -> Finding:
    """One row against another by the correlation with the annotator who agrees least, on sets with named ones."""
    named = {name: own for name, own in sets.items() if ratings_by_annotator(own)}
    units: list[str] = []
    positions: list[tuple[str, int]] = []  # set and place in it, of every row of data
    for name, own in named.items():
        units += [f"{name}\n{context}" for context in own.contexts()]
        positions += [(name, place) for place in range(len(own.human))]

    def difference(places: Places) -> float:
        differences = []
        for name, own in named.items():
            chosen = [positions[place][1] for place in places.tolist() if positions[place][0] == name]
            judgments = ratings_by_annotator(own).values()
            lowest = [min(spearman(scores[name][row][chosen], given[chosen]) for given in judgments) for row in rows]
            differences.append(lowest[0] - lowest[1])
        return float(np.mean(differences))

    value, ci, contexts = interval_by_unit(units, difference, resamples=resamples)
    return Finding(
        item="001/34",
        way=f"lowest annotator: {rows[0]} > {rows[1]}",
        value=value,
        ci=ci,
        units=contexts,
        unit="contexts",
        data=f"mean of {' and '.join(named)}, {where}",
        published=0.100,
    )


def ratings_by_annotator(own: RatedSet) -> dict[str, Floats]:
    """Overall ratings of each named annotator; NaN where there is none."""
    found: dict[str, Floats] = {}
    for place, sample in enumerate(own.samples):
        for rating in sample.ratings:
            if rating.rater and rating.aspect == "overall" and rating.value is not None:
                found.setdefault(rating.rater, np.full(len(own.samples), np.nan))[place] = rating.value
    return found


def table_4(sets: Mapping[str, RatedSet], scores: Scores, resamples: int, where: str) -> PublishedTable:
    """The papers' Table 4; `scores` has its rows by their names there."""
    tables = {name: _by_annotator(own, scores[name]) for name, own in sets.items() if ratings_by_annotator(own)}
    rows: dict[str, Sequence[Cell]] = {}
    for title in TABLE_4:
        rank, linear = (_cells(title, name, sets, scores, tables, resamples) for name in ("spearman", "pearson"))
        rows[title] = rank + linear
    return PublishedTable(
        item="000/67",
        title="Table 4: correlations of metrics with references with people",
        data=f"mean judgment: mean of six sets; annotators: mean of {' and '.join(tables)}; {where}",
        columns=["ρ mean", "ρ max", "ρ min", "r mean", "r max", "r min"],
        rows=rows,
        note="English replies in place of Japanese ones, BM25 on the utterance in place of GloVe and BERT, and a rater "
        "made from `relevance` in place of the Bi-GRU and BERT. ΔBLEU needs people's ratings of references; people "
        "themselves have no figure with the mean judgment.",
    )


def _by_annotator(own: RatedSet, scores: Mapping[str, Floats]) -> MetaTable:
    """Agreement of each row with single annotators, and of annotators with each other."""
    given = []
    for row, column in scores.items():
        for sample, value in zip(own.samples, column.tolist(), strict=True):
            unscored = bool(np.isnan(value))
            reason = "unscored" if unscored else ""
            given.append(Score(sample.id, row, None if unscored else value, reason=reason, system=sample.system))
    return meta_evaluate(given, own.samples, aspect="overall", n_bootstrap=0, compare=False)


def _cells(
    title: str,
    coefficient: str,
    sets: Mapping[str, RatedSet],
    scores: Scores,
    tables: Mapping[str, MetaTable],
    resamples: int,
) -> list[Cell]:
    """One row's correlation with the mean judgment, and with the annotators who agree most and least."""
    first = 3 * ("spearman", "pearson").index(coefficient)
    mean, highest, lowest = PUBLISHED[title][first : first + 3]
    spreads = []
    for table in tables.values():
        by_title = {row.metric: row.with_annotators for row in table.rows}
        if title == PEOPLE and table.human:
            by_title[PEOPLE] = table.human.pairwise
        if spread := by_title.get(title, {}).get(coefficient):
            spreads.append(spread)
    first_cell = Cell(published=mean)
    if all(title in rows for rows in scores.values()):
        value, ci = _mean_of_sets(title, coefficient, sets, scores, resamples)
        if not np.isnan([value, *ci]).any():
            first_cell = Cell(published=mean, ours=value, ci=ci)
    ours_highest = _mean_if_defined([spread.max for spread in spreads])
    ours_lowest = _mean_if_defined([spread.min for spread in spreads])
    return [first_cell, Cell(published=highest, ours=ours_highest), Cell(published=lowest, ours=ours_lowest)]


def _mean_if_defined(found: Sequence[float]) -> float | None:
    return None if not found or np.isnan(found).any() else float(np.mean(found))


def _mean_of_sets(
    title: str, coefficient: str, sets: Mapping[str, RatedSet], scores: Scores, resamples: int
) -> tuple[float, tuple[float, float]]:
    """The mean correlation of the sets, and its interval from contexts resampled within each set."""
    means, spreads = [], []
    chosen = {coefficient: coefficient}
    for seed, (name, own) in enumerate(sets.items()):
        places = complete_rows(scores[name][title], own.human)
        column, human = scores[name][title][places], own.human[places]
        _, cluster = np.unique(context_numbers(own)[places], return_inverse=True)
        means.append(values(column, human, chosen=chosen)[coefficient])
        resampled = resample_coefficients(
            column, human, n_bootstrap=resamples, seed=seed, chosen=chosen, cluster=cluster
        )
        spreads.append(resampled[coefficient])
    return float(np.mean(means)), percentile_interval(np.mean(spreads, axis=0))
