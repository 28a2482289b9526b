"""The data set GRADE."""

from __future__ import annotations

from pathlib import Path

from interloq import Rating, Reference, Turn
from interloq.data.sets import grade
from tests.published_layouts import (
    write_grade,
)


def test_grade_joins_scores_and_references_cell_by_cell(tmp_path: Path) -> None:
    samples = {sample.id: sample for sample in grade.samples(write_grade(tmp_path))}
    assert list(samples) == [
        "grade/dailydialog/0/ranker",
        "grade/convai2/1/ranker",
        "grade/dailydialog/2/ranker",
        "grade/dailydialog/3/generator",
    ]
    for number, sample in enumerate(samples.values()):
        assert sample.references == (Reference(f"reference {number} ."),)
    sample = samples["grade/dailydialog/2/ranker"]
    assert sample.context == (Turn("question 2"), Turn("answer 2"))
    assert sample.ratings == (Rating(5.0), Rating(5.0))
    assert sample.system == "ranker"


def test_grade_subset_keeps_ids_and_references(tmp_path: Path) -> None:
    write_grade(tmp_path)
    part = list(grade.samples(tmp_path, subset="dailydialog"))
    assert part == [sample for sample in grade.samples(tmp_path) if sample.id.startswith("grade/dailydialog/")]
    assert len(part) == 3


def test_grade_judgements_named_alone_bring_their_references(tmp_path: Path) -> None:
    path = write_grade(tmp_path / "grade") / "human_score/human_judgement.json"
    assert list(grade.samples(path)) == list(grade.samples(tmp_path / "grade"))
    alone = tmp_path / "human_judgement.json"
    path.rename(alone)
    assert [sample.references for sample in grade.samples(alone)] == [()] * 4
