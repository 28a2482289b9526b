"""Baselines of continuity prediction."""

from __future__ import annotations

import pytest

from interloq import InputError, Rating, Sample
from interloq.records import INTERLOCUTOR
from interloq.scorers.interlocutor.baselines import BASELINES, global_majority, label_of, private_majority, turn_index


def reply(id: str, user: str, label: float | None, aspect: str = "continued") -> Sample:
    rating = Rating(label, user, aspect, INTERLOCUTOR)
    return Sample(id, ["Hi", "Hey"], "Hello", ratings=[rating], dialogue=id.partition("#")[0])


TRAIN = [
    *(reply(f"a{i}#1", "ann", float(i != 0)) for i in range(5)),  # 4 of 5 answered
    *(reply(f"b{i}#2", "bob", float(i == 0)) for i in range(4)),  # 1 of 4
    reply("c#1", "", 0.0),  # an opening that nobody answered
    reply("d#1", "ann", None),
]


def values(name: str, *samples: Sample) -> list[float | None]:
    return [score.value for score in BASELINES[name](TRAIN, samples)]


def test_majorities_are_shares_of_the_training_labels() -> None:
    ann, bob, eve, nobody = (reply(f"t{user}#9", user, None) for user in ("ann", "bob", "eve", ""))
    assert values("global_majority", ann, bob, eve, nobody) == [0.5] * 4
    assert values("private_majority", ann, bob, eve, nobody) == [0.8, 0.25, 0.5, 0.5]
    score = global_majority(TRAIN, [ann])[0]
    assert (score.id, score.metric, score.key) == ("tann#9", "global_majority", ann.key)


def test_the_turn_index_is_in_the_id_of_a_reply_in_its_dialogue_or_else_the_length_of_the_context() -> None:
    first, second, late = (reply(id, "ann", None) for id in ("x#1", "x#2", "x#99"))
    plain = Sample("ticket#99", ["Hi", "Hey"], "Hello")
    assert values("turn_index", first, second, late, plain) == pytest.approx(
        [(4 + 5) / (6 + 10), (1 + 5) / (4 + 10), 0.5, (1 + 5) / (4 + 10)]
    )
    assert [s.value for s in turn_index(TRAIN, [second], smoothing=0)] == [0.25]


def test_labels_are_zero_or_one() -> None:
    assert label_of(reply("x#1", "ann", 1.0, "happy"), "happy") == 1
    with pytest.raises(InputError, match=r"rating of 'continued' of 'x#1' is 4, but labels are 0 or 1"):
        label_of(reply("x#1", "ann", 4.0))
    with pytest.raises(InputError, match="no training sample has a label 'continued'"):
        private_majority([reply("x#1", "ann", None)], [])
