from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from interloq.cli.main import main
from interloq.data.records.jsonl import header, load
from tests.cli.made_runs import run_corpus
from tests.made_posts import made_posts, write_posts

pytest.importorskip("duckdb")


Captured = pytest.CaptureFixture[str]


@pytest.fixture
def log(folder: Path) -> Path:
    return write_posts(folder / "posts.jsonl", made_posts(800))


QUICK = ["--workers", "1", "--quiet"]


def test_build_and_show(log: Path, capsys: Captured) -> None:
    Path("c.toml").write_text("[joining]\norphans = true\n")
    shown = run_corpus(capsys, "build", "posts.jsonl", "-o", "corpus", "--settings", "c.toml", "--pairs", "all", *QUICK)
    for words in ("posts read", "800", "threads kept", "turns per dialogue", "dev begins at 2017", "signature: "):
        assert words in shown
    assert run_corpus(capsys, "show", "corpus") == shown
    facts = json.loads(run_corpus(capsys, "show", "corpus", "--json"))
    assert facts == json.loads(Path("corpus/corpus.json").read_text())
    assert header("corpus/train/pairs.jsonl.zst")["signature"] == facts["signature"]
    assert len(load("corpus/train/dialogues.jsonl.zst", kind="dialogues")) == facts["parts"]["train"]["dialogues"]


def test_build_prints_json_and_names_bad_lines(log: Path, capsys: Captured) -> None:
    with log.open("a") as file:
        file.write("{broken\n")
    assert main(["corpus", "build", "posts.jsonl", "-o", "corpus", "--json", "--split", "none", *QUICK]) == 1
    captured = capsys.readouterr()
    facts = json.loads(captured.out)
    assert facts["posts"]["bad_lines"] == 1
    assert "bad lines are in corpus/posts.rejected.jsonl" in captured.err
    assert json.loads(Path("corpus/posts.rejected.jsonl").read_text())["where"] == "posts.jsonl:801"
    assert sorted(path.name for path in Path("corpus").iterdir()) == [
        "corpus.json",
        "dialogues.jsonl.zst",
        "groups.jsonl.zst",
        "pairs.jsonl.zst",
        "posts.rejected.jsonl",
    ]


def test_show_with_examples(folder: Path, capsys: Captured) -> None:
    posts = [*made_posts(60), {"id": "x", "user": "eve", "text": "hm", "time": 5}]
    write_posts(folder / "posts.jsonl", posts)
    run_corpus(capsys, "build", "posts.jsonl", "-o", "corpus", *QUICK)
    assert "short: eve: hm" in run_corpus(capsys, "show", "corpus", "--examples")
    assert "short: eve: hm" not in run_corpus(capsys, "show", "corpus")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "posts.jsonl", "-o", "c", "--lang", "xx"], "no script known for language 'xx'"),
        (["build", "posts.jsonl", "-o", "c", "--split", "half"], "cannot read --split 'half'"),
        (["build", "posts.jsonl", "-o", "c", "--field", "user"], "cannot read --field 'user'"),
        (["build", "posts.jsonl", "-o", "c", "--settings", "no.toml"], "cannot read no.toml"),
        (["build", "posts.jsonl", "-o", "c", "--memory", "lots"], "cannot use 'lots' as a memory limit"),
        (["show", "."], "cannot read corpus.json"),
        (["import", "kdconv", "nowhere", "-o", "d"], "no file or folder 'nowhere'"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(log: Path, capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["corpus", *arguments, *(["--quiet"] if arguments[0] == "build" else [])]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert {path.name for path in Path().iterdir()} == {"posts.jsonl"}


def test_build_reads_a_pipe(log: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    with log.open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        facts = json.loads(run_corpus(capsys, "build", "-", "-o", "corpus", "--json", *QUICK))
    assert facts["posts"]["read"] == 800
