"""Dialogues to samples: the target's own utterances, all of them, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import load, write
from interloq.data.records.jsonl import header
from interloq.errors import InputError, RejectedWarning
from interloq.play.bot import BotLike
from interloq.play.openings import Opening
from interloq.play.play_options import SamplesOptions
from interloq.play.samples import (
    Sampled,
    samples,
    samples_file,
    select_carried_facts,
    system_ratings,
    target_of,
    whole_dialogues,
)
from interloq.play.schedule import all_play_all, bipartite, self_play
from interloq.play.talk import talk
from interloq.records import Dialogue, Rating, Turn
from tests.made_bots import Bad, Teller

BOTS: dict[str, BotLike] = {"a": Teller("a"), "b": Teller("b"), "x": Teller("x"), "a (partner)": Teller("a")}


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_openings_never_count(given: int, exchanges: int, repeats: int) -> None:
    opening = Opening("o", tuple(f"given {i}" for i in range(given)))
    matches = bipartite(["a", "b"], ["x", "a (partner)"], [opening], exchanges=exchanges, repeats=repeats)
    dialogues = list(talk(matches, BOTS))
    found = list(samples(dialogues))
    assert len(found) == 2 * 2 * repeats * exchanges
    assert not [sample for sample in found if sample.response.startswith("given")]
    assert all(sample.response.startswith(sample.system) for sample in found)
    assert {sample.system for sample in found} == {"a", "b"}
    by_id = {dialogue.id: dialogue for dialogue in dialogues}
    for sample in found:
        id, _, number = sample.id.rpartition("#")
        turn = int(number)
        assert by_id[id].turns[turn].text == sample.response
        assert by_id[id].turns[:turn] == sample.context
        assert turn >= given


def test_in_self_play_both_sides_are_the_target() -> None:
    found = list(samples(talk(self_play(["a"], [Opening("o", ("u", "v"))], exchanges=2), BOTS)))
    assert [sample.id for sample in found] == [f"a~a/o/repeat-1#{i}" for i in (2, 3, 4, 5)]


def test_all_play_all_judges_the_first_or_whom_one_names() -> None:
    dialogues = list(talk(all_play_all(["a", "b"], [Opening("o", ("u", "v"))], exchanges=2), BOTS))
    first = {(sample.id.partition("~")[0], sample.system) for sample in samples(dialogues)}
    assert first == {("a", "a"), ("b", "b")}
    assert len(list(samples(dialogues))) == 4
    assert len(list(samples(dialogues, targets=["a", "b"]))) == 8
    assert {sample.system for sample in samples(dialogues, targets=["b"])} == {"b"}


def test_what_is_missing_is_counted() -> None:
    bots: dict[str, BotLike] = {"bad": Bad("empty"), "late": Bad("crash", 4), "x": Teller("x")}
    tally = Sampled()
    dialogues = talk(bipartite(["bad", "late"], ["x"], [Opening("o", ("u", "v"))]), bots)
    found = list(samples(dialogues, tally=tally))
    assert [sample.system for sample in found] == ["late"]
    assert tally == Sampled(dialogues=2, samples=1, with_failures=2, silent=1)


def test_a_dialogue_from_elsewhere_is_judged_by_its_systems() -> None:
    dialogue = Dialogue("fed/1", [Turn("hi", "User"), Turn("hello", "System")], {"System": "meena"})
    assert target_of(dialogue) == "meena"
    assert [(s.id, s.response) for s in samples([dialogue])] == [("fed/1#1", "hello")]
    both = Dialogue("1", [Turn("hi", "A"), Turn("hello", "B")], {"A": "one", "B": "two"})
    assert [(s.id, s.system) for s in samples([both])] == [("1#0", "one"), ("1#1", "two")]
    with pytest.raises(InputError, match="dialogue 'd' names no system"):
        list(samples([Dialogue("d", ["a"])]))
    with pytest.warns(
        RejectedWarning, match="1 dialogue has no speaker that is a system: dialogue 'd' names no system"
    ):
        assert len(list(samples([both, Dialogue("d", ["a"])]))) == 2


def test_headers_carry_the_partner_set_on() -> None:
    assert select_carried_facts({"kind": "dialogues", "schema": 1, "partners": "0f", "seed": 1, "exchanges": 5}) == {
        "partners": "0f",
        "exchanges": 5,
    }


def test_whole_dialogues_have_one_sample_per_judged_system() -> None:
    turns = [Turn("hi", "bot"), Turn("hello", "b"), Turn("bye", "a")]
    rated = [Rating(2.0, system="second"), Rating(5.0, system="bot"), Rating(1.0)]
    dialogue = Dialogue("d", turns, {"a": "bot", "b": "second"}, rated)
    first, second = whole_dialogues([dialogue])
    assert (first.key, second.key) == (("d", "bot"), ("d", "second"))
    assert [turn.speaker for turn in first.context] == ["other", "other", "judged"]  # a speaker called bot is not it
    assert [turn.speaker for turn in second.context] == ["other", "judged", "other"]
    assert ([r.value for r in first.ratings], [r.value for r in second.ratings]) == ([5], [2])
    assert [s.key for s in whole_dialogues([dialogue], targets=["second"])] == [("d", "second")]


def test_ratings_belong_to_one_system() -> None:
    turns, rated = [Turn("hi", "a"), Turn("hello", "b")], [Rating(5.0), Rating(2.0, system="two")]
    single = Dialogue("d", turns, {"a": "one"}, rated[:1])
    assert [rating.value for rating in system_ratings(single, "one")] == [5]
    played = Dialogue("one~two/opening-1", turns, {"a": "one", "b": "two"}, rated)
    assert [rating.value for rating in system_ratings(played, "one")] == [5]
    assert [rating.value for rating in system_ratings(played, "two")] == [2]
    recorded = Dialogue("d", turns, {"a": "one", "b": "two"}, rated)
    with pytest.raises(InputError, match="does not say which of its systems"):
        system_ratings(recorded, "two")
    with pytest.raises(InputError, match="rating of 'three'"):
        system_ratings(Dialogue("d", turns, {"a": "one"}, [Rating(1.0, system="three")]), "one")


@pytest.fixture
def talks(folder: Path) -> Path:
    turns = [Turn("hi", "x"), Turn("hello", "y"), Turn("bye", "x")]
    facts = {"partners": "abc", "scheme": "bipartite", "openings": "o", "exchanges": 1}
    write("talks.jsonl", [Dialogue("d", turns, {"x": "mine", "y": "theirs"})], kind="dialogues", **facts)
    return folder


def test_what_systems_said_is_written_with_the_partner_set(talks: Path) -> None:
    samples_file("talks.jsonl", "samples.jsonl", SamplesOptions(targets=["mine"]))
    assert {(sample.system, sample.response) for sample in load("samples.jsonl")} <= {("mine", "hi"), ("mine", "bye")}
    assert header("samples.jsonl")["partners"] == "abc"


def test_nobody_of_that_name_is_refused(talks: Path) -> None:
    with pytest.raises(InputError, match="mime"):
        samples_file("talks.jsonl", "samples.jsonl", SamplesOptions(targets=["mime"]))
    assert not (talks / "samples.jsonl").exists()


def test_ratings_and_fields_of_a_reply_are_its_samples_and_nobody_says_what_a_tool_returns() -> None:
    thumbs = Rating(1.0, "ann", "thumbs", "interlocutor", comment="quick")
    turns = [
        Turn("Be kind.", "system", kind="system"),
        Turn("hi", "ann", fields={"language": "en"}),
        Turn("find {}", "bot", kind="tool_call"),
        Turn("hello", "bot", ratings=(thumbs,), fields={"latency": 0.5, "id": "r1"}),
        Turn("bye", "ann"),
        Turn("ciao", "bot"),
    ]
    tally = Sampled()
    dialogue = Dialogue("d", turns, {"bot": "b"}, fields={"topic": "trains"})
    first, second = samples([dialogue], tally=tally)
    assert tally.unspoken == 2
    assert (first.id, first.ratings, first.fields) == ("d#1", (thumbs,), {"topic": "trains", "latency": 0.5})
    assert [turn.text for turn in second.context] == ["hi", "hello", "bye"]
    assert not any(turn.ratings or turn.fields or turn.kind for turn in second.context)
    assert [turn.text for turn in next(whole_dialogues([dialogue])).context] == ["hi", "hello", "bye", "ciao"]
