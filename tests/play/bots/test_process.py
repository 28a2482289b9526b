"""Bots that are programs: real processes that answer, crash, hang and flood."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interloq import InputError, create
from interloq.play.bots.process import Process
from interloq.servers.replies import Reply
from tests.play.made_programs import PROGRAM, alive, ask, process


def test_one_program_answers_many(program: Path) -> None:
    bot = process(program)
    half = Reply("\ufffd 2 2", "characters replaced that cannot be written")
    assert ask(bot, "a", "ü\u2028 😀", "\ud800") == [Reply("a 0 2"), Reply("ü\u2028 😀 1 2"), half]
    first, second = ask(bot, "pid", "pid")
    assert first == second
    bot.close()
    assert not alive(int(first.text))


def test_workers_change_nothing_but_the_processes(program: Path) -> None:
    bot, alone = process(program, workers=3), process(program)
    words = [str(i) for i in range(20)]
    assert ask(bot, *words) == ask(alone, *words)
    assert len({reply.text for reply in ask(bot, *["pid"] * 9)}) == 3
    bot.close()
    alone.close()


def test_a_crash_blames_its_own_dialogue(program: Path) -> None:
    bot = process(program)
    found = ask(bot, "a", "crash", "b")
    assert found == [Reply("a 0 2"), Reply("", "crashed: exit status 3: out of luck"), Reply("b 2 2")]
    bot.close()


@pytest.mark.parametrize("command", ["'program --flag'", "()", "('a', 3)", "7"])
def test_a_command_is_a_list_of_texts(command: str) -> None:
    with pytest.raises(InputError, match="command must be a list of texts"):
        create(f"process(command={command})", kind="bot")


def test_a_list_is_as_good_as_a_tuple(program: Path) -> None:
    assert create("process(command=['a','b'])", kind="bot") == Process(("a", "b"))


def test_the_signature_names_the_program(program: Path) -> None:
    before = process(program).signature()
    assert process(program, workers=2, timeout=5.0).signature() == before
    program.write_text(PROGRAM + "\n")
    assert process(program).signature() != before


def test_an_interrupt_does_not_wait_for_all_dialogues(program: Path) -> None:
    script = (
        "import sys; from interloq.play.bots.process import Process; from interloq.records import Turn\n"
        f"bot = Process((sys.executable, {str(program)!r}), timeout=100.0, workers=2)\n"
        "print(bot.replies([[Turn('pid')]], [0])[0].text, flush=True)\n"
        "bot.replies([[Turn('hang')]] * 50, range(50))"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    pid = int(running.stdout.readline())
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=20)
    assert "KeyboardInterrupt" in said
    assert not alive(pid)
