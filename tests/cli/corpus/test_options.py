"""Options of the verb corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.cli import corpus as verb
from interloq.cli.corpus.options import MOVED, settings
from interloq.cli.main import main
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.settings import CorpusSettings, default_toml, keys
from interloq.data.corpus.split import Split
from tests.cli.made_runs import run_corpus
from tests.made_posts import made_posts, write_posts

pytest.importorskip("duckdb")


Captured = pytest.CaptureFixture[str]


@pytest.fixture
def log(folder: Path) -> Path:
    return write_posts(folder / "posts.jsonl", made_posts(800))


def parsed(*arguments: str) -> CorpusSettings:
    import argparse

    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    chosen: CorpusSettings = settings(parser.parse_args(["build", "posts.jsonl", "-o", "corpus", *arguments]))
    return chosen


def test_defaults_are_those_of_the_settings() -> None:
    assert parsed() == CorpusSettings()


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
    assert chosen.shape == DialogueShape(users=0, min_posts=4, pairs="all", merge=True)
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
    assert run_corpus(capsys, "settings") == default_toml()
