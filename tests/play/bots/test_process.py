"""Bots that are programs: real processes that answer, crash, hang and flood."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from interloq import InputError, create
from interloq.play.bots.process import Process
from interloq.records import Turn
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


@pytest.mark.parametrize("command", ["'program --flag'", "()", "('a', 3)", "7"])
def test_a_command_is_a_list_of_texts(command: str) -> None:
    with pytest.raises(InputError, match="command must be a list of texts"):
        create(f"process(command={command})", kind="bot")
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
        ("crash", "crashed: exit status 3: out of luck"),
        ("once", ""),  # it crashes and is asked again
        ("goodbye", ""),  # it ends after the answer
        ("late", ""),  # it also answers the request before
        ("noise", ""),  # it fills its error output
    ],
)
def test_a_failure_concerns_one_dialogue(program: Path, word: str, failure: str) -> None:
    reply = Reply("", failure) if failure else Reply(f"{word} 1 2")
    assert ask(process(program), "a", word, "b", "c") == [Reply("a 0 2"), reply, Reply("b 2 2"), Reply("c 3 2")]


def test_a_long_dialogue_goes_through_the_pipes(program: Path) -> None:
    bot = process(program)
    (reply,) = bot.replies([[Turn("y" * 500_000)]], [4])
    assert reply == Reply("y" * 500_000 + " 4 1")


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
