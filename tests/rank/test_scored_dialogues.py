"""Dialogues and their scores: read from files of one origin, or scored here."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.progress import silent
from interloq.rank.scored_dialogues import read_scored, score_dialogues
from tests.made_dialogues import PARTNER_SET, made_dialogues, write_dialogues


@pytest.fixture
def paths(folder: Path) -> list[str]:
    return write_dialogues(folder, *made_dialogues({"low": 0.0, "high": 3.0}))


def test_scores_are_read_with_their_dialogues(paths: list[str]) -> None:
    scored = read_scored(paths[:1], paths[1:2])
    assert (len(scored.dialogues), len(scored.scores), scored.partner_set) == (24, 48, PARTNER_SET)


def test_files_of_other_partners_and_pipes_are_refused(paths: list[str], folder: Path) -> None:
    others = write_dialogues(folder, *made_dialogues({"other": 1.0}), name="other", partners="x")
    with pytest.raises(InputError, match="different partner sets"):
        read_scored([paths[0], others[0]], [paths[1], others[1]])
    with pytest.raises(InputError, match="rankings need files, not a pipe"):
        read_scored(["-"], paths[1:2])
    with pytest.raises(InputError, match="is named twice"):
        read_scored(paths[:1], [paths[1], paths[1]])


def test_dialogues_are_scored_by_a_metric() -> None:
    dialogues, _ = made_dialogues({"a": 0.0}, openings=2)
    scores, signature = score_dialogues(dialogues, "length", silent)
    assert len(scores) == 2 * 2 * 2, "partners, openings, utterances"
    assert {score.value for score in scores} == {2.0, 3.0}
    assert signature.name.startswith("length(")
