"""Ratings of whole dialogues."""

from __future__ import annotations

import pytest

from interloq import Dialogue, InputError, Rating, Score, Turn
from interloq.agree.rated_dialogues import TURNS, rated_dialogues

TURN_LIST = [Turn("hi", "u"), Turn("hello", "s"), Turn("and?", "u"), Turn("well", "s")]


def dialogue(id: str, *ratings: Rating, occasion: str = "") -> Dialogue:
    return Dialogue(id, TURN_LIST, {"s": "bot"}, ratings, occasion=occasion)


def test_a_dialogue_has_the_mean_of_its_utterances_and_its_number_of_turns() -> None:
    scores = [Score("d#1", "mine", 1.0, system="bot"), Score("d#3", "mine", 2.0, system="bot")]
    found, items = rated_dialogues(scores, [dialogue("d", Rating(4.0, "ann"))])
    assert found == [Score("d", "mine", 1.5, system="bot"), Score("d", TURNS, 4.0, system="bot")]
    assert [(item.key, item.ratings) for item in items] == [(("d", "bot"), (Rating(4.0, "ann"),))]


def test_dialogues_on_one_occasion_share_a_context() -> None:
    scores = [Score(f"{id}#1", "mine", 1.0, system="bot") for id in "abc"]
    dialogues = [dialogue("a", Rating(1.0), occasion="x"), dialogue("b", occasion="y"), dialogue("c")]
    contexts = [item.context for item in rated_dialogues(scores, dialogues)[1]]
    assert [len(context) for context in contexts] == [1, 1, 0]
    assert contexts[0] != contexts[1]


def test_an_unscored_dialogue_stays_with_its_reason() -> None:
    scores = [Score("a#1", "mine", None, "no context", "bot"), Score("b#1", "mine", 1.0, system="bot")]
    found, _ = rated_dialogues(scores, [dialogue("a", Rating(1.0)), dialogue("b", Rating(2.0))])
    assert found[0].value is None
    assert found[0].reason


def test_ratings_that_name_a_system_are_of_this_system() -> None:
    two = Dialogue("d", TURN_LIST, {"s": "bot", "u": "other"}, [Rating(1.0, system="bot"), Rating(2.0, system="other")])
    scores = [Score("d#1", "mine", 1.0, system="bot"), Score("d#2", "mine", 1.0, system="other")]
    _, items = rated_dialogues(scores, [two])
    assert {item.system: [r.value for r in item.ratings] for item in items} == {"bot": [1.0], "other": [2.0]}


def test_dialogues_without_ratings_are_refused() -> None:
    with pytest.raises(InputError, match="no dialogue has ratings"):
        rated_dialogues([], [dialogue("d")])
