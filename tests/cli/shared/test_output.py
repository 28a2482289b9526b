"""What a run reports: bad lines and the exit code, what was spent, progress."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import pytest

from interloq import Reference, Sample, write
from interloq.cli.main import main
from interloq.cli.shared.output import (
    BadLineReporter,
    add_limits,
    announcer,
    exit_code,
    limit_spending,
    mark_incomplete,
    phases,
    progress,
    verb_output,
)
from interloq.data.records.jsonl import SHOWN, read, read_all
from interloq.servers.spending import current
from tests.made_chat_server import serving
from tests.made_judge_server import JudgeServer

# ---- bad lines and exit codes ----------------------------------------------------------------------------------------


def test_the_exit_code_says_whether_all_was_used() -> None:
    def marking(condition: object, code: int) -> int:
        mark_incomplete(condition)
        return code

    assert exit_code(lambda: marking(0, 0)) == 0
    assert exit_code(lambda: marking(True, 0)) == 1
    assert exit_code(lambda: marking(True, 3)) == 3
    assert exit_code(lambda: 0) == 0, "nothing is left from the run before"


def test_the_first_bad_lines_are_named_and_all_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{broken\n" * (SHOWN + 2) + '{"id": "1", "response": "x"}\n')
    bad = BadLineReporter()
    assert exit_code(lambda: len(list(read(path, on_reject=bad))) - 1) == 1
    bad.close()
    lines = capsys.readouterr().err.splitlines()
    assert bad.count == SHOWN + 2
    assert len(lines) == SHOWN + 1
    assert f"{SHOWN + 2} bad lines" in lines[-1]
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"], "a verb without an output writes nothing"


def test_bad_lines_of_all_inputs_are_written_beside_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.jsonl").write_text(f'{{broken {name}\n{{"id": "{name}", "response": "x"}}\n')
    with verb_output(str(tmp_path / "out" / "o.jsonl")):
        bad = BadLineReporter()
        records = list(read_all([tmp_path / "a" / "in.jsonl", tmp_path / "b" / "in.jsonl"], on_reject=bad))
        bad.close()
    written = tmp_path / "out" / "o.jsonl.rejected.jsonl"
    assert [record.id for record in records] == ["a", "b"]
    assert [json.loads(line)["line"] for line in written.read_text().splitlines()] == ["{broken a", "{broken b"]
    assert f"written to {written}" in capsys.readouterr().err
    assert not list((tmp_path / "a").glob("*.rejected*"))
    with verb_output(str(tmp_path / "out" / "o.jsonl")):
        BadLineReporter().close()
    assert not written.exists(), "a run without bad lines leaves none of an earlier one"


# ---- spending --------------------------------------------------------------------------------------------------------


def test_what_was_spent_is_printed_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_limits(parser)
    for quiet in (False, True):
        args = parser.parse_args(["--max-calls", "1"], argparse.Namespace(quiet=quiet))
        with limit_spending(args):
            assert current().start_call() == ""
            assert current().start_call() == "the limit of 1 call is reached"
        assert ("1 call of a language model" in capsys.readouterr().err) != quiet
        assert (announcer(args) is None) == quiet


@pytest.mark.parametrize("reply", ["500", "unsure"])
def test_a_reply_that_the_server_did_not_judge_makes_the_exit_code_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reply: str
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    write("good.jsonl", [Sample(str(i), ["hi"], text) for i, text in enumerate(("fine", "good"))], kind="samples")
    write("bad.jsonl", [Sample(str(i), ["hi"], text) for i, text in enumerate(("fine", reply))], kind="samples")
    with serving(JudgeServer()) as server:
        judge = f"llm_judge(model='m',endpoint='{server.url}',retries=0)"
        assert main(["score", "good.jsonl", "-m", judge]) == 0
        assert "usable" not in capsys.readouterr().out
        assert main(["score", "bad.jsonl", "-m", judge]) == 1
        assert "; 1 request without a usable answer" in capsys.readouterr().out
        assert main(["compare", "good.jsonl", "bad.jsonl", "-m", judge, "--no-slices"]) == 1
        gate = ["gate", "good.jsonl", "bad.jsonl", "-m", judge, "--no-slices", "--margin", "1"]
        assert main(gate) == 2


def test_rate_and_compare_keep_limits(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    samples = [Sample(str(i), [f"question {i}"], "x", [Reference("fine", 1.0, "retrieved:1")]) for i in range(3)]
    write("samples.jsonl", samples, kind="samples")
    with serving(JudgeServer()) as server:
        judge = f"llm_judge(model='m',endpoint='{server.url}')"
        rate = ["rate", "samples.jsonl", "--rater", f"by({judge})", "-o", "rated.jsonl"]
        assert main([*rate, "--max-calls", "2"]) == 2
        compare = ["compare", "samples.jsonl", "samples.jsonl", "--judge", judge]
        assert main([*compare, "--max-calls", "2"]) == 2
        assert server.seen == []
        assert main([*rate, "--max-calls", "3"]) == 0
        assert main([*compare, "--max-calls", "6"]) == 0
        assert "interloq: 3 calls of a language model" in capsys.readouterr().err
        assert len(server.seen) == 6  # equal replies: both orders are one request


# ---- progress --------------------------------------------------------------------------------------------------------


Captured = pytest.CaptureFixture[str]


def test_a_line_now_and_then_where_there_is_no_terminal(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 40.0, 50.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with progress("scoring", 1_000) as step:
        for steps in (100, 150, 250):
            step(steps)
    assert capsys.readouterr().err == "interloq: scoring: 250 of 1,000, 6.25 per second, about 2 min 0 s left\n"


def test_without_a_total_there_is_no_estimate(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 40.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with progress("scoring") as step:
        step(4_096)
    assert capsys.readouterr().err == "interloq: scoring: 4,096, 102 per second\n"


def test_phases_have_shares(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 40.0, 50.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with phases() as step:
        for share in (0.1, 0.25, 0.5):
            step("cleaning posts", share)
    assert capsys.readouterr().err == "interloq: cleaning posts: 25%, about 2 min 0 s left\n"


def test_quiet_is_silent(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.cli.shared.output.EVERY", 0.0)
    with progress("scoring", 10, quiet=True) as step, phases(quiet=True) as reach:
        step(5)
        reach("cleaning posts", 0.5)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    class Terminal:
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

        def flush(self) -> None: ...

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    with progress("scoring \x1b[2J", 2) as step:
        step(2)
    with phases() as reach:
        reach("cleaning posts", 0.5)
    shown = "".join(written)
    assert "scoring \\x1b[2J" in shown, "a label may come from a file's name"
    assert "cleaning posts" in shown
