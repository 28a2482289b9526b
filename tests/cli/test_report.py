from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main

CALL = "import sys; from interloq.cli.main import main; sys.exit(main(sys.argv[1:]))"
REPORT = [sys.executable, "-c", CALL, "report", "scores.jsonl", "--samples", "samples.jsonl", "--bootstrap", "20"]


@pytest.fixture
def scored(folder: Path, samples: list[Sample], capsys: pytest.CaptureFixture[str]) -> Path:
    """A working directory with samples.jsonl and scores.jsonl."""
    write("samples.jsonl", samples, kind="samples")
    assert main(["score", "samples.jsonl", "-m", "length", "--bootstrap", "20", "-o", "scores.jsonl"]) == 0
    capsys.readouterr()
    return folder


def _report(*options: str) -> int:
    return main(["report", "scores.jsonl", "--samples", "samples.jsonl", "-o", "r.html", "--bootstrap", "20", *options])


def test_one_line_says_what_was_written(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report() == 0
    said = capsys.readouterr()
    assert said.out == ("r.html: 6 samples, 2 systems, 1 metric, 18 judgments by people, aspect overall; 2 warnings\n")
    assert said.err == ""
    assert (scored / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_command_in_the_report_makes_it_again(scored: Path) -> None:
    from html.parser import HTMLParser

    inner = scored / "deep" / "er"
    inner.mkdir(parents=True)
    (scored / "scores.jsonl").rename(inner / "scores.jsonl")
    paths = [str(inner / "scores.jsonl"), "--samples", str(scored / "samples.jsonl")]
    options = ["--title", "it's <mine>", "--worst", "3", "--seed", "4"]
    assert main(["report", *paths, "-o", "first.html", "--bootstrap", "20", *options]) == 0
    html = (scored / "first.html").read_text(encoding="utf-8")
    assert str(scored) not in html

    found: list[str] = []

    class Codes(HTMLParser):
        def handle_data(self, data: str) -> None:
            if data.startswith("interloq report"):
                found.append(data)

    Codes().feed(html)
    (command,) = found
    assert "deep/er/scores.jsonl" in command
    assert main(shlex.split(command)[1:]) == 0
    assert (scored / "report.html").read_bytes() == (scored / "first.html").read_bytes()


def test_processes_with_other_hash_seeds_write_the_same_bytes(scored: Path) -> None:
    pages = []
    for seed in ("1", "2"):
        subprocess.run([*REPORT, "-o", f"{seed}.html"], env=os.environ | {"PYTHONHASHSEED": seed}, check=True)
        pages.append((scored / f"{seed}.html").read_bytes())
    assert pages[0] == pages[1]


def test_the_page_can_go_to_a_pipe(scored: Path) -> None:
    assert _report() == 0
    done = subprocess.run([*REPORT, "-o", "-"], capture_output=True, check=True)
    assert done.stdout == (scored / "r.html").read_bytes()
