"""The filter of the demo's real log, on conversations made for the test; test_steps.py looks at the real ones."""

from __future__ import annotations

import pytest

from interloq.demo.real_log import SPEAKERS, filtered
from interloq.records import Dialogue, Pair, Turn

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
