"""Loaders on the published files themselves, where INTERLOQ_DATA names a folder that holds them."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from interloq.data.sets.registry import read_dataset

pytestmark = pytest.mark.skipif(
    not os.environ.get("INTERLOQ_DATA"), reason="INTERLOQ_DATA names no folder with the published datasets"
)


def load(name: str, subset: str = "") -> list[Any]:
    return list(read_dataset(name, subset=subset))


@pytest.mark.parametrize(("subset", "systems"), [("convai2", 4), ("dailydialog", 2), ("empatheticdialogues", 2)])
def test_grade(subset: str, systems: int) -> None:
    samples = load("grade", subset)
    assert list(Counter(sample.system for sample in samples).values()) == [150] * systems
    assert all(len(sample.references) == 1 and len(sample.context) == 2 for sample in samples)
    assert {len(sample.ratings) for sample in samples} <= {8, 9, 10, 11}
    assert {rating.value for sample in samples for rating in sample.ratings} == {1, 2, 3, 4, 5}


def test_grade_as_a_whole() -> None:
    assert len(load("grade")) == 1200


@pytest.mark.parametrize(("subset", "systems", "annotators"), [("topical", 6, 5), ("persona", 5, 4)])
def test_usr(subset: str, systems: int, annotators: int) -> None:
    samples = load("usr", subset)
    assert list(Counter(sample.system for sample in samples).values()) == [60] * systems
    assert {len(sample.ratings) for sample in samples} == {6 * 3}
    assert len({rating.rater for sample in samples for rating in sample.ratings}) == annotators
    for sample in samples:
        if sample.system == "Original Ground Truth":
            assert [sample.response] == [reference.text for reference in sample.references]


def test_fed() -> None:
    samples, dialogues = load("fed", "turn"), load("fed", "dialogue")
    assert (len(samples), len(dialogues)) == (375, 125)
    assert {len(sample.ratings) for sample in samples} == {9 * 5}
    assert {len(dialogue.ratings) for dialogue in dialogues} == {11 * 5}
    assert {sample.system for sample in samples} == {"Human", "Meena", "Mitsuku"}
    absent = Counter(r.aspect for dialogue in dialogues for r in dialogue.ratings if r.value is None)
    assert absent.most_common(1)[0][0] == "error recovery"


def test_gupta() -> None:
    samples = load("gupta")
    assert list(Counter(sample.system for sample in samples).values()) == [100] * 5
    assert {tuple(r.source for r in sample.references) for sample in samples} == {("gold", "human", "human", "human")}
    assert all(1 <= sample.ratings[0].value <= 5 for sample in samples)


@pytest.mark.parametrize(
    # straight from the CSV file with the csv module and scipy: RUBER's and BERT-RUBER's unreferenced half
    ("column", "pearson", "spearman"),
    [("Ruber_Unref_Score", 0.237, 0.302), ("CTX_Unref_Score", 0.540, 0.547)],
)
def test_predictive_engagement(column: str, pearson: float, spearman: float) -> None:
    samples = load("predictive_engagement")
    assert [len(sample.ratings) for sample in samples] == [3] * 600
    stored = {score.id: score.value for score in load("predictive_engagement", "scores") if column in score.metric}
    scores = [stored[sample.id] for sample in samples]
    people = [np.mean([rating.value for rating in sample.ratings]) for sample in samples]
    assert round(stats.pearsonr(scores, people).statistic, 3) == pearson
    assert round(stats.spearmanr(scores, people).statistic, 3) == spearman
