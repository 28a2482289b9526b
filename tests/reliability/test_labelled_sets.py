"""Labelled sets and worse ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, Sample
from interloq.metrics.network_metric import NO_CONTEXT
from interloq.reliability.labelled_sets import LabelledSets, make_sets, set_pairs, worse_sets
from interloq.reliability.labels import NONE, compute_labels_without, draw_labels, group_queries, score_replies
from interloq.reliability.settings import ReliabilitySettings
from tests.reliability.made_model import SMALL, small_sets
from tests.reliability.made_queries import rated_samples


def test_sets_are_those_of_the_labels() -> None:
    queries = group_queries(rated_samples(12))
    scored = score_replies(queries, "bleu_star")
    found, sets = draw_labels(scored, sizes=(1, 2, 3), per_size=10), small_sets()
    np.testing.assert_array_equal(sets.values, found.values)
    pairs = set_pairs(sets, queries)
    for i, members, own in zip(found.query, found.members, sets.sets, strict=True):
        texts = [queries[i].references[m] for m in members if m != NONE]
        assert [pairs[p] for p in own if p != NONE] == [(queries[i].turns, text) for text in texts]
    np.testing.assert_array_equal(sets.sizes, found.sizes)


def test_falls_are_those_of_the_labels_without_each_member() -> None:
    scored, sets = score_replies(group_queries(rated_samples(12)), "bleu_star"), small_sets()
    found = draw_labels(scored, sizes=(1, 2, 3), per_size=10)
    for i, one in enumerate(scored):
        own = found.query == i
        np.testing.assert_array_equal(
            sets.falls[own], compute_labels_without(one, found.members[own]) < found.values[own][:, None]
        )
    assert 0 < sets.falls.sum() < (sets.sets != NONE).sum()
    assert not sets.falls[sets.sizes == 1].any()


def test_parts_share_no_query_and_foreign_references_are_of_the_same_part() -> None:
    queries, sets = group_queries(rated_samples(12)), small_sets()
    assert {*sets.query[sets.rows("train")]} & {*sets.query[sets.rows("dev")]} == set()
    assert sets.facts["queries"] == {"train": 10, "dev": 2}
    assert sets.facts["sets"] == {part: len(sets.rows(part)) for part in ("train", "dev")}
    pairs = set_pairs(sets, queries)
    of_part = {
        part: {text for q in np.flatnonzero(sets.dev == part) for text in queries[q].references} for part in (0, 1)
    }
    for q, row in enumerate(sets.foreign):
        for turns, text in (pairs[p] for p in row):
            assert turns == queries[q].turns
            assert text not in queries[q].references
            assert text in of_part[int(sets.dev[q])]


def test_they_survive_a_save(tmp_path: Path) -> None:
    sets = small_sets()
    assert not LabelledSets.written(tmp_path / "work")
    sets.save(tmp_path / "work")
    assert LabelledSets.written(tmp_path / "work")
    again = LabelledSets.load(tmp_path / "work")
    assert again.facts == sets.facts
    for name in ("used", "pairs", "query", "sets", "values", "falls", "foreign", "dev"):
        np.testing.assert_array_equal(getattr(again, name), getattr(sets, name))


def test_queries_without_labels_or_context_are_omitted_and_counted() -> None:
    samples = rated_samples(6)
    samples = [
        replace(s, ratings=()) if s.id == "001" else replace(s, context=()) if s.id == "003" else s for s in samples
    ]
    queries = group_queries(samples)
    sets = make_sets(score_replies(queries, "bleu_star"), SMALL)
    assert sets.facts["skipped_queries"][NO_CONTEXT] == 1
    assert sum(sets.facts["skipped_queries"].values()) == 2
    assert [queries[i].turns for i in sets.used] == [
        q.turns for q in queries if q.turns and not np.isnan(q.ratings).any()
    ]
    assert {turns for turns, _ in set_pairs(sets, queries)} == {queries[i].turns for i in sets.used}


def test_too_few_queries_are_refused_with_the_reasons() -> None:
    samples = rated_samples(5)
    alone = [s for s in samples if s.id < "002" or s.system == "bot0"]
    with pytest.raises(InputError, match=r"only 2 queries can be labelled \(3 with fewer than 3 replies"):
        make_sets(score_replies(group_queries(alone), "bleu_star"), SMALL)


def test_equal_references_everywhere_are_refused() -> None:
    samples = [
        Sample(f"{q}", [f"query {q}"], f"reply {q} {r} tea"[: 7 + r * 3], ["tea now", "no tea"], f"bot{r}", [r])
        for q in range(6)
        for r in range(4)
    ]
    with pytest.raises(InputError, match="all queries have the same references"):
        make_sets(score_replies(group_queries(samples), "bleu_star"), replace(SMALL, sizes="1,2"))


# ---- worse sets ------------------------------------------------------------------------------------------------------


def drawn(sets: LabelledSets, number: int = 3, *, first: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = sets.rows("train")
    made, there = worse_sets(sets, rows, np.arange(len(rows)) + first, number=number, seed=0)
    return rows, made, there


def test_worse_sets_are_of_the_three_kinds() -> None:
    sets = small_sets()
    rows, made, there = drawn(sets)
    assert made.shape == (len(rows), 3, 4)
    assert there[:, 1:].all()
    assert there[:, 0].any()
    assert not there[:, 0].all()
    for row, (without, added, replaced), exists in zip(rows, made, there, strict=True):
        own, foreign = {*sets.sets[row]} - {NONE}, {*sets.foreign[sets.query[row]]}
        left = {*without} - {NONE}
        if exists[0]:
            (missing,) = own - left
            assert left < own
            assert sets.falls[row][list(sets.sets[row]).index(missing)]
        else:
            assert left == own
            assert not sets.falls[row].any()
        assert own < {*added} - {NONE}
        assert len({*added} - own - {NONE}) == 1
        assert {*added} - own - {NONE} <= foreign
        assert len({*replaced} - {NONE}) == len(own)
        assert len({*replaced} & own) == len(own) - 1
        assert {*replaced} - own - {NONE} <= foreign


def test_worse_sets_depend_on_the_example_only() -> None:
    sets = small_sets()
    rows, made, there = drawn(sets, 5)
    order = np.random.default_rng(0).permutation(len(rows))[:17]
    some, exist = worse_sets(sets, rows[order], order, number=5, seed=0)
    np.testing.assert_array_equal(some, made[order])
    np.testing.assert_array_equal(exist, there[order])
    assert not np.array_equal(drawn(sets, 5, first=len(rows))[1], made)  # the next epoch draws others
    assert not np.array_equal(made[:, 1], made[:, 4])  # the second of a kind is drawn on its own


def test_all_references_can_be_drawn() -> None:
    sets = small_sets(ReliabilitySettings(sizes="3", per_size=10, foreign=4))
    rows = np.repeat(sets.rows("train")[:1], 500)
    made, _ = worse_sets(sets, rows, np.arange(500), number=3, seed=0)
    own = {*sets.sets[rows[0]]}
    assert {*made[:, 1].ravel()} - own - {NONE} == {*sets.foreign[sets.query[rows[0]]]}
    assert all(any(member not in row for row in made[:, 2]) for member in own)
