"""Pairs of a log: draws, periods, first utterances, and nothing of the test set."""

from __future__ import annotations

import sys
from collections import Counter
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from interloq import Dialogue, InputError, Reference, Sample, Turn, write
from interloq.data.records.jsonl import Rejected, header, load
from interloq.data.records.read_options import ReadOptions
from interloq.records import Pair
from interloq.retrieve.corpus_pairs import PairOptions, Period, pairs_file, read_openings


def texts(path: str) -> list[tuple[str, str]]:
    return [(pair.utterance, pair.response) for pair in load(path, kind="pairs")]


def talk(id: str, *turns: str, minute: int = 0) -> Dialogue:
    """A dialogue from `ann: Hi`, …; turns are a minute apart."""
    made = []
    for i, turn in enumerate(turns):
        speaker, text = turn.split(": ")
        made.append(Turn(text, speaker, f"2018-01-01T00:{minute + i:02}:00Z"))
    return Dialogue(id, made)


TALKS = [
    talk("a/1", "ann: hi", "bob: hello", "ann: bye"),
    talk("a/2", "ann: hi", "bob: hello", "cat: what?", "bob: you"),
    talk("a/3", "ann: hi", "cat: hey"),
    talk("b", "dan: well", "dan: who?", "eve: me", minute=20),
    talk("c", "dan: alone"),
]


def test_every_turn_after_the_first_answers(folder: Path) -> None:
    talks = [Dialogue("d", [Turn("a", "x"), Turn("b", "y"), Turn("c", "x")]), Dialogue("e", [Turn("alone")])]
    write("talks.jsonl", talks, kind="dialogues")
    with (folder / "talks.jsonl").open("a") as file:
        file.write("{broken\n")
    bad: list[Rejected] = []
    facts = pairs_file("talks.jsonl", "pairs.jsonl", reading=ReadOptions(on_reject=bad.append))
    assert facts == {"pairs": 2, "usable": 2, "dropped": {}, "overlapping": {}}
    assert texts("pairs.jsonl") == [("a", "b"), ("b", "c")]
    assert header("pairs.jsonl") == {"kind": "pairs", "schema": 1, "holds": "pairs"}
    assert len(bad) == 1
    with pytest.raises(InputError):
        pairs_file("talks.jsonl", "other.jsonl", reading=ReadOptions(strict=True))
    assert not Path("other.jsonl").exists()


def test_first_utterances_of_long_dialogues(folder: Path) -> None:
    """The papers' data: the first utterance of a dialogue of three posts or more, with its reply."""
    write("talks.jsonl", TALKS, kind="dialogues")
    facts = pairs_file("talks.jsonl", "pairs.jsonl", PairOptions(first=True, min_posts=3))
    assert texts("pairs.jsonl") == [("hi", "hello"), ("well who?", "me")]
    assert facts["dropped"] == {"dialogues_of_one_speaker": 1, "short_dialogues": 1}
    facts = pairs_file("talks.jsonl", "inner.jsonl", PairOptions(min_posts=4))
    assert texts("inner.jsonl") == [("hi", "hello"), ("hello", "what?"), ("what?", "you")]
    assert facts["dropped"] == {"short_dialogues": 3}


def test_branches_of_a_thread_begin_once() -> None:
    openings = list(read_openings(TALKS, Counter()))
    assert [(opening.pair.response, opening.posts) for opening in openings] == [("hello", 4), ("hey", 2), ("me", 3)]


def test_dialogues_without_times_are_not_taken_for_branches() -> None:
    talks = [Dialogue(id, [Turn("hi", "ann"), Turn("hello", "bob")]) for id in "ab"]
    assert len(list(read_openings(talks, {}))) == 2  # type: ignore[arg-type]


def test_unnamed_speakers_take_turns() -> None:
    (opening,) = read_openings([Dialogue("d", ["hi", "hello"])], Counter())
    assert opening.pair == Pair("d/1", "hi", "hello", "d/0", "d")


def test_pairs_are_drawn_from_a_period(folder: Path) -> None:
    dates = ["2016-12-31", "2017-01-01", "2017-06-01T12:00:00Z", "2018-01-01", "", "soon"]
    write("log.jsonl", [Pair(f"p{i}", "u", f"r{i}", time=date) for i, date in enumerate(dates)], kind="pairs")
    options = PairOptions(since="2017-01-01", until="2018-01-01")
    facts = pairs_file("log.jsonl", "some.jsonl", options)
    assert [pair.id for pair in load("some.jsonl", kind="pairs")] == ["p1", "p2"]
    assert facts["dropped"] == {"replies_outside_the_period": 2, "replies_without_time": 2}
    assert header("some.jsonl")["selection"] == {"since": "2017-01-01", "until": "2018-01-01"}
    drawn = pairs_file("log.jsonl", "one.jsonl", PairOptions(since="2017-01-01", until="2018-01-01", draw=1))
    assert (drawn["pairs"], drawn["usable"]) == (1, 2)


def test_logs_without_times_have_no_period(folder: Path) -> None:
    write("log.jsonl", [Pair("p", "u", "r")], kind="pairs")
    with pytest.raises(InputError, match="no reply has a time"):
        pairs_file("log.jsonl", "out.jsonl", PairOptions(until="2018-01-01"))
    with pytest.raises(InputError, match="no time is from 2019-01-01 on and before 2018-01-01"):
        Period(since="2019-01-01", until="2018-01-01")
    Path("dated.jsonl").write_text('{"utterance": "u", "response": "r", "date": "2017-05-05"}\n')
    reading = ReadOptions(columns={"time": "date"})
    assert pairs_file("dated.jsonl", "out.jsonl", PairOptions(until="2018-01-01"), reading=reading)["pairs"] == 1


def test_pairs_that_overlap_test_samples_are_excluded(folder: Path) -> None:
    write("samples.jsonl", [Sample("t1", "How are you?", "fine", [Reference("Very well!")])], kind="samples")
    pairs = [
        Pair("1", "how are you", "great"),
        Pair("2", "something", "very well"),
        Pair("3", "other", "reply", thread="t1"),
        Pair("4", "other", "post", to="t2"),
        Pair("5", "kept", "reply"),
    ]
    write("log.jsonl", pairs, kind="pairs")
    facts = pairs_file("log.jsonl", "train.jsonl", PairOptions(without=("samples.jsonl",)))
    assert [pair.id for pair in load("train.jsonl", kind="pairs")] == ["4", "5"]
    assert facts["overlapping"] == {"utterance": 1, "gold": 1, "id": 1}
    Path("testset").mkdir()
    Path("samples.jsonl").rename("testset/samples.jsonl")
    Path("testset/excluded.txt").write_text("t1\nt2\n")
    pairs_file("log.jsonl", "train.jsonl", PairOptions(without=("testset",)))
    assert [pair.id for pair in load("train.jsonl", kind="pairs")] == ["5"]


def test_files_of_pairs_say_nothing_about_dialogues(folder: Path) -> None:
    write("log.jsonl", [Pair("p", "u", "r")], kind="pairs")
    for options in (PairOptions(first=True), PairOptions(min_posts=3)):
        with pytest.raises(InputError, match="does not say how long its dialogues are"):
            pairs_file("log.jsonl", "out.jsonl", options)
    assert not Path("out.jsonl").exists()


def test_a_pipe_has_dialogues(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("talks.jsonl", TALKS, kind="dialogues")
    stream = BytesIO(Path("talks.jsonl").read_bytes())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    assert pairs_file("-", "out.jsonl", PairOptions(draw=3))["pairs"] == 3
