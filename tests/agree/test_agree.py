"""The modules of `interloq.agree`: continuity table, disagreements, label predictors, levels, metric similarity, score
slope, table.
"""

from __future__ import annotations

import math
import random
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import spearmanr

from interloq import InputError, Rating, Sample, Score, write
from interloq.agree.agreement import meta_evaluate
from interloq.agree.continuity import evaluate_continuity, evaluate_continuity_file
from interloq.agree.continuity_table import read_continuity
from interloq.agree.disagreements import disagreements
from interloq.agree.judgments import collect
from interloq.agree.label_predictors import label_samples, predictors, ratio_threshold
from interloq.agree.levels import Samples, level
from interloq.agree.meta_options import LabelOptions
from interloq.agree.metric_similarity import FEWEST, spearman_matrix
from interloq.agree.score_slope import check_slope, in_ratings, score_slope
from interloq.agree.table import MetaTable
from interloq.data.records.jsonl import to_json
from interloq.records import Key
from tests.made_continuity import informed, part
from tests.made_grid import grid


def test_the_ratio_threshold_predicts_as_many_replies_as_there_were() -> None:
    scores, labels = np.array([0.1, 0.2, 0.2, 0.7, math.nan]), np.array([1.0, 0.0, 0.0, 0.0, 1.0])
    assert ratio_threshold(scores, labels) == 0.7
    assert ratio_threshold(scores, 1 - labels) == 0.2  # three of four
    assert ratio_threshold(scores, np.ones(5)) == 0.1


def test_thresholds_are_named_and_metrics_without_one_have_only_an_auc() -> None:
    test, dev = part("t", 20), part("d", 20, seed=1)
    given = [*informed(test), *informed(test, "raw", scale=9), *informed(test, "other", scale=9)]
    given += [*informed(dev), *informed(dev, "raw", scale=9)]
    one, two = label_samples(test, "continued"), label_samples(dev, "continued")
    found, notes = predictors([*given, Score("d0#1", "dev only", 1.0)], one, two)
    rows = [row for each in found for row in each.rows(one, np.ones(len(test), dtype=bool), 0, 0)]
    assert [(row.metric, row.threshold) for row in rows] == [
        ("dcp", "half"), ("dcp", "reply-ratio"), ("other", "none"), ("raw", "reply-ratio"),
    ]  # fmt: skip
    by_name = {row.metric: row for row in rows}
    assert math.isnan(by_name["other"].measures["accuracy"].value)
    assert by_name["other"].measures["accuracy"].note.startswith("no threshold")
    assert by_name["other"].measures["auc"].value == by_name["raw"].measures["auc"].value > 0.6
    assert by_name["raw"].measures["ece"].note == "scores are not between 0 and 1"
    ratio = np.mean([sample.ratings[0].value for sample in dev])
    assert by_name["raw"].predicted == pytest.approx(ratio, abs=0.2)
    assert notes == ["dev only: only dev samples have scores, so it is not evaluated"]


def test_lower_may_be_better() -> None:
    test, dev = part("t", 20), part("d", 20, seed=1)
    one, two = label_samples(test, "continued"), label_samples(dev, "continued")
    name = "perplexity(model='none')"
    turned = [Score(s.id, name, -(s.value or 0)) for s in (*informed(test), *informed(dev))]
    (worse,), (better,) = (predictors(s, one, two)[0] for s in (turned, [*informed(test), *informed(dev)]))
    own = np.ones(len(test), dtype=bool)
    low, high = next(worse.rows(one, own, 0, 0)), list(better.rows(one, own, 0, 0))[1]
    assert (low.threshold, low.cut) == ("reply-ratio", -high.cut)
    assert low.measures["accuracy"] == high.measures["accuracy"]


def test_ratings_that_are_not_labels_are_refused() -> None:
    samples = [Sample("a#1", "Hi", "Hello", ratings=[Rating(1.0, "x", "continued"), Rating(0.0, "y", "continued")])]
    with pytest.raises(InputError, match=r"of 'a#1' is 0\.5, but labels are 0 or 1"):
        label_samples(samples, "continued")


def test_nothing_scored_is_nan_at_every_level() -> None:
    judgments, _ = grid()
    for by in ("none", "system", "sample"):
        found = level(by, judgments).estimates(np.full(60, np.nan), judgments.mean())
        assert all(math.isnan(e.value) and e.note for e in found.values())


def test_samples_of_named_dialogues_are_resampled_together() -> None:
    rng = np.random.default_rng(0)
    people, scores = rng.normal(size=(2, 30))
    scores += people
    names = [f"{i:02}.{k}" for i in range(30) for k in range(4)]
    samples = [Sample(id, ["hi"], "x", ratings=[people[int(id[:2])]], dialogue=id[:2]) for id in names]
    judgments, column = collect(samples), np.repeat(scores, 4)
    level_of = {"dialogues": level("none", judgments), "samples": Samples()}
    assert level_of["samples"].notes() == []
    assert "30 dialogues" in level_of["dialogues"].notes()[0]
    assert level_of["dialogues"].estimates(column, judgments.mean())["pearson"].p is None
    spread = {}
    for name, one in level_of.items():
        spread[name] = float(np.std(one.resample(column, judgments.mean(), 400, 0)["pearson"]))
    assert spread["dialogues"] == pytest.approx(2 * spread["samples"], rel=0.2)
    swapped = level_of["dialogues"].exchange(column, -column, judgments.mean(), 200, 0)["pearson"]
    alone = level_of["samples"].exchange(column, -column, judgments.mean(), 200, 0)["pearson"]
    assert swapped[0] == alone[0]
    assert np.std(swapped[1:]) > 1.5 * np.std(alone[1:])  # fewer units are exchanged
    each = collect([replace(sample, dialogue=sample.id) for sample in samples])
    assert level("none", each) == Samples()


RNG = np.random.default_rng(0)
RATINGS = RNG.normal(3, 1, size=80)
SCORES = 2 * RATINGS + RNG.normal(size=80)
NAMES = [str(i) for i in range(80)]


def test_the_slope_is_that_of_least_squares() -> None:
    found, expected = score_slope(SCORES, RATINGS, NAMES), stats.linregress(RATINGS, SCORES)
    assert found.value == pytest.approx(expected.slope)
    assert found.error == pytest.approx(expected.stderr, rel=0.25)
    repeated = score_slope(np.tile(SCORES, 2), np.tile(RATINGS, 2), NAMES * 2)
    assert repeated.error == pytest.approx(found.error)


def test_intervals_in_ratings_contain_the_true_difference() -> None:
    """Two versions differ by 0.5 in ratings; the metric measures ratings with noise larger than their spread."""
    covered = []
    for _ in range(300):
        ratings = RNG.normal(3, 1, size=200)
        slope = score_slope(0.1 * ratings + 0.15 * RNG.normal(size=200), ratings, [str(i) for i in range(200)])
        gaps = 0.1 * 0.5 + 0.2 * RNG.normal(size=60)
        _, (low, high) = in_ratings(gaps.mean(), gaps.std(ddof=1) / math.sqrt(60), 59, slope)
        covered.append(low <= 0.5 <= high)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.035)


def test_a_weak_metric_has_wide_intervals() -> None:
    weak = score_slope(SCORES + 4 * RNG.normal(size=80), RATINGS, NAMES)
    strong = score_slope(SCORES, RATINGS, NAMES)
    widths = [np.ptp(in_ratings(0.0, error, 79, slope)[1]) for error, slope in ((0.5, weak), (0.1, strong))]
    assert widths[0] > 3 * widths[1]
    value, ci = in_ratings(1.0, 0.1, 1, weak)
    assert ci == (-math.inf, math.inf)  # one degree of freedom
    assert value == pytest.approx(1 / weak.value)


def test_a_metric_that_does_not_follow_ratings_is_refused() -> None:
    slope = score_slope(SCORES, RATINGS, NAMES)
    check_slope(slope, "chrf", lower_is_better=False)
    with pytest.raises(InputError, match="scores of chrf do not get better with higher ratings"):
        check_slope(slope, "chrf", lower_is_better=True)
    with pytest.raises(InputError, match="do not get better with higher ratings"):
        check_slope(score_slope(RNG.normal(size=80), RATINGS, NAMES), "chrf", lower_is_better=False)
    for n, ratings, message in ((9, RATINGS, "only 9 rated samples"), (80, np.ones(80), "the same rating")):
        with pytest.raises(InputError, match=message):
            score_slope(SCORES[:n], ratings[:n], NAMES[:n])


LONG = "bleu(level='sentence',order=2)"


def table(samples: list[Sample]) -> MetaTable:
    scores = [Score(s.id, f"short={LONG}", float(s.id), system=s.system) for s in samples]
    scores += [Score(s.id, "length", float(len(s.response)), system=s.system) for s in samples]
    return meta_evaluate(scores, samples, n_bootstrap=0, n_permutations=10)


def test_labels_stand_for_metrics_in_rows_comparisons_and_notes(samples: list[Sample]) -> None:
    noted = replace(table(samples), notes=(f"short={LONG}: a note",))
    shown = noted.with_labels()
    assert [row.metric for row in shown.rows] == ["length", "short"]
    assert {name for c in shown.comparisons for name in (c.first, c.second)} == {"length", "short"}
    assert shown.notes == ("short: a note",)
    assert noted.rows[1].metric == f"short={LONG}", "the table itself keeps the specs"


def test_there_is_one_row_per_metric_and_coefficient(samples: list[Sample]) -> None:
    found = table(samples)
    rows = found._table_rows()
    assert [(row["metric"], row["coefficient"]) for row in rows] == [
        (row.metric, name) for row in found.rows for name in ("pearson", "spearman", "kendall")
    ]
    assert rows[0]["value"] == found.rows[0].with_mean["pearson"].value
    assert "6 rated samples" in repr(found)


def test_it_shows_one_row_per_metric_and_threshold() -> None:
    test = part("t", 10)
    table = evaluate_continuity(informed(test, "mine=dcp(model='a')"), test, train=part("a", 10), n_bootstrap=0)
    lines = repr(table.with_labels()).splitlines()
    assert lines[0].startswith(f"ContinuityTable: prediction of 'continued', {len(test)} samples")
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["global_majority", "half"],
        ["mine", "half"],
        ["private_majority", "half"],
        ["turn_index", "half"],
    ]
    assert {row.metric for row in table.with_labels().groups[0].rows} == {
        "mine", "global_majority", "private_majority", "turn_index"
    }  # fmt: skip


def test_files_give_what_records_give(folder: Path) -> None:
    parts = {name: part(name, 20, seed=seed) for seed, name in enumerate(("train", "dev", "test"))}
    for name, samples in parts.items():
        write(folder / f"{name}.jsonl", samples, kind="samples")
    scores = [*informed(parts["test"]), *informed(parts["dev"])]
    write(folder / "scores.jsonl", scores, kind="scores")
    options = LabelOptions(samples="test.jsonl", train="train.jsonl", dev="dev.jsonl", groups=2, n_bootstrap=10, seed=3)
    found = evaluate_continuity_file(["scores.jsonl"], options)
    expected = evaluate_continuity(
        scores, parts["test"], train=parts["train"], dev=parts["dev"], groups=2, n_bootstrap=10, seed=3
    )
    assert found == expected
    alone = evaluate_continuity_file(["scores.jsonl"], LabelOptions(samples="test.jsonl", n_bootstrap=0))
    assert {row.threshold for row in alone.rows} == {"half"}


def test_a_printed_table_is_read_back(folder: Path) -> None:
    test = part("t", 20)
    scores = [*informed(test), *informed(test, "raw", scale=9)]
    table = evaluate_continuity(scores, test, train=part("a", 20), n_bootstrap=10, lower_is_better=False)
    (folder / "table.json").write_bytes(orjson.dumps(to_json(asdict(table))))
    assert repr(read_continuity("table.json")) == repr(table)  # NaN is not equal to itself
    assert read_continuity("table.json").groups[0].rows[0] == table.groups[0].rows[0]


@pytest.mark.parametrize("content", ["{", "[]", '{"groups": []}', '{"rows": [{}]}'])
def test_other_files_are_refused(folder: Path, content: str) -> None:
    (folder / "table.json").write_text(content)
    with pytest.raises(InputError, match=r"table\.json: not a table of predicted labels"):
        read_continuity("table.json")


PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30)


def _percentile(value: float, values: list[float]) -> float:
    """By counting: half of the ties, one's own included, and all that lie below."""
    below, ties = sum(v < value for v in values), sum(v == value for v in values)
    return 100 * (below + ties / 2) / len(values)


def _mappings(pairs: list[tuple[int, int]]) -> tuple[dict[Key, float], dict[Key, float]]:
    """Of samples that some have by their ids, some by their systems."""
    keys = [(f"{i // 2:02}", f"{i % 2}") for i in range(len(pairs))]
    first, second = ({key: float(pair[j]) for key, pair in zip(keys, pairs, strict=True)} for j in (0, 1))
    return first, second


def _keyed(values: dict[str, float]) -> dict[Key, float]:
    return {(id, ""): value for id, value in values.items()}


@given(PAIRS, st.integers(0, 12))
def test_the_worst_are_those_a_full_sort_puts_first(pairs: list[tuple[int, int]], worst: int) -> None:
    scores, judgments = _mappings(pairs)
    found = disagreements(scores, judgments, worst=worst)
    gaps = {
        id: _percentile(scores[id], list(scores.values())) - _percentile(judgments[id], list(judgments.values()))
        for id in scores
    }
    over = sorted((id for id in gaps if gaps[id] > 1e-9), key=lambda i: (-round(gaps[i], 6), i))
    under = sorted((id for id in gaps if gaps[id] < -1e-9), key=lambda i: (round(gaps[i], 6), i))
    assert [d.key for d in found.over] == over[: worst - worst // 2]
    assert [d.key for d in found.under] == under[: worst // 2]
    for d in (*found.over, *found.under):
        assert d.difference == pytest.approx(gaps[d.key])
        assert (d.score, d.judgment) == (scores[d.key], judgments[d.key])


@given(PAIRS, st.randoms())
def test_the_order_of_samples_does_not_matter(pairs: list[tuple[int, int]], shuffler: random.Random) -> None:
    scores, judgments = _mappings(pairs)
    ids = list(scores)
    shuffler.shuffle(ids)
    assert disagreements({id: scores[id] for id in ids}, judgments) == disagreements(scores, judgments)


def test_only_samples_with_both_count() -> None:
    scores = {"a": 1.0, "b": 2.0, "c": 3.0, "only scored": 9.0, "unscored": float("nan")}
    judgments = {"a": 3.0, "b": 2.0, "c": 1.0, "only judged": 5.0, "unscored": 4.0}
    found = disagreements(_keyed(scores), _keyed(judgments))
    assert found.n == 3
    assert [(d.key[0], round(d.difference)) for d in found.over] == [("c", 67)]
    assert [(d.key[0], round(d.difference)) for d in found.under] == [("a", -67)]


def test_a_monotone_metric_disagrees_nowhere() -> None:
    judgments = _keyed({str(i): float(i) for i in range(10)})
    for sign, lower in ((1, False), (-1, True)):
        scores = {id: sign * value**3 for id, value in judgments.items()}
        found = disagreements(scores, judgments, lower_is_better=lower)
        assert (found.over, found.under, found.n) == ((), (), 10)
    with pytest.raises(InputError, match="must not be negative, got -1"):
        disagreements({}, {}, worst=-1)


VALUES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=FEWEST, max_size=40)


def _columns(pairs: list[tuple[int, int]]) -> dict[str, dict[Key, float]]:
    return {name: {(str(i), ""): float(pair[j]) for i, pair in enumerate(pairs)} for j, name in enumerate("ab")}


@given(VALUES)
def test_a_cell_is_scipys_spearman(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    cell = spearman_matrix(_columns(pairs)).cells[0][1]
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(cell.value)
        assert cell.note
    else:
        assert cell.value == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)
    assert cell.n == len(pairs)


@given(VALUES, st.randoms())
def test_neither_the_order_of_samples_nor_the_side_matters(
    pairs: list[tuple[int, int]], shuffler: random.Random
) -> None:
    columns = _columns(pairs)
    ids = list(columns["a"])
    shuffler.shuffle(ids)
    shuffled = {name: {id: column[id] for id in ids} for name, column in columns.items()}
    matrix = spearman_matrix(columns)
    assert repr(spearman_matrix(shuffled)) == repr(matrix)
    assert repr(matrix.cells[0][1]) == repr(matrix.cells[1][0])


def test_cells_use_the_samples_that_both_columns_have() -> None:
    keys = [(str(i), "") for i in range(6)]
    columns = {
        "full": dict(zip(keys, [1.0, 2, 3, 4, 5, 6], strict=True)),
        "gap": dict(zip(keys, [2.0, 1, float("nan"), 3, 5, 4], strict=True)),
        "short": {keys[0]: 4.0, keys[1]: 3.0, keys[3]: 2.0, keys[4]: 1.0},
    }
    pairs = spearman_matrix(columns)
    assert [[cell.n for cell in row] for row in pairs.cells] == [[6, 5, 4], [5, 5, 4], [4, 4, 4]]
    assert pairs.cells[0][1].value == pytest.approx(spearmanr([1, 2, 4, 5, 6], [2, 1, 3, 5, 4]).statistic)


def test_two_samples_are_too_few_for_a_number() -> None:
    columns = {name: {(id, ""): float(id) for id in ids} for name, ids in (("a", "12"), ("b", "123"))}
    cell = spearman_matrix(columns).cells[0][1]
    assert math.isnan(cell.value)
    assert "fewer than 3" in cell.note
    assert cell.n == 2
    assert spearman_matrix({}).cells == ()
