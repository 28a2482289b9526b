"""Notes on a ranking."""

from __future__ import annotations

from tests.made_rankings import played, ranked


def test_systems_with_different_partners_are_noted() -> None:
    scores, dialogues = played({"a": 0, "b": 1})
    fewer = [d for d in dialogues if "a~q" not in d.id]
    result = ranked([s for s in scores if "a~q" not in s.id], fewer)
    assert any("'a' never talked to 'q'" in note for note in result.notes)
    assert not any("different partners" in note for note in ranked(scores, dialogues).notes)
