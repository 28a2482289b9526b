"""`interloq reply` as a user runs it: servers that stop, limits, interruptions, messages."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interloq import load, write
from interloq.cli.main import main
from interloq.play.journal import journal_path
from interloq.records import Sample, Turn
from tests.cli.made_runs import pairs, run_json
from tests.made_chat_server import Server
from tests.servers.conftest import server as server

Captured = pytest.CaptureFixture[str]


def endpoint(url: str, **options: object) -> str:
    more = "".join(f",{name}={value!r}" for name, value in options.items())
    return f"endpoint(url={url!r},model='m',retries=0,concurrency=2{more})"


@pytest.fixture
def prompts(folder: Path) -> Path:
    write("prompts.jsonl", [Sample(f"p{i}", [f"hello {i}"], references=["hi"]) for i in range(12)], kind="samples")
    return folder


def test_the_command_for_interlocutors(folder: Path, capsys: Captured) -> None:
    """The commands of docs/serve.md: replies to people's own turns, beside the replies they got."""
    write("pairs.jsonl", pairs(200), kind="pairs")
    contexts = [[Turn("hello", "bot"), Turn(pairs(2)[1].utterance, "ann")], [Turn(pairs(2)[0].utterance, "bob")]]
    write(
        "replies.jsonl", [Sample(f"d#{i}", c, "so so", (), "bot", [3]) for i, c in enumerate(contexts)], kind="samples"
    )
    assert main(["index", "build", "pairs.jsonl", "-o", "index", "--retriever", "bm25", "--quiet"]) == 0
    command = ["reply", "replies.jsonl", "--system", 'new=retrieval(index="index")', "--keep", "-o", "own.jsonl"]
    assert main(command) == 0
    rows = load("own.jsonl")
    assert [row.key for row in rows] == [("d#0", "bot"), ("d#0", "new"), ("d#1", "bot"), ("d#1", "new")]
    assert [row.context[-1].speaker for row in rows] == ["ann", "ann", "bob", "bob"]
    assert "2 replies to 2 contexts, 2 replies of the input" in capsys.readouterr().out
    settings = {"name": "own", "questions": [{"aspect": "answer", "text": "?", "labels": ["no", "yes"]}]}
    Path("own.json").write_text(json.dumps({**settings, "options": {"interlocutor": True}}))
    assert main(["serve", "add", "study.db", "own.jsonl", "--task", "rate", "--settings", "own.json"]) == 0


def test_replies_before_a_server_fails_are_kept(folder: Path, server: Server, capsys: Captured) -> None:
    pytest.importorskip("httpx")
    write("p.jsonl", [Sample(str(i), [f"fine {i}" if i < 3 else "503*1"]) for i in range(5)], kind="samples")
    command = ["p.jsonl", "--system", f"e={endpoint(server.url)}", "-o", "out.jsonl", "--quiet", "--batch", "1"]
    facts = run_json(capsys, "reply", *command, code=1)
    assert (facts["rows"], facts["missing"], facts["bots"]["e"]["failures"]) == (4, {"e": 1}, {"HTTP 503": 1})
    sent = len(server.seen)
    facts = run_json(capsys, "reply", *command)
    assert (facts["rows"], facts["missing"], facts["resumed"]) == (5, {}, 4)
    assert len(server.seen) == sent + 2, "one request to try out the server, and the missing one"
    assert [row.id for row in load("out.jsonl")] == ["0", "1", "2", "3", "4"]


def test_limits_of_calls_and_cost(prompts: Path, server: Server, capsys: Captured) -> None:
    pytest.importorskip("httpx")
    command = ["reply", "prompts.jsonl", "--system", f"e={endpoint(server.url)}", "-o", "out.jsonl", "--batch", "4"]
    assert main([*command, "--max-calls", "8", "--call-log", "calls.jsonl"]) == 1
    printed = capsys.readouterr()
    assert "the limit of 8 calls is reached 4" in printed.out
    assert "e: 4 replies missing; the same command asks for them again" in printed.out
    assert "8 calls of a language model" in printed.err
    assert len(server.seen) == 9
    assert len(Path("calls.jsonl").read_text().splitlines()) == 9
    assert main([*command, "--max-calls", "8"]) == 0
    assert len(load("out.jsonl")) == 12
    assert main([*command[:-4], "-o", "new.jsonl", "--max-cost", "1"]) == 2
    assert "a limit of cost needs prices" in capsys.readouterr().err
    priced = ["reply", "prompts.jsonl", "--system", f"e={endpoint(server.url, price=(1, 2))}", "-o", "new.jsonl"]
    assert main([*priced, "--max-cost", "1"]) == 2
    assert "does not report tokens, so cost cannot be limited" in capsys.readouterr().err
    assert main(["reply", "prompts.jsonl", "--system", "e=" + endpoint("http://127.0.0.1:9/v1"), "-o", "no.jsonl"]) == 2
    assert "'e' cannot answer: http://127.0.0.1:9/v1: the endpoint does not answer" in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_said(prompts: Path, capsys: Captured) -> None:
    Path("slow.py").write_text(
        "import json, sys, time\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    time.sleep(.1)\n"
        "    print(json.dumps({'id': asked['id'], 'text': 're ' + asked['turns'][-1]['text']}), flush=True)\n"
    )
    system = f"s=process(command=({sys.executable!r},'slow.py'))"
    command = ["reply", "prompts.jsonl", "--system", system, "--batch", "1", "-o", "out.jsonl"]
    process = subprocess.Popen([sys.executable, "-m", "interloq.cli", *command], stderr=subprocess.PIPE, text=True)
    journal = journal_path("out.jsonl")
    while not journal.exists() or journal.read_text().count("\n") < 4:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130
    assert "kept; rerun the same command to resume" in said
    kept = journal.read_text().count("\n") - 1
    assert not Path("out.jsonl").exists()
    facts = run_json(capsys, *command)
    assert facts["resumed"] == kept
    assert [row.response for row in load("out.jsonl")] == [f"re hello {i}" for i in range(12)]


def test_messages(prompts: Path, capsys: Captured) -> None:
    def refuse(*arguments: str) -> str:
        assert main(["reply", *arguments]) == 2
        return capsys.readouterr().err

    assert "replies need an output file" in refuse("prompts.jsonl", "--system", "eliza", "-o", "-")
    assert "no system is given" in refuse("prompts.jsonl", "-o", "o.jsonl")
    assert "two systems are called 'eliza'" in refuse(
        "prompts.jsonl", "--system", "eliza", "--system", "eliza", "-o", "o.jsonl"
    )
    assert "n must be at least 1, got 0" in refuse("prompts.jsonl", "--system", "eliza", "--n", "0", "-o", "o.jsonl")
    assert "also an input" in refuse("prompts.jsonl", "--system", "eliza", "-o", "prompts.jsonl")
    Path("bots.json").write_text(json.dumps({"mine": "process(command=('python','bot.py'))"}))
    assert "reach outside the program" in refuse("prompts.jsonl", "--bots", "bots.json", "-o", "o.jsonl")
    assert not list(prompts.glob("o.jsonl*"))


def test_a_bad_line_is_set_aside(folder: Path, capsys: Captured) -> None:
    Path("p.jsonl").write_text('{"id":"1","context":["hi"]}\n{"id":"2"}\n{"id":"3","context":["hi"]}\n')
    assert main(["reply", "p.jsonl", "--system", "eliza", "-o", "o.jsonl"]) == 1
    printed = capsys.readouterr()
    assert "p.jsonl:2: the record has no context to reply to" in printed.err
    assert "note: 1 prompt with the context of an earlier one" in printed.out
    assert Path("o.jsonl.rejected.jsonl").exists()
