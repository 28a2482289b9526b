"""From a file of dialogues to a folder of samples."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.pseudonyms import Pseudonyms
from interloq.data.records.jsonl import header, load, write
from interloq.data.records.profiles import read_profiles
from interloq.records import Dialogue, Rating, Sample, Turn
from interloq.scorers.interlocutor.continuity_labels import SampleSelection, continuity
from interloq.scorers.interlocutor.samples_file import (
    SampleSource,
    continuity_file,
    figures,
    find_rated_turns,
    ratings_file,
    select_rated_replies,
)
from tests.scorers.interlocutor.made_logs import log, talk

NAMES = Pseudonyms("a key for the tests")
SELECTION = SampleSelection(min_conversations=5)
OWN, OUTSIDE = "interlocutor", "outsider"


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    write(tmp_path / "dialogues.jsonl", log(20), kind="dialogues")
    return tmp_path / "dialogues.jsonl"


def test_parts_profiles_and_facts_are_written(dialogues: Path, tmp_path: Path) -> None:
    profiles = tmp_path / "profiles.json"
    profiles.write_text(json.dumps({"ann": "I cook.", "zoe": "I am not in the log."}))
    out = tmp_path / "out"
    facts = continuity_file(SampleSource(dialogues, profiles, NAMES), out, SELECTION, compress="none")
    assert json.loads((out / "samples.json").read_text()) == json.loads(json.dumps(facts))
    assert (facts["holds"], facts["users"], facts["user_ids"], facts["cut_ends"]) == ("continuity", 3, "hashed", "")
    assert facts["parts"]["test"]["not_replied"] == 2
    test = load(out / "test.jsonl")
    assert len(test) == facts["parts"]["test"]["samples"] == 9
    assert {rating.rater for sample in test for rating in sample.ratings} <= set(map(NAMES, ("ann", "bob", "cat")))
    assert read_profiles(out / "profiles.json") == {NAMES("ann"): "I cook."}
    assert "ann" not in "".join(path.read_text() for path in out.iterdir())
    assert header(out / "test.jsonl")["users"] == "hashed"


def test_ids_are_kept_on_request_and_hashed_once(dialogues: Path, tmp_path: Path) -> None:
    continuity_file(SampleSource(dialogues), tmp_path / "kept", SELECTION, compress="none")
    assert load(tmp_path / "kept" / "test.jsonl")[0].context[0].speaker == "ann"
    write(tmp_path / "hashed.jsonl", map(NAMES.dialogue, log(20)), kind="dialogues", users="hashed")
    continuity_file(SampleSource(tmp_path / "hashed.jsonl", names=NAMES), tmp_path / "once", SELECTION, compress="none")
    assert load(tmp_path / "once" / "test.jsonl")[0].context[0].speaker == NAMES("ann")


def test_changed_names_are_recognised_before_ids_are_hashed(tmp_path: Path) -> None:
    write(tmp_path / "d.jsonl", [*log(20), talk("away", ("ann", "ann|away", "ann"))], kind="dialogues")
    facts = continuity_file(SampleSource(tmp_path / "d.jsonl", names=NAMES), tmp_path / "out", SELECTION)
    assert facts["dropped"]["renamed_speaker"] == 1


def test_parts_without_samples_have_no_file(dialogues: Path, tmp_path: Path) -> None:
    continuity_file(SampleSource(dialogues), tmp_path / "out", replace(SELECTION, dev=0.0), compress="none")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"train.jsonl", "test.jsonl", "samples.json"}


def test_sources_and_outputs_that_do_not_fit_are_refused(dialogues: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no user has 30 conversations in train; the most active user has 20 in all"):
        continuity_file(SampleSource(dialogues), tmp_path / "out", SampleSelection())
    write(tmp_path / "crossing.jsonl", [talk("long", ["ann", "bob"] * 2, pause=10**6)], kind="dialogues")
    crossing = SampleSource(tmp_path / "crossing.jsonl")
    dates = SampleSelection(min_conversations=0, dev_from="1970-01-02", test_from="1970-01-03")
    with pytest.raises(InputError, match="no judged turn fits a part; dropped: turns_crossing_parts 3"):
        continuity_file(crossing, tmp_path / "out", dates)
    assert not (tmp_path / "out").exists()
    (tmp_path / "p.json").write_text('{"profiles": {"ann": "I cook."}, "users": "kept"}')
    with pytest.raises(InputError, match="no profile belongs to a user of the samples"):
        continuity_file(SampleSource(dialogues, tmp_path / "p.json", NAMES), tmp_path / "out", SELECTION)
    with pytest.raises(InputError, match="is also an input"):
        continuity_file(SampleSource(dialogues), dialogues, SELECTION)


def test_only_an_earlier_output_is_replaced(dialogues: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    continuity_file(SampleSource(dialogues), out, SELECTION, compress="gz")
    continuity_file(SampleSource(dialogues), out, SELECTION, compress="none")
    names = {"train.jsonl", "dev.jsonl", "test.jsonl", "samples.json"}
    assert {path.name for path in out.iterdir()} == names
    (out / "mine.txt").write_text("keep me")
    with pytest.raises(InputError, match="not empty"):
        continuity_file(SampleSource(dialogues), out, SELECTION)
    assert {path.name for path in out.iterdir()} == names | {"mine.txt"}


def test_rated_replies_are_cut_along_their_dialogue(tmp_path: Path) -> None:
    samples = [
        Sample(
            f"d/{who}#{i}",
            [Turn("x", who)] * i,
            "y",
            system="wizard",
            ratings=[Rating(4, who, role="interlocutor")],
            dialogue=f"d/{who}",
        )
        for who in ("ann", "bob")
        for i in range(10)
    ]
    write(tmp_path / "rated.jsonl", samples, kind="samples")
    facts = ratings_file(
        SampleSource(tmp_path / "rated.jsonl", names=NAMES), tmp_path / "out", SELECTION, compress="none"
    )
    assert facts["parts"] == {"train": {"samples": 16}, "dev": {"samples": 2}, "test": {"samples": 2}}
    assert [(sample.id, sample.dialogue) for sample in load(tmp_path / "out" / "test.jsonl")] == [
        (f"d/{NAMES('ann')}#9", f"d/{NAMES('ann')}"),
        (f"d/{NAMES('bob')}#9", f"d/{NAMES('bob')}"),
    ]


def test_rated_dialogues_are_split_by_time(tmp_path: Path) -> None:
    rated = [
        type(dialogue)(dialogue.id, dialogue.turns, ratings=[Rating(3, "ann", "score", "interlocutor")])
        for dialogue in log(10)
    ]
    write(tmp_path / "rated.jsonl", rated, kind="dialogues")
    lines = (tmp_path / "rated.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "plain.jsonl").write_text("".join(lines[1:]))  # without the header
    facts = ratings_file(SampleSource(tmp_path / "plain.jsonl"), tmp_path / "out", SELECTION, compress="none")
    assert header(tmp_path / "out" / "test.jsonl")["source"] == facts["source"] != ""
    (test,) = load(tmp_path / "out" / "test.jsonl")
    assert (test.id, test.ratings) == ("d9#3", (Rating(3, "ann", "score", "interlocutor"),))
    assert "replied" not in facts["parts"]["test"]


def test_nothing_rated_is_an_error(dialogues: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="no turn was judged by the person addressed; dropped: dialogues_without_ratin"
    ):
        ratings_file(SampleSource(dialogues), tmp_path / "out", SELECTION)


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
    found = list(find_rated_turns([Dialogue("d", turns, ratings=ratings)], dropped))
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
    assert list(find_rated_turns([alone, unrated, undated], dropped)) == []
    assert +dropped == {"one_speaker": 1, "dialogues_without_ratings": 1, "bad_time": 1}


def test_replies_without_an_interlocutor_rating_are_counted() -> None:
    good = Sample("d#1", ["hi"], "hey", ratings=[Rating(4, "ann", role=OWN), Rating(3, "F1", role=OUTSIDE)])
    marked = Sample("d#2", ["hi"], "hey", ratings=[Rating(None, "ann", role=OWN)])
    outside = Sample("d#3", ["hi"], "hey", ratings=[Rating(3, "F1", role=OUTSIDE)])
    empty = Sample("d#4", ["hi"], " ", ratings=[Rating(3, "ann", role=OWN)])
    dropped = Counter[str]()
    assert list(select_rated_replies([good, marked, outside, empty], dropped)) == [good]
    assert +dropped == {"replies_without_interlocutor_rating": 2, "empty_replies": 1}


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
    assert "replied" not in figures(list(find_rated_turns([dialogue], Counter())), {}, labels=False)
    assert figures([], {})["turns_per_dialogue"] is None
    assert figures([], {})["replied"] == 0
