"""Rankings, from files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, Rating
from interloq.rank.rank_file import rank_file, read_scored
from interloq.rank.rank_options import RankOptions
from tests.made_dialogues import PARTNER_SET, made_dialogues, write_dialogues


@pytest.fixture
def paths(folder: Path) -> list[str]:
    return write_dialogues(folder, *made_dialogues({"low": 0.0, "high": 3.0}))


def _options(paths: list[str]) -> RankOptions:
    return RankOptions(dialogues=paths[1:2], n_bootstrap=20, lower_is_better=False)


def test_scores_are_read_with_their_dialogues(paths: list[str]) -> None:
    scored = read_scored(paths[:1], paths[1:2])
    assert (len(scored.dialogues), len(scored.scores), scored.partner_set) == (24, 48, PARTNER_SET)


def test_systems_are_ranked_and_agreement_is_told(paths: list[str], folder: Path) -> None:
    (folder / "people.csv").write_text("low,1\nhigh,5\n")
    found = rank_file(paths[:1], replace(_options(paths), human="people.csv"))
    (ranking,) = found.rankings
    assert [standing.system for standing in ranking.standings] == ["high", "low"]
    assert ranking.human
    assert not found.unranked


def test_ratings_in_the_dialogues_are_compared_with_the_ranking(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.0, "high": 3.0})
    rated = [replace(d, ratings=(Rating(5.0 if "high" in d.systems.values() else 1.0),)) for d in dialogues]
    paths = write_dialogues(folder, rated, scores)
    (ranking,) = rank_file(paths[:1], _options(paths)).rankings
    assert ranking.order
    assert (ranking.order.value, ranking.order.n) == (1, 1)
    assert any("as people do in 1.00" in note for note in ranking.notes)


def test_pipes_and_repeated_files_are_refused(paths: list[str]) -> None:
    for scores, dialogues in ((["-"], paths[1:2]), (paths[:1] * 2, paths[1:2]), (paths[:1], paths[1:2] * 2)):
        with pytest.raises(InputError):
            read_scored(scores, dialogues)
