"""Evaluation of continuity prediction."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from interloq import InputError
from interloq.agree.continuity import evaluate_continuity, size_groups
from interloq.agree.continuity_table import ContinuityRow, ContinuityTable
from tests.made_continuity import informed, part

TRAIN, DEV, TEST = part("a", 300), part("d", 60, seed=1), part("t", 60, seed=2)


def row(table: ContinuityTable, metric: str, threshold: str = "half") -> ContinuityRow:
    return next(row for row in table.rows if (row.metric, row.threshold) == (metric, threshold))


def test_one_table_has_the_model_and_the_baselines() -> None:
    table = evaluate_continuity([*informed(TEST), *informed(DEV)], TEST, train=TRAIN, dev=DEV, n_bootstrap=100)
    labels = [sample.ratings[0].value for sample in TEST]
    majority = row(table, "global_majority")
    assert majority.measures["accuracy"].value == pytest.approx(max(labels.count(1), labels.count(0)) / len(labels))
    assert majority.measures["auc"].value == 0.5
    model = row(table, "dcp", "reply-ratio")
    assert model.measures["auc"].value > row(table, "turn_index").measures["auc"].value
    for name in ("accuracy", "macro_f1", "auc", "brier"):
        low, high = model.measures[name].ci or (1, 0)
        assert low < model.measures[name].value < high
    assert (table.samples, table.replied, table.dialogues, table.users) == (len(TEST), labels.count(1), 60, 5)


def test_users_are_grouped_by_training_size() -> None:
    new = [replace(s, id=f"n{s.id}", ratings=(replace(s.ratings[0], rater="new"),)) for s in TEST[:5]]
    table = evaluate_continuity(informed([*TEST, *new]), [*TEST, *new], train=TRAIN, groups=2, n_bootstrap=10)
    assert sum(group.users for group in table.groups) == table.users == 6
    assert sum(group.samples for group in table.groups) == table.samples
    unseen, small, large = table.groups
    assert (unseen.users, unseen.largest, unseen.samples) == (1, 0, 5)
    assert small.largest <= large.smallest
    assert small.users > large.users
    assert [row.metric for row in small.rows] == [row.metric for row in table.rows]


def test_the_order_of_everything_changes_nothing() -> None:
    given = [*informed(TEST), *informed(DEV)]
    one = evaluate_continuity(given, TEST, train=TRAIN, dev=DEV, n_bootstrap=20)
    two = evaluate_continuity(given[::-1], TEST[::-1], train=TRAIN[::-1], dev=DEV[::-1], n_bootstrap=20)
    assert one == two
    other = evaluate_continuity(given, TEST, train=TRAIN[1:], dev=DEV, n_bootstrap=20)
    assert other.signature != one.signature


def test_notes_say_what_a_reader_must_know() -> None:
    answered = [sample for sample in TEST if sample.ratings[0].value == 1]
    unlabelled = replace(answered[0], id="x#1", ratings=())
    scores = informed(answered, "raw", scale=9)
    with pytest.raises(InputError, match=r"raw cannot predict labels: .* unknown whether higher or lower"):
        evaluate_continuity(scores, answered, n_bootstrap=0)
    table = evaluate_continuity(scores, [*answered, unlabelled], n_bootstrap=0, lower_is_better=False)
    assert table.notes == (
        "always predicting the more frequent label is right for 100.0% of the samples",
        "all samples have the same label: AUC is undefined",
        "raw: no threshold: scores are not between 0 and 1, and no dev sample has a score",
        "samples without a label, not used: 1",
    )
    assert math.isnan(table.rows[0].measures["auc"].value)
    assert table.groups == ()


def test_bad_options_are_refused() -> None:
    with pytest.raises(InputError, match="groups must be at least 1"):
        evaluate_continuity([], TEST, groups=0)


def test_groups_have_about_the_same_number_of_training_samples_and_none_is_empty() -> None:
    sizes = {f"u{i}": 10 for i in range(6)} | {"big": 60, "small": 1, "not tested": 500}
    found = size_groups(sizes.keys() - {"not tested"} | {"new"}, sizes, 2)
    assert [sorted(group.sizes.values()) for group in found] == [[0], [1, *[10] * 6], [60]]
    assert [group.mean for group in found] == [0, 61 / 7, 60]
    found = size_groups(["a", "b"], {"a": 1, "b": 1000}, 3)
    assert [dict(group.sizes) for group in found] == [{"a": 1}, {"b": 1000}]
    assert size_groups([], {}, 3) == []
