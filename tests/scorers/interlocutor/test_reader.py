"""Samples as rows of tokens."""

from __future__ import annotations

import pytest

from interloq import Rating, Sample
from interloq.models.pretrained import Subwords
from interloq.records import INTERLOCUTOR, Turn
from interloq.scorers.interlocutor.reader import JUDGE, REPLIER, USERS, SampleReader
from tests.made_relevance import tiny_encoder

VOCABULARY = 1000  # speakers are 1000, 1001, …


@pytest.fixture(scope="module")
def subwords(tmp_path_factory: pytest.TempPathFactory) -> Subwords:
    return Subwords(tiny_encoder(tmp_path_factory.mktemp("reader")), longest=40)


def reader(subwords: Subwords, tokens: int = 40, profile_tokens: int = 10) -> SampleReader:
    return SampleReader(subwords, tokens, profile_tokens, VOCABULARY, {"bob": 0, "cat": 1}, {"bob": "tea !"})


def parts(read: SampleReader, sample: Sample, judge: str) -> list[list[str]]:
    """Context and reply as words, with speakers as numbers from 0."""
    words = read.subwords._tokenizer.convert_ids_to_tokens
    (row,) = read.read([sample], [judge])
    return [[str(t - VOCABULARY) if t >= VOCABULARY else words(int(t)) for t in part] for part in row]


TURNS = [Turn("tea ?", "bob"), Turn("rain .", "ann"), Turn("so ?", "bob")]
SAMPLE = Sample("d#3", TURNS, "the rain .", ratings=[Rating(1, "bob", "continued", INTERLOCUTOR)])


def test_each_turn_starts_with_its_speaker_and_the_row_with_the_judge(subwords: Subwords) -> None:
    bob, replier = str(USERS), str(REPLIER)
    assert parts(reader(subwords), SAMPLE, "bob") == [
        [bob, "tea", "!", bob, "tea", "?", replier, "rain", ".", bob, "so", "?"],
        [replier, "the", "rain", "."],
    ]
    anyone = str(JUDGE)
    for unknown in ("", "dan"):
        assert parts(reader(subwords), SAMPLE, unknown)[0] == [
            *[anyone, anyone, "tea", "?", replier, "rain", ".", anyone, "so", "?"],
        ]


def test_long_contexts_lose_their_first_turns(subwords: Subwords) -> None:
    rows = {n: parts(reader(subwords, tokens=n), SAMPLE, "cat") for n in (17, 16, 14, 13, 10)}
    assert [len(row[0]) for row in rows.values()] == [10, 7, 7, 4, 3]
    assert all(row[1] == ["0", "the", "rain", "."] for row in rows.values())
    assert rows[13][0] == ["3", "3", "so", "?"]
    assert rows[10][0] == ["3", "3", "so"]  # the last turn does not fit and is cut inside


def test_texts_longer_than_the_model_are_cut_and_counted(subwords: Subwords) -> None:
    read = reader(subwords, tokens=16, profile_tokens=100)
    long = Sample("d#1", [Turn("tea " * 50, "bob")], "rain " * 50)
    (row,) = SampleReader(subwords, 16, 100, VOCABULARY, {}, {"bob": "tea " * 50}, read.cut).read([long], ["bob"])
    assert len(row[0]) + len(row[1]) + 3 == 16
    assert read.cut == {"profiles": 1, "replies": 1}
    assert sum(map(len, read.read([Sample("d#1", [Turn("tea " * 50, "bob")], "rain")], ["cat"])[0])) + 3 == 16
    assert read.cut["turns"] == 1


def test_turns_without_text_are_skipped(subwords: Subwords) -> None:
    blank = Sample("d#3", [*TURNS, Turn(" ", "ann")], "the rain .", ratings=SAMPLE.ratings)
    assert parts(reader(subwords), blank, "bob") == parts(reader(subwords), SAMPLE, "bob")
