"""One program behind a bot: its pipes, its failures and its end."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from interloq import InputError, create
from interloq.records import Turn
from interloq.servers.replies import Reply
from tests.play.made_programs import alive, ask, process


def test_a_program_that_dies_once_is_asked_again(program: Path) -> None:
    bot = process(program)
    assert ask(bot, "once", "goodbye", "c") == [Reply("once 0 2"), Reply("goodbye 1 2"), Reply("c 2 2")]
    bot.close()


def test_a_program_that_always_crashes_is_left_alone(program: Path) -> None:
    program.write_text("import sys; open('starts', 'a').write('x'); sys.exit('cannot work')")
    bot = process(program, restarts=3)
    found = ask(bot, *"abcdef")
    assert all("crashed" in reply.failure and "cannot work" in reply.failure for reply in found)
    assert found[-1].failure.startswith("crashed 4 times in a row, not started again")
    assert Path("starts").read_text() == "xxxx"


def test_a_program_that_hangs_is_killed(program: Path) -> None:
    bot = process(program, timeout=2.0)
    (pid,) = ask(bot, "pid")
    start = time.monotonic()
    assert ask(bot, "hang", "b") == [Reply("", "timed out after 2 s"), Reply("b 1 2")]
    assert time.monotonic() - start < 15
    assert not alive(int(pid.text))
    assert ask(bot, "deaf")[0].failure == "crashed: closed its output"
    bot.close()


@pytest.mark.parametrize(
    ("word", "failure"),
    [
        ("wrong", "timed out after 2 s"),
        ("flood wrong", "wrote more than 1 MiB with other ids than the one asked for"),
    ],
)
def test_a_program_that_writes_without_end_is_killed(program: Path, word: str, failure: str) -> None:
    bot = process(program, timeout=2.0)
    assert ask(bot, word, "b") == [Reply("", failure), Reply("b 1 2")]
    bot.close()


def test_a_program_that_never_reads(program: Path) -> None:
    program.write_text("import time; time.sleep(600)")
    bot = process(program, timeout=1.0)
    assert ask(bot, "x" * 1_000_000) == [Reply("", "timed out after 1 s")]


@pytest.mark.parametrize(
    ("word", "failure"),
    [
        ("text", "wrote no JSON: not JSON, at all"),
        ("number", "wrote something that is not text"),
        ("list", "wrote a line without an id"),
        ("flood", "wrote a line of more than 1 MiB"),
        ("tired", "too tired"),
        ("earlier", "too tired"),
    ],
)
def test_wrong_answers_are_failures_of_one_dialogue(program: Path, word: str, failure: str) -> None:
    bot = process(program)
    assert ask(bot, "a", word, "b", "c") == [Reply("a 0 2"), Reply("", failure), Reply("b 2 2"), Reply("c 3 2")]
    bot.close()


def test_late_answers_and_noise_are_passed_over(program: Path) -> None:
    bot = process(program)
    assert ask(bot, "late", "noise", "b") == [Reply("late 0 2"), Reply("noise 1 2"), Reply("b 2 2")]
    bot.close()


def test_a_long_dialogue_goes_through_the_pipes(program: Path) -> None:
    bot = process(program)
    (reply,) = bot.replies([[Turn("y" * 500_000)]], [4])
    assert reply == Reply("y" * 500_000 + " 4 1")
    bot.close()


def test_a_program_that_is_not_there() -> None:
    bot = create("process(command=('no-such-program-here',))", kind="bot")
    with pytest.raises(InputError, match="no program 'no-such-program-here'"):
        bot.signature()
    assert "cannot be started" in ask(bot, "a")[0].failure


def test_programs_end_with_the_bot_and_with_python(program: Path) -> None:
    bot = process(program)
    pid = int(ask(bot, "pid")[0].text)
    del bot
    gc.collect()
    assert not alive(pid)
    script = (
        "import sys; from interloq.play.bots.process import Process; from interloq.records import Turn\n"
        f"bot = Process((sys.executable, {str(program)!r})); print(bot.replies([[Turn('pid')]], [0])[0].text)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not alive(int(done.stdout))


def test_closing_ends_what_another_thread_waits_for(program: Path) -> None:
    bot = process(program, timeout=100.0)
    ask(bot, "warm")
    found: list[Reply] = []
    thread = threading.Thread(target=lambda: found.extend(ask(bot, "hang", "b", "c")))
    thread.start()
    time.sleep(0.3)
    start = time.monotonic()
    bot.close()
    thread.join(20)
    assert time.monotonic() - start < 10
    assert (
        found == [Reply("", "crashed: killed by signal 9"), Reply("", "closed"), Reply("", "closed")]
        or found == [Reply("", "closed")] * 3
    )
    assert ask(bot, "again") == [Reply("again 0 2")]  # a later run starts it anew
    bot.close()
