"""The command line as a user meets it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interloq import Sample, __version__, load, write
from interloq.cli.main import JOBS, VERB_GROUPS, VERBS, main, verb_parser
from interloq.data.records.jsonl import header


@pytest.fixture
def path(folder: Path, samples: list[Sample]) -> str:
    write(folder / "samples.jsonl", samples, kind="samples")
    return "samples.jsonl"


def test_help_version_and_typing_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert all(f"  {verb}" in capsys.readouterr().out for verb in list(VERBS)[:1])
    for asked in ("--version", "version"):
        assert main([asked]) == 0
        assert capsys.readouterr().out == f"interloq {__version__}\n"
    assert main(["help"]) == 0
    groups = re.findall(r"^(\S.*):$", capsys.readouterr().out, flags=re.MULTILINE)
    assert groups == [*VERB_GROUPS, "examples"]
    assert main(["scor"]) == 2
    assert capsys.readouterr().err == "interloq: unknown verb 'scor'; did you mean 'score'?\n"


def test_without_a_verb_five_jobs_are_shown_with_commands_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert len(JOBS) == 5
    for job, command in JOBS.items():
        assert f"  {job}" in shown
        assert command in shown
        verb, *arguments = shlex.split(command)[1:]
        assert job in VERB_GROUPS or verb in VERB_GROUPS["decide between systems"]
        verb_parser(verb).parse_args(arguments)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["help", verb] if verb == "score" else [verb, "--help"])
    assert stopped.value.code == 0
    assert f"examples:\n  interloq {verb}" in capsys.readouterr().out


def test_score_prints_a_table_and_writes_scores(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", path, "-m", "bleu(order=2)", "-m", "distinct", "-o", "scores.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "bleu(order=2)" in out
    assert "95 % interval" in out
    assert "\x1b[" not in out, "no colour in a pipe"
    scores = load("scores.jsonl", kind="scores")
    assert len(scores) == 12
    assert {score.metric for score in scores} == {"bleu(order=2)", "distinct"}
    assert {score.system for score in scores} == {"good", "bad"}
    results = header("scores.jsonl")["results"]
    assert {(r["metric"], r["system"]) for r in results} >= {("distinct", "good"), ("bleu(order=2)", "")}
    assert all(r["signature"]["parts"]["version"] == __version__ for r in results)


def test_scores_go_to_a_pipe_with_a_dash(path: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["score", path, "-m", "bleu", "-o", "-"]) == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert json.loads(lines[0])["kind"] == "scores"
    assert len(lines) == 7


def test_unscored_samples_are_counted_with_their_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("some.jsonl", [Sample("1", "c", "a b", "a b"), Sample("2", "c", "a b")], kind="samples")
    assert main(["score", "some.jsonl", "-m", "delta_bleu", "-o", "scores.jsonl"]) == 0
    assert "unscored: delta_bleu: no references (1 sample)" in capsys.readouterr().out
    scores = {score.id: score for score in load("scores.jsonl", kind="scores")}
    assert (scores["2"].value, scores["2"].reason) == (None, "no references")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score", "samples.jsonl", "-m", "blue"], "unknown metric 'blue'; did you mean 'bleu'?"),
        (["score", "samples.jsonl", "-m", "13a"], "unknown metric '13a'"),
        (["score", "absent.jsonl", "-m", "bleu"], "cannot read absent.jsonl: No such file or directory"),
        (["score", "-m", "bleu"], "no file of samples given"),
        (["score", "samples.jsonl", "-m", "bleu", "-o", "samples.jsonl/x"], "cannot write"),
    ],
)
def test_user_errors_are_one_line_and_exit_2(
    path: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_bad_lines_are_named_and_counted_and_strict_stops(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = '{"id": "1", "response": "a b", "references": ["a b"]}\n'
    Path("mixed.jsonl").write_text(good + "oops\n" * 7)
    assert main(["score", "mixed.jsonl", "-m", "bleu"]) == 1
    err = capsys.readouterr().err
    assert err.count("bad line: mixed.jsonl:") == 5
    assert "7 bad lines of mixed.jsonl not used; to see them all: interloq data convert mixed.jsonl" in err
    assert main(["score", "mixed.jsonl", "-m", "bleu", "--strict"]) == 2
    assert "interloq: mixed.jsonl:2: not valid JSON" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error(path: str) -> None:
    command = f"{sys.executable} -m interloq.cli score {path} -m bleu -m length | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)  # noqa: S607
    assert done.stderr == ""


def test_ctrl_c_leaves_whole_files_only(folder: Path) -> None:
    """The reader waits on a pipe that never ends; the interrupt must leave the old output as it was."""
    Path("scores.jsonl").write_text("old\n")
    command = [sys.executable, "-m", "interloq.cli", "score", "-", "-m", "bleu", "-o", "scores.jsonl"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ})
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert [p.name for p in folder.iterdir()] == ["scores.jsonl"]
    assert Path("scores.jsonl").read_text() == "old\n"


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        (">/dev/full", 2, "cannot read or write standard output or a file: No space left on device"),
        ("-o - >/dev/full", 2, "cannot write standard output: No space left on device"),
        (">&-", 0, ""),
        ("-o - >&-", 2, "standard output is closed"),
        ("2>/dev/full -o nowhere/../samples.jsonl/x", 2, ""),
        (
            "-o samples.jsonl/x",
            2,
            "cannot write samples.jsonl/x: Not a directory (samples.jsonl); choose another",
        ),
    ],
)
def test_outputs_that_take_nothing(tmp_path: Path, redirected: str, code: int, said: str) -> None:
    (tmp_path / "samples.jsonl").write_text('{"id": "1", "context": ["a"], "response": "b c", "references": ["b"]}\n')
    command = f"{sys.executable} -m interloq.cli score samples.jsonl -m chrf {redirected}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S607
    assert (done.returncode, done.stderr.count("\n")) == (code, bool(said)), done.stderr
    assert said in done.stderr


def test_a_bug_is_one_line_that_names_a_file_with_the_traceback(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise KeyError("nobody thought of this")

    monkeypatch.setattr("interloq.cli.score.run", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KeyError):
        main(["score", path, "-m", "bleu"])  # INTERLOQ_DEBUG is set in all tests
    monkeypatch.delenv("INTERLOQ_DEBUG")
    assert main(["score", path, "-m", "bleu"]) == 2
    said = capsys.readouterr().err
    (kept,) = tmp_path.glob("interloq-*.txt")
    assert said.startswith("interloq: this is a bug in Interloq: KeyError: 'nobody thought of this'; please report it")
    assert str(kept) in said
    assert said.count("\n") == 1
    assert "in broken" in kept.read_text()


def test_too_little_memory_is_no_bug(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("interloq.cli.score.run", broken)
    monkeypatch.delenv("INTERLOQ_DEBUG")
    assert main(["score", path, "-m", "bleu"]) == 2
    assert capsys.readouterr().err.startswith("interloq: not enough memory")
