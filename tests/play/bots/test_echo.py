"""The bot `echo`."""

from __future__ import annotations

from interloq import create
from interloq.play.bots.echo import Echo
from interloq.play.schedule import self_play
from interloq.play.talk import failures, talk
from interloq.servers.replies import Reply
from tests.play.made_talks import OPENINGS
from tests.play.made_turns import dialogue


def test_an_echo_repeats_and_is_noted() -> None:
    (dialogue,) = talk(self_play("a", OPENINGS[:1]), {"a": Echo()})
    assert dialogue.failure == "a: repeats itself at turn 7; a (2): repeats itself at turn 8"
    assert failures(dialogue) == [("a", "repeats itself at turn 7"), ("a", "repeats itself at turn 8")]


def test_echo_repeats() -> None:
    echo = create("echo", kind="bot")
    assert echo.replies([dialogue("a", "b"), []], [1, 2]) == [Reply("b"), Reply("", "nothing to answer")]
    assert echo.signature().name == "echo"
