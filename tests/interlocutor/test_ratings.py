"""Ratings by the person in the dialogue."""

from __future__ import annotations

from collections import Counter

from interloq.interlocutor.ratings import rated_dialogues, rated_replies
from interloq.records import Dialogue, Rating, Sample, Turn

OWN, OUTSIDE = "interlocutor", "outsider"


def test_each_rater_judges_the_last_turn_addressed_to_them() -> None:
    turns = [Turn("hi", "ann"), Turn("hey", "bob"), Turn("so?", "ann"), Turn(" ", "bob")]
    ratings = [
        Rating(4, "ann", "interest", OWN),
        Rating(2, "ann", "satisfaction", OWN),
        Rating(5, "bob", "interest", OWN),
        Rating(1, "zoe", "interest", OWN),
        Rating(1, "ann", "interest", OUTSIDE),
    ]
    dropped = Counter[str]()
    found = list(rated_dialogues([Dialogue("d", turns, ratings=ratings)], dropped))
    assert [(each.user, each.turn, [rating.value for rating in each.ratings]) for each in found] == [
        ("ann", 1, [4, 2]),
        ("bob", 2, [5]),
    ]
    assert +dropped == {"ratings_by_others": 2}
    assert len({each.sample().id for each in found}) == 2


def test_dialogues_without_a_rating_or_a_partner_are_counted() -> None:
    dropped = Counter[str]()
    alone = Dialogue("a", [Turn("hi", "ann")], ratings=[Rating(4, "ann", role=OWN)])
    unrated = Dialogue("b", [Turn("hi", "ann"), Turn("hey", "bob")])
    undated = Dialogue("c", [Turn("hi", "ann", "noon"), Turn("hey", "bob")], ratings=[Rating(4, "ann", role=OWN)])
    assert list(rated_dialogues([alone, unrated, undated], dropped)) == []
    assert +dropped == {"one_speaker": 1, "dialogues_without_ratings": 1, "bad_time": 1}


def test_replies_without_an_interlocutor_rating_are_counted() -> None:
    good = Sample("d#1", ["hi"], "hey", ratings=[Rating(4, "ann", role=OWN), Rating(3, "F1", role=OUTSIDE)])
    marked = Sample("d#2", ["hi"], "hey", ratings=[Rating(None, "ann", role=OWN)])
    outside = Sample("d#3", ["hi"], "hey", ratings=[Rating(3, "F1", role=OUTSIDE)])
    empty = Sample("d#4", ["hi"], " ", ratings=[Rating(3, "ann", role=OWN)])
    dropped = Counter[str]()
    assert list(rated_replies([good, marked, outside, empty], dropped)) == [good]
    assert +dropped == {"replies_without_interlocutor_rating": 2, "empty_replies": 1}
