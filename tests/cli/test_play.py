"""`interloq play` as a user runs it, also killed in the middle."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from interloq import evaluate
from interloq.cli.main import main
from interloq.data.records.jsonl import header, load
from interloq.play.journal import journal_path
from interloq.signature import Signature
from tests.cli.made_runs import refuse_play, run_play
from tests.made_pages import page_commands, run_commands


def test_from_bots_to_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    partners = ["partners", "--partner", "echo=echo", "--partner", "eliza=eliza", "-o", "partners.json"]
    made = run_play(capsys, *partners, "--openings", "embedded:ja", "--exchanges", "3")
    assert made["partners"] == ["echo", "eliza"]
    run = ["run", "--scheme", "bipartite", "--target", "eliza=eliza", "--target", "e=eliza(language='ja')"]
    facts = run_play(capsys, *run, "--partners", "partners.json", "--limit", "4", "-o", "dialogues.jsonl")
    assert facts["dialogues"] == 16
    assert facts["partners"] == made["hash"]
    assert facts["bots"]["eliza (partner)"]["replies"] == 24
    dialogues = load("dialogues.jsonl", kind="dialogues", strict=True)
    assert [d.id for d in dialogues[:3]] == [f"{pair}/{_opening(dialogues)}/repeat-1" for pair in _pairs()[:3]]
    assert {(len(d.turns), d.given) for d in dialogues} == {(8, 2)}
    sampled = run_play(capsys, "samples", "dialogues.jsonl", "-o", "samples.jsonl")
    assert sampled["samples"] == 16 * 3
    assert header("samples.jsonl")["partners"] == header("dialogues.jsonl")["partners"] == made["hash"]
    assert header("dialogues.jsonl")["signature"]["parts"]["partners"] == made["hash"]
    assert {sample.system for sample in load("samples.jsonl")} == {"eliza", "e"}
    assert not journal_path("dialogues.jsonl").exists()
    assert main(["score", "samples.jsonl", "-m", "length", "-o", "scores.jsonl", "--bootstrap", "0"]) == 0
    assert header("scores.jsonl")["partners"] == made["hash"]
    found = evaluate("length", load("samples.jsonl"), n_bootstrap=0)
    assert Signature.from_json(header("scores.jsonl")["results"][0]["signature"]) == found.signature


def _pairs() -> list[str]:
    return ["eliza~echo", "eliza~eliza (partner)", "e~echo", "e~eliza (partner)"]


def _opening(dialogues: list[Any]) -> str:
    return str(dialogues[0].id.split("/")[1])


def test_the_same_command_again_plays_nothing_and_a_longer_one_only_the_rest(
    talking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["run", "--scheme", "self-play", "--target", "f=function(path='made_for_play:slow')", "-o", "d.jsonl.gz"]
    first = run_play(capsys, *run, "--limit", "3")
    before = load("d.jsonl.gz", kind="dialogues")
    assert first["resumed"] == 0
    assert run_play(capsys, *run, "--limit", "3")["resumed"] == 3
    longer = run_play(capsys, *run, "--limit", "5", "--repeats", "2")
    assert (longer["dialogues"], longer["resumed"]) == (10, 3)
    assert len((talking / "calls.txt").read_text().split()) == 10 * 10
    after = load("d.jsonl.gz", kind="dialogues")
    assert [d for d in after if d in before] == before
    assert run_play(capsys, *run, "--limit", "1")["dialogues"] == 1
    assert len(load("d.jsonl.gz", kind="dialogues")) == 10  # what was played is kept
    assert "another run: seed was 0, is 1" in refuse_play(capsys, *run, "--seed", "1")


def test_a_bot_that_fails_is_shown_and_can_try_again(talking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--target", "bad=function(path='made_for_play:bad')", "--partner", "eliza", "-o", "d.jsonl"]
    assert main(["play", *run, "--limit", "4"]) == 1
    out, err = capsys.readouterr()
    assert "crashed 4" in out
    assert "4 dialogues; 4 ended early" in out
    assert "bad: crashed 4" in err
    failed = load("d.jsonl", kind="dialogues")
    assert {d.failure for d in failed} == {"bad: crashed: RuntimeError: no [bold]more[/] at turn 7"}
    assert {len(d.turns) for d in failed} == {6}
    (talking / "well").touch()
    assert run_play(capsys, *run, "--limit", "4", code=1)["failed"] == 4
    again = run_play(capsys, *run, "--limit", "4", "--again")
    assert (again["short"], again["resumed"]) == (0, 0)
    assert {len(d.turns) for d in load("d.jsonl", kind="dialogues")} == {12}


def samples(capsys: pytest.CaptureFixture[str], lines: list[Any], *options: str, code: int = 0) -> Any:
    Path("d.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run_play(capsys, "samples", "d.jsonl", "-o", "s.jsonl", *options, code=code)


HI = [{"speaker": "A", "text": "hi"}, {"speaker": "B", "text": "hello"}]
CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


@pytest.mark.filterwarnings("default::interloq.errors.ReadWarning", "default::interloq.errors.RejectedWarning")
def test_chat_exports_become_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"messages": CHAT, "model": "mine"}, {"messages": CHAT, "system": "theirs"}, {"messages": CHAT}]
    assert samples(capsys, lines, "--system", "unnamed")["samples"] == 3
    assert [(sample.system, sample.response) for sample in load("s.jsonl")] == [
        ("mine", "hello"),
        ("theirs", "hello"),
        ("unnamed", "hello"),
    ]
    found = samples(capsys, [*lines[:2], {"messages": CHAT, "system": "You are a helpful assistant."}], code=1)
    assert (found["samples"], found["unmatched"]) == (2, 1)


@pytest.mark.filterwarnings("default::interloq.errors.ReadWarning")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"turns": HI, "systems": {"X": "one"}}, "has systems for the speakers 'X', but its speakers are 'A', 'B'"),
        ({"turns": ["hi", "hello"], "systems": {"X": "one"}}, "the speakers 'X', but its turns have no speakers"),
        ({"turns": HI}, "dialogue 'd' names no system; its speakers are 'A', 'B'"),
        ({"messages": CHAT}, "dialogue 'd' names no system; its speakers are 'assistant', 'user'"),
    ],
)
def test_speakers_that_are_no_systems_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], line: dict[str, Any], said: str
) -> None:
    Path("d.jsonl").write_text(json.dumps({"id": "d", **line}))
    found = refuse_play(capsys, "samples", "d.jsonl", "-o", "s.jsonl")
    assert said in found
    assert '"systems": {"speaker": "system"}' in found
    assert not Path("s.jsonl").exists()


def test_silent_targets_are_counted_and_end_in_1(talking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--target", "mute=function(path='made_for_play:mute')", "--partner", "eliza", "-o", "d.jsonl"]
    assert run_play(capsys, *run, "--limit", "2", code=1)["failed"] == 2
    assert run_play(capsys, "samples", "d.jsonl", "-o", "s.jsonl", code=1)["silent"] == 2


def _little_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, resource.RLIM_INFINITY))


def _started(full: bool = False, **environment: str) -> subprocess.Popen[str]:
    target = "f=function(path='made_for_play:slow')"
    command = ["play", "run", "--scheme", "self-play", "--target", target, "--batch", "2", "--limit", "12"]
    return subprocess.Popen(
        [sys.executable, "-m", "interloq.cli", *command, "-o", "d.jsonl", "--json"],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_little_disk if full else None,
    )


def _finished_lines() -> int:
    journal = journal_path("d.jsonl")
    return journal.read_bytes().count(b"\n") - 1 if journal.exists() else 0


def test_a_run_that_was_interrupted_resumes(talking: Path) -> None:
    """Nothing finished is played again, nothing is lost, and the file is the same as without an interruption."""
    process = _started(SLOW="0.03")
    until = time.monotonic() + 120
    while _finished_lines() < 4 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    kept = _finished_lines()
    assert 4 <= kept < 12, err
    assert process.returncode == 130
    assert f"{kept} dialogues kept; rerun the same command to resume" in err
    assert not Path("d.jsonl").exists()
    Path("calls.txt").unlink()
    out, err = _started().communicate(timeout=120)
    assert json.loads(out)["resumed"] == kept, err
    assert len(Path("calls.txt").read_text().split()) == (12 - kept) * 10
    resumed = Path("d.jsonl").read_bytes()
    Path("d.jsonl").unlink()
    _started().communicate(timeout=120)
    assert Path("d.jsonl").read_bytes() == resumed


def test_a_full_disk_is_said_and_the_run_goes_on(talking: Path) -> None:
    process = _started(full=True)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "cannot write d.jsonl.journal: File too large; write to a disk without that limit" in err
    kept = _finished_lines()
    assert 0 < kept < 12
    out, err = _started().communicate(timeout=120)
    assert json.loads(out)["resumed"] == kept, err
    assert len(load("d.jsonl", kind="dialogues", strict=True)) == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "a=eliza"], "--partner NAME=BOT"),
        (["--scheme", "self-play", "--target", "a=eliza", "--partner", "b=echo"], "self-play uses no partners"),
        (["--scheme", "self-play"], "no target is given"),
        (["--scheme", "self-play", "--target", "a=eliza", "--openings", "none.txt"], "cannot read none.txt"),
        (["--scheme", "self-play", "--target", "a=eliza", "--exchanges", "0"], "exchanges must be at least 1"),
        (["--scheme", "self-play", "--target", "a=eliza", "--same", "0"], "same must be at least 1, got 0"),
        (["--scheme", "self-play", "--target", "a=eliza", "--until-settled", "bleu"], "at least two systems are"),
        (["--scheme", "self-play", "--target", "a=eliza", "--watch", "distinct"], "it scores sets of replies"),
        (["--until-settled", "bleu", "--watch", "bleu"], "omit --watch"),
    ],
)
def test_what_cannot_be_played_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert said in refuse_play(capsys, "run", *arguments, "-o", "d.jsonl")
    assert not Path("d.jsonl").exists()
    assert not journal_path("d.jsonl").exists()


def test_the_ranking_so_far_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--target", "talker=eliza", "--target", "parrot=echo", "--partner", "doctor=eliza", "--limit", "4"]
    assert main(["play", *run, "--watch", "length", "--higher-is-better", "-o", "d.jsonl"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert main(["play", "samples", "d.jsonl", "-o", "s.jsonl"]) == 0
    assert main(["score", "s.jsonl", "-m", "length", "-o", "scores.jsonl"]) == 0
    values = {row["system"]: row["value"] for row in header("scores.jsonl")["results"] if row["system"]}
    ranked = ", ".join(f"{name} {values[name]:.4g}" for name in sorted(values, key=values.__getitem__, reverse=True))
    assert line.startswith(f"8 of 8 dialogues, 10.0 utterances each; length over 8 dialogues: {ranked}")


def test_a_set_is_used_as_it_was_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_play(capsys, "partners", "--partner", "echo=echo", "-o", "p.json")
    run = ["run", "--target", "a=eliza", "--partners", "p.json", "-o", "d.jsonl"]
    assert "p.json: the partner set is for 5 exchanges, not 4" in refuse_play(capsys, *run, "--exchanges", "4")
    assert "made for other openings" in refuse_play(capsys, *run, "--openings", "embedded:zh")
    assert "both --partners and --partner are given" in refuse_play(capsys, *run, "--partner", "b=echo")
    Path("d.jsonl").write_text('{"id":"1","turns":["a"]}\n')
    assert "the output exists and was not written by a run" in refuse_play(capsys, *run)
    assert Path("d.jsonl").read_text() == '{"id":"1","turns":["a"]}\n'


def test_the_commands_of_the_page_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = [line for line in page_commands("play.md") if line.startswith("interloq play ")]
    assert len(commands) >= 5
    run_commands(commands, capsys)
