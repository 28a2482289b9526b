from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from interloq import Dialogue, InputError, Rating, Reference, Sample, Turn
from interloq.records import BySample


def test_plain_strings_do_for_context_references_and_numbers_for_ratings() -> None:
    sample = Sample("1", ["hello", Turn("hi", "B")], "hey", ["one", Reference("two", 0.5)], ratings=[4, 2])
    assert sample.context == (Turn("hello"), Turn("hi", "B"))
    assert sample.references == (Reference("one"), Reference("two", 0.5))
    assert sample.ratings == (Rating(4.0, "1"), Rating(2.0, "2"))


def test_one_string_is_one_turn_and_one_reference_not_its_letters() -> None:
    sample = Sample("1", "hello", "hey", "good day")
    assert sample.context == (Turn("hello"),)
    assert sample.references == (Reference("good day"),)


def test_records_are_frozen_hashable_and_replaceable() -> None:
    sample = Sample("1", "hello", "hey", "good day")
    with pytest.raises(FrozenInstanceError):
        sample.response = "x"  # type: ignore[misc]
    assert replace(sample, references=(Reference("x", 0.2),)).references == (Reference("x", 0.2),)
    assert len({sample, Sample("1", ["hello"], "hey", ["good day"])}) == 1
    assert Dialogue("d", ["a", "b"]).turns == (Turn("a"), Turn("b"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"references": [["a", "b"], ["c"]]}, "references[0] must be text"),
        ({"references": 3}, "references must be a list of texts"),
        ({"references": {"text": "a"}}, "references must be a list of texts"),
        ({"context": [None]}, "context[0] must be text"),
        ({"response": None}, "response must be text"),
        ({"id": 7}, "id must be text"),
    ],
)
def test_wrong_types_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Sample(**{"id": "1", "context": "c", "response": "r", **arguments})
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_ratings_are_finite(value: float) -> None:
    with pytest.raises(InputError, match="finite"):
        Rating(value)
    assert Rating(None).value is None


def test_by_sample_is_a_mapping() -> None:
    values = BySample(["a", "a"], ["one", "two"], [1.0, 2.0])
    assert dict(values) == {("a", "one"): 1.0, ("a", "two"): 2.0}
    assert values["a", "two"] == 2.0
    assert len(values) == 2
    with pytest.raises(KeyError):
        values["c", ""]


def test_further_fields_have_names_of_their_own() -> None:
    assert Sample("1", fields={"topic": "food"}).fields == {"topic": "food"}
    with pytest.raises(InputError, match="'system' is a field of its own"):
        Sample("1", fields={"system": "x"})
    with pytest.raises(InputError, match="'occasion' is a field of its own"):
        Dialogue("1", fields={"occasion": "x"})


@pytest.mark.parametrize("weight", [1.5, -1.01, 4.0, math.inf, math.nan])
def test_weights_outside_their_range_are_refused(weight: float) -> None:
    with pytest.raises(InputError, match="must be from -1 to 1"):
        Reference("a", weight)
    assert [Reference("a", weight).weight for weight in (-1, 0, 1)] == [-1, 0, 1]


def test_a_context_is_what_was_said() -> None:
    with pytest.raises(InputError, match="the context has a turn of the kind 'tool_result'"):
        Sample("1", [Turn("{}", "tool", kind="tool_result")], "hello")
    with pytest.raises(InputError, match="unknown kind of turn 'tool'; did you mean"):
        Turn("{}", "tool", kind="tool")


def test_turns_that_nobody_said_keep_their_places() -> None:
    turns = [Turn("be kind", kind="system"), Turn("a"), Turn("f", kind="tool_call"), Turn("1", kind="tool_result")]
    dialogue = Dialogue("d", [*turns, Turn("b"), Turn("2", kind="tool_result")])
    assert [turn.text for turn in dialogue.turns] == ["a", "b"]
    assert [turn.text for turn in dialogue.all_turns()] == ["be kind", "a", "f", "1", "b", "2"]
    assert replace(dialogue, occasion="x").all_turns() == dialogue.all_turns()


def test_records_are_the_same_in_other_processes() -> None:
    rating = Rating(4.0, "ann")
    turn = Turn("hi", "ann", "2026-01-01T00:00:00Z", ratings=(rating,), fields={"latency": 2})
    sample = Sample("s", [turn], "yes", [Reference("no", 0.5, "human")], "bot", [rating], "d", {"topic": "sea"})
    copied = pickle.loads(pickle.dumps(sample))  # noqa: S301 - written here
    assert copied == sample
    assert copied.fields == sample.fields
    assert copied.context[0].ratings == (rating,)
    assert copied.context[0].fields == turn.fields
    assert hash(copied.references) == hash(sample.references)
