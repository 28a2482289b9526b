"""The bot `function`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, create
from interloq.play.bot import ask_bot
from interloq.servers.replies import Reply
from tests.play.made_talks import dialogue

BOTS = """
import sys
from interloq.servers.replies import Reply

def speak(turns, seed):
    return f"{turns[-1].text} {seed}"

def many(dialogues, seeds):
    return [speak(*each) for each in zip(dialogues, seeds)]

def short(dialogues, seeds):
    return many(dialogues, seeds)[1:]

def crash(turns, seed):
    if turns[-1].text == "bad":
        raise KeyError("no; such\\nthing")
    if turns[-1].text == "exit":
        sys.exit(1)
    return Reply("fine", "a note")

def wrong(turns, seed):
    return 7

class Bots:
    @staticmethod
    def hello(turns, seed):
        turns.clear()
        return "hello"

NUMBER = 3
"""


@pytest.fixture
def module(folder: Path) -> Any:
    (folder / "functions_of_a_user.py").write_text(BOTS)
    yield
    sys.modules.pop("functions_of_a_user", None)


def function(name: str, batch: int = 0) -> Any:
    return create(f"function(path='functions_of_a_user:{name}',batch={batch})", kind="bot")


def test_a_function_speaks(module: None) -> None:
    expected = [Reply("a 1"), Reply("b 2"), Reply("c 3")]
    dialogues = [dialogue(c) for c in "abc"]
    assert function("speak").replies(dialogues, [1, 2, 3]) == expected
    assert function("many", batch=2).replies(dialogues, [1, 2, 3]) == expected
    turns = dialogue("a")
    assert function("Bots.hello").replies([turns], [1]) == [Reply("hello")]
    assert len(turns) == 1


def test_functions_fail_for_their_own_dialogue_only(module: None) -> None:
    found = ask_bot(function("crash"), [dialogue("bad"), dialogue("ok"), dialogue("exit")], [0] * 3)
    assert [reply.failure for reply in found] == [
        "crashed: KeyError: 'no, such\\nthing'",
        "a note",
        "crashed: SystemExit: 1",
    ]
    assert function("wrong").replies([dialogue("x")], [0]) == [Reply("", "the function gave int, not text")]
    (reply,) = ask_bot(function("short", batch=4), [dialogue("x")], [0])
    assert "gave 0 replies to 1 dialogues" in reply.failure


@pytest.mark.parametrize("path", ["functions_of_a_user:nothing", "no_such_module:f", "functions_of_a_user:NUMBER"])
def test_what_is_not_a_function_is_reported_early(module: None, path: str) -> None:
    with pytest.raises(InputError, match="module:function"):
        create(f"function(path={path!r})", kind="bot").signature()


def test_a_path_without_a_function() -> None:
    with pytest.raises(InputError, match="does not name a function"):
        create("function(path='functions_of_a_user')", kind="bot")


def test_a_functions_signature_follows_its_file(module: None, folder: Path) -> None:
    before = function("speak").signature()
    assert function("speak").signature() == before
    (folder / "functions_of_a_user.py").write_text(BOTS + "\n# changed\n")
    assert function("speak").signature() != before
    assert sys.path.count(str(folder)) == 0
