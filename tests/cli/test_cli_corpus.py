from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_posts import made_posts, write_posts

from interloq.cli import corpus as verb
from interloq.cli.corpus_options import settings
from interloq.cli.main import main
from interloq.data.corpus.settings import Settings
from interloq.data.jsonl import header, load
from interloq.errors import MissingDependencyError

pytest.importorskip("duckdb")
Captured = pytest.CaptureFixture[str]
QUICK = ["--workers", "1", "--quiet"]


@pytest.fixture
def log(folder: Path) -> Path:
    return write_posts(folder / "posts.jsonl", made_posts(800))


def run(capsys: Captured, *arguments: str, code: int = 0) -> str:
    assert main(["corpus", *arguments]) == code
    return capsys.readouterr().out


def test_build_and_show(log: Path, capsys: Captured) -> None:
    shown = run(capsys, "build", "posts.jsonl", "-o", "corpus", "--orphans", "--pairs", "all", *QUICK)
    for words in (
        "posts read",
        "800",
        "threads kept",
        "turns per dialogue",
        "dev begins at 2017",
        "signature: ",
    ):
        assert words in shown
    assert run(capsys, "show", "corpus") == shown
    facts = json.loads(run(capsys, "show", "corpus", "--json"))
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
    run(capsys, "build", "posts.jsonl", "-o", "corpus", *QUICK)
    assert "short: eve: hm" in run(capsys, "show", "corpus", "--examples")
    assert "short: eve: hm" not in run(capsys, "show", "corpus")


def parsed(*arguments: str) -> Settings:
    import argparse

    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    chosen: Settings = settings(parser.parse_args(["build", "posts.jsonl", "-o", "corpus", *arguments]))
    return chosen


def test_defaults_are_those_of_the_settings() -> None:
    assert parsed() == Settings()


def test_every_option_reaches_its_setting() -> None:
    chosen = parsed(
        *("--lang", "ja", "--detectors", "label,lingua", "--script", "Kana,Han", "--script-share", "0.7"),
        *("--min-chars", "7", "--keep-urls", "--keep-users", "--keep-emoji", "--hashtags", "remove", "--markdown"),
        *("--repeated-letters", "2", "--repeated-words", "0", "--quotes", "reply", "--duplicates", "any"),
        *("--utc-offset", "9", "--bot-rate", "50", "--bot-posts", "9", "--bot-repeats", "0.9", "--bot-names"),
        *("--drop-user", "x", "--drop-user", "a", "--orphans", "--max-gap", "24", "--users", "0", "--min-posts", "4"),
        *("--max-posts", "99", "--branches", "longest", "--no-others", "--merge", "--pairs", "all", "--unseen"),
        *("--dev-from", "2018-01-01", "--test-from", "2019-01-01", "--format", "reddit", "--field", "user=author.name"),
        *("--examples", "2", "--compress", "gz"),
    ).plain()  # fmt: skip
    plain = Settings().plain()
    same = {
        (group, name)
        for group, values in chosen.items()
        if isinstance(values, dict)
        for name, value in values.items()
        if value == plain[group][name]
    }
    assert same == {("cleaning", "need_time")}  # follows from the split
    assert chosen["bots"]["users"] == ["a", "x"]
    assert chosen["fields"] == [["user", "author.name"]]
    assert (chosen["format"], chosen["examples"], chosen["compression"]) == ("reddit", 2, "gz")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "nowhere.jsonl", "-o", "c"], "no file or folder 'nowhere.jsonl'"),
        (["build", "posts.jsonl", "-o", "c", "--lang", "xx"], "no script known for language 'xx'"),
        (["build", "posts.jsonl", "-o", "c", "--format", "redit"], "unknown format 'redit'; did you mean 'reddit'?"),
        (["build", "posts.jsonl", "-o", "c", "--split", "half"], "cannot read the shares 'half'"),
        (["build", "posts.jsonl", "-o", "c", "--split", "0.5,0.5"], "shares must be three that add up to 1"),
        (["build", "posts.jsonl", "-o", "c", "--field", "who=x"], "cannot read --field 'who=x'"),
        (["build", "posts.jsonl", "-o", "c", "--memory", "lots"], "cannot use 'lots' as a limit of memory"),
        (["build", "posts.jsonl", "-o", "posts.jsonl"], "the output 'posts.jsonl' is also an input"),
        (["build", ".", "-o", "posts.jsonl"], "posts.jsonl lies in a folder of logs"),
        (["show", "."], "cannot read corpus.json"),
        (["import", "dailydialogue", "-o", "d"], "unknown dataset 'dailydialogue'; did you mean 'dailydialog'?"),
        (["import", "kdconv", "nowhere", "-o", "d"], "no file or folder 'nowhere'"),
        (["pairs", "nowhere.jsonl", "-o", "p.jsonl"], "cannot read nowhere.jsonl"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(log: Path, capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["corpus", *arguments, *(["--quiet"] if arguments[0] == "build" else [])]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert {path.name for path in Path().iterdir()} == {"posts.jsonl"}


def test_a_missing_extra_is_named(log: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["corpus", "build", "posts.jsonl", "-o", "corpus", *QUICK]) == 2
    assert str(MissingDependencyError("interloq corpus build", "duckdb", "corpus")) in capsys.readouterr().err
    assert not Path("corpus").exists()


def test_import_and_pairs(folder: Path, capsys: Captured) -> None:
    for theirs in ("train", "test"):
        path = folder / "dd" / theirs / f"dialogues_{theirs}.txt"
        path.parent.mkdir(parents=True)
        path.write_text("Hi . __eou__ Hello . __eou__ Bye . __eou__\n" * 2)
    facts = json.loads(run(capsys, "import", "dailydialog", "dd", "-o", "out", "--compress", "none", "--json"))
    counts = {"dialogues": 2, "turns": 6, "pairs": 4, "group_pairs": 0}
    assert facts["parts"] == {"test": counts, "train": counts}
    assert len(load("out/train/pairs.jsonl", kind="pairs", strict=True)) == 4
    written = header("out/train/dialogues.jsonl")
    assert (written["corpus"], written["part"], written["source"]) == ("dailydialog", "train", facts["source"])
    shown = run(capsys, "import", "dailydialog", "dd", "-o", "again")
    assert "pairs in groups" in shown
    assert run(capsys, "pairs", "out/train/dialogues.jsonl", "-o", "pairs.jsonl.gz") == "4 pairs\n"
    first, again = load("pairs.jsonl.gz", kind="pairs"), load("out/train/pairs.jsonl", kind="pairs")
    assert first == again


def test_pairs_counts_bad_lines(folder: Path, capsys: Captured) -> None:
    Path("d.jsonl").write_text('{"id": "1", "turns": ["a", "b"]}\n{"turns": 5}\n')
    assert json.loads(run(capsys, "pairs", "d.jsonl", "-o", "p.jsonl", "--json", code=1)) == {
        "pairs": 1,
        "bad_lines": 1,
    }


def test_build_reads_a_pipe(log: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    with log.open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        facts = json.loads(run(capsys, "build", "-", "-o", "corpus", "--json", *QUICK))
    assert facts["posts"]["read"] == 800


def test_help_lists_the_options(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", "build", "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for option in ("--lang", "--duplicates", "--pairs", "--dev-from", "--workers", "--memory", "--fresh"):
        assert option in shown
