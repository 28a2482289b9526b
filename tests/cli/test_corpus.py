from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from interloq.cli import corpus as verb
from interloq.cli.corpus_options import MOVED, settings
from interloq.cli.main import main
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import Shape
from interloq.data.corpus.settings import Settings
from interloq.data.corpus.settings_file import default_toml, keys
from interloq.data.corpus.split import Split
from interloq.data.jsonl import header, load
from interloq.errors import MissingDependencyError
from tests.made_posts import made_posts, write_posts

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
    Path("c.toml").write_text("[joining]\norphans = true\n")
    shown = run(capsys, "build", "posts.jsonl", "-o", "corpus", "--settings", "c.toml", "--pairs", "all", *QUICK)
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


def test_flags_override_the_settings_file(folder: Path) -> None:
    Path("c.toml").write_text("""
        compression = "gz"
        [cleaning]
        lang = "ja"
        [shape]
        users = 3
        merge = true
        [split]
        dev_from = "2018-01-01"
        test_from = "2019-01-01"
        [fields]
        user = "who"
        text = "said"
    """)
    plain = parsed("--settings", "c.toml")
    assert (plain.cleaning.lang, plain.shape.users, plain.split.shares, plain.compression) == ("ja", 3, (), "gz")
    chosen = parsed(
        *("--settings", "c.toml", "--lang", "en", "--users", "0", "--min-posts", "4", "--pairs", "all"),
        *("--format", "reddit", "--field", "user=author.name", "--split", "0.5,0.25,0.25", "--compress", "none"),
    )
    assert chosen.cleaning == Cleaning(lang="en")
    assert chosen.shape == Shape(users=0, min_posts=4, pairs="all", merge=True)
    assert chosen.split == Split((0.5, 0.25, 0.25))
    assert chosen.fields == (("text", "said"), ("user", "author.name"))
    assert (chosen.format, chosen.compression) == ("reddit", "none")


@pytest.mark.parametrize("flag", MOVED)
def test_earlier_flags_name_their_key(log: Path, capsys: Captured, flag: str) -> None:
    assert main(["corpus", "build", "posts.jsonl", "-o", "c", flag, "1"]) == 2
    group, _, field = MOVED[flag].rpartition(".")
    said = capsys.readouterr().err
    place = f"{field} under [{group}]" if group else field
    assert f"{flag} is no longer an option but a setting; set {place} in a file" in said
    assert MOVED[flag] in keys()


def test_settings_are_printed(capsys: Captured) -> None:
    assert run(capsys, "settings") == default_toml()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "nowhere.jsonl", "-o", "c"], "no file or folder 'nowhere.jsonl'"),
        (["build", "posts.jsonl", "-o", "c", "--lang", "xx"], "no script known for language 'xx'"),
        (["build", "posts.jsonl", "-o", "c", "--format", "redit"], "unknown format 'redit'; did you mean 'reddit'?"),
        (["build", "posts.jsonl", "-o", "c", "--split", "half"], "cannot read --split 'half'"),
        (["build", "posts.jsonl", "-o", "c", "--split", "0.5,0.5"], "shares must be three that add up to 1"),
        (["build", "posts.jsonl", "-o", "c", "--field", "who=x"], "posts have no 'who'; "),
        (["build", "posts.jsonl", "-o", "c", "--field", "user"], "cannot read --field 'user'"),
        (["build", "posts.jsonl", "-o", "c", "--settings", "no.toml"], "cannot read no.toml"),
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
    for option in ("--settings", "--lang", "--pairs", "--split", "--workers", "--memory", "--fresh"):
        assert option in shown
