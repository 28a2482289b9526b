"""Statistics of samples."""

from __future__ import annotations

from collections import Counter

import pytest

from interloq.records import Dialogue, Rating, Turn
from interloq.scorers.interlocutor.figures import figures
from interloq.scorers.interlocutor.samples import SampleSelection, continuity
from interloq.scorers.interlocutor.samples_file import rated_dialogues


def test_the_rows_of_table_3() -> None:
    short = Dialogue("a", [Turn("1234", "ann"), Turn("12", "bob")])
    long = Dialogue("b", [Turn("1", "ann"), Turn("12", "bob"), Turn("123", "ann"), Turn("12", "bob")])
    found = figures(continuity([short, long], SampleSelection()).judged, {"ann": "a cook", "zoe": "absent"})
    assert found == {
        "samples": 4,
        "dialogues": 2,
        "users": 2,
        "turns_per_dialogue": 3.0,
        "characters_per_turn": pytest.approx(14 / 6),
        "characters_per_dialogue": 7.0,
        "replied": 2,
        "not_replied": 2,
        "users_with_one_class": 1,  # bob always answers
        "profiles": 1,
        "characters_per_profile": 6.0,
    }


def test_ratings_have_no_classes_and_nothing_has_no_mean() -> None:
    dialogue = Dialogue("a", [Turn("x", "ann"), Turn("y", "bob")], ratings=[Rating(3, "ann", role="interlocutor")])
    assert "replied" not in figures(list(rated_dialogues([dialogue], Counter())), {}, labels=False)
    assert figures([], {})["turns_per_dialogue"] is None
    assert figures([], {})["replied"] == 0
