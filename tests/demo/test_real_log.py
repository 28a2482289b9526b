"""The filter of the demo's real log, on conversations made for the test and on the real ones."""

from __future__ import annotations

import re

import pytest

from interloq.data.sets.byu_chitchat import installed
from interloq.demo.real_log import SPEAKERS, UNWANTED, filtered, read_real_log
from interloq.records import Dialogue, Pair, Turn
from tests.conftest import missing

CROWD = [  # conversations that make words common: each is used by enough speakers
    Dialogue(f"crowd/{i}", [Turn("I like tea very much, do you?", f"a{i}"), Turn("my phone at 12 and 34", f"b{i}")])
    for i in range(SPEAKERS)
]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I like tea", ""),
        ("tea", "length"),
        ("I like tea " * 7, "length"),
        ("I like ann@example.org", "characters"),
        ("I like www.example.org/ann", "characters"),
        ("I like example.com very much", "characters"),
        ("I like t** very much", "characters"),
        ("do you like 12 34 12 34", "characters"),
        ("I like Miller very much", "rare word"),
        ("I like my phone", "unwanted word"),
    ],
)
def test_one_reason_per_pair(reply: str, reason: str) -> None:
    talk = Dialogue("set/0123456789", [Turn("Hello there! I like tea very much", "x"), Turn(reply, "y")])
    log = filtered([*CROWD, talk])
    kept = [pair for pair in log.pairs if pair.thread == "01234567"]
    if reason:
        assert kept == []
        assert log.dropped - filtered(CROWD).dropped == {reason: 1}
    else:
        assert kept == [Pair("01234567-1", "I like tea very much", reply, thread="01234567")]


def test_the_real_log_is_fit_for_a_screen() -> None:
    if installed() is None:
        missing("chitchat_dataset")
    log = read_real_log()
    assert len(log.pairs) > 20_000
    assert len({pair.id for pair in log.pairs}) == len(log.pairs)
    texts = [text for pair in log.pairs for text in (pair.utterance, pair.response)]
    insults = re.compile(
        r"\b(?:f+u+c+k|sh[i1]+t|bitch|asshole|wh[o0]re|slut|porn|sex|nud[e3]|rape|nigg|fag)", re.IGNORECASE
    )
    personal = re.compile(r"@|https?:|\bwww\.|\.com\b|\d{5}|\d{3}\W\d{3}|\bmy (?:last |sur)?name\b", re.IGNORECASE)
    assert [text for text in texts if insults.search(text) or personal.search(text)] == []
    assert log.dropped.keys() == {"length", "characters", "rare word", "unwanted word"}
    assert not UNWANTED & {word.lower() for text in texts for word in re.findall(r"\w+", text)}
