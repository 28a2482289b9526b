"""A ranking as a table."""

from __future__ import annotations

from interloq.agree.dialogue_scores import dialogue_scores
from interloq.rank.rank import rank
from tests.made_dialogues import made_dialogues
from tests.made_rankings import played, ranked


def test_there_is_one_row_per_system_the_best_first() -> None:
    dialogues, scores = made_dialogues({"low": 0.0, "high": 4.0})
    ranking = rank(dialogue_scores(scores, dialogues, metric="made"), n_bootstrap=50)
    rows = ranking._table_rows()
    assert [(row["system"], row["rank"], row["dialogues"]) for row in rows] == [("high", 1, 12), ("low", 2, 12)]
    assert (rows[0]["rank_from"], rows[0]["rank_to"]) == ranking.standings[0].rank_range
    assert "2 systems ranked by made" in repr(ranking)


def test_without_permutations_there_are_no_ranges() -> None:
    dialogues, scores = made_dialogues({"a": 0.0, "b": 1.0})
    ranking = rank(dialogue_scores(scores, dialogues, metric="made"), n_permutations=0)
    assert [(row["rank_from"], row["rank_to"]) for row in ranking._table_rows()] == [(None, None)] * 2


def test_systems_with_different_partners_are_noted() -> None:
    scores, dialogues = played({"a": 0, "b": 1})
    fewer = [d for d in dialogues if "a~q" not in d.id]
    result = ranked([s for s in scores if "a~q" not in s.id], fewer)
    assert any("'a' never talked to 'q'" in note for note in result.notes)
    assert not any("different partners" in note for note in ranked(scores, dialogues).notes)
