from __future__ import annotations

from pathlib import Path

from interloq.rate.turn_subwords import rater_subwords
from interloq.rate.turns import joined
from tests.made_bert import tiny_bert


def test_each_turn_is_truncated_and_followed_by_the_end_token(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "encoder")
    plain, several = (rater_subwords(folder, longest=2, turns=turns) for turns in (1, 3))
    texts = ["i like tea", joined(["i like tea", "", "so much"], 3), joined(["yes", "tea"], 3)]
    like, much, yes, tea = (plain.texts([text]).tokens.tolist() for text in ("i like", "so much", "yes", "tea"))
    found = several.texts(texts)
    expected = [like, [*like, several.end, *much], [*yes, several.end, *tea]]
    assert [found[i].tolist() for i in range(3)] == expected
    assert several.texts([]).tokens.tolist() == []
    assert several.signature() != plain.signature()
