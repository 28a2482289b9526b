"""Builds from published logs, where INTERLOQ_DATA names a folder that holds them, against loops over the raw files."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from pathlib import Path

import pytest

from interloq.data.corpus.build import build
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.settings import BuildOptions, CorpusSettings
from interloq.data.corpus.split import Split
from interloq.data.corpus.threads import BotFilter, Joining
from interloq.data.records.jsonl import load
from tests.data.corpus.made_logs import read

pytest.importorskip("duckdb")
DATA = Path(os.environ.get("INTERLOQ_DATA", ""))
pytestmark = pytest.mark.skipif(
    not os.environ.get("INTERLOQ_DATA"), reason="INTERLOQ_DATA names no folder with the published logs"
)


def test_reddit_links_equal_a_dictionary(tmp_path: Path) -> None:
    log = DATA / "reddit_posts.jsonl.gz"
    with gzip.open(log, "rt", encoding="utf-8") as file:
        posts = [json.loads(line) for line in file]
    by_id = {post["id"]: post for post in reversed(posts)}  # copies of an id are equal here
    pairs = {
        (post["reply_to"][3:], id)
        for id, post in by_id.items()
        if post["reply_to"][3:] in by_id and by_id[post["reply_to"][3:]]["user"] != post["user"]
    }
    settings = CorpusSettings(
        bots=BotFilter(0, 0, 0),
        joining=Joining(orphans=True, duplicates="off"),
        shape=DialogueShape(pairs="all"),
        split=Split(()),
    )
    facts = build([log], tmp_path / "corpus", settings, BuildOptions(workers=1))
    short = {
        name: found["count"]
        for name, found in facts["posts"]["dropped"].items()
        if name in ("empty", "short") and found["count"]
    }
    assert facts["posts"]["read"] == len(posts) == 9_037
    assert facts["posts"]["dropped"]["duplicate_id"]["count"] == len(posts) - len(by_id) == 50
    found = {(pair.to, pair.id) for pair in load(tmp_path / "corpus/pairs.jsonl.zst", kind="pairs")}
    assert found <= pairs
    lost = len(pairs - found)  # with a post that cleaning dropped at one of their ends
    assert 0 < lost <= 3 * sum(short.values())


def test_irc_links_equal_the_annotation() -> None:
    path = next((DATA / name for name in ("ubuntu_irc", "ubuntu_irc.tar.xz") if (DATA / name).exists()), None)
    if path is None:
        pytest.skip("no ubuntu_irc there")
    answering: set[tuple[str, int]] = set()
    spoken: set[tuple[str, int]] = set()
    for name, text in _texts(path):
        stem = name.rsplit("/", 1)[1].split(".annotation")[0].split(".ascii")[0]
        for number, line in enumerate(text.splitlines()):
            if name.endswith(".ascii.txt") and line.startswith("[") and line[8:9] == "<":
                spoken.add((stem, number))
            elif name.endswith(".annotation.txt") and line.split()[0] != line.split()[1]:
                answering.add((stem, max(int(word) for word in line.split()[:2])))
    posts, _ = read(path)
    found = {post.id.split("/", 1)[1] for post in posts if post.reply_to}
    assert found == {f"{stem}:{number}" for stem, number in answering & spoken}
    assert len(found) > 40_000
    assert sum(bool(post.user) for post in posts) == len(spoken)


def _texts(path: Path) -> list[tuple[str, str]]:
    wanted = (".ascii.txt", ".annotation.txt")
    if path.is_dir():
        return [(p.as_posix(), p.read_text("utf-8")) for p in sorted(path.rglob("*.txt")) if p.name.endswith(wanted)]
    with tarfile.open(path) as archive:
        members = [member for member in archive if member.name.endswith(wanted)]
        files = [(member.name, archive.extractfile(member)) for member in members]
        return [(name, file.read().decode("utf-8")) for name, file in files if file]
