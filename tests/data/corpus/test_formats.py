"""Logs of every format, read from files; nothing that is wrong with a line stops the others."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from interloq.data.corpus.formats import READERS, guess_format, read_piece
from interloq.data.corpus.shards import Logs
from interloq.errors import InputError
from tests.data.corpus.made_logs import IRC, OWN, V1, V2, lines, read
from tests.published_layouts import packed


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".zst", zstandard.compress)]
)
def test_compressed_files_are_read_and_truncated_ones_named(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(pack(b"\xef\xbb\xbf" + json.dumps(OWN).encode() + b"\r\n"))
    assert [post.id for post in read(path)[0]] == ["2"]
    data = "".join(json.dumps(OWN | {"id": str(i), "text": f"{i * 7919}"}) + "\n" for i in range(5000)).encode()
    path.write_bytes(pack(data)[:-2000])
    if suffix:
        with pytest.raises(InputError, match=r"a\.jsonl.*damaged or truncated"):
            read(path)


def test_a_json_list_is_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([OWN, OWN | {"id": "3"}, 5], indent=1))
    posts, rejects = read(tmp_path / "a.json")
    assert ([post.id for post in posts], rejects) == (["2", "3"], [(3, "expected a JSON object, got int")])


def test_folders_and_archives_pass_over_what_is_no_log(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "day").mkdir(parents=True)
    (folder / "LICENSE.txt").write_text("Everybody may use this.")
    (folder / "README.md").write_text("# Logs")
    (folder / ".hidden.jsonl").write_text("{}")
    (folder / "day" / "2018-10-10.ascii.txt").write_text(IRC)
    (folder / "day" / "2018-10-10.raw.txt").write_text(IRC)
    (folder / "day" / "2018-10-10.tok.txt").write_text("<s> how </s>")
    (folder / "day" / "2018-10-10.annotation.txt").write_text("0 2 -\n0 3 -\n")
    lines(folder / "more.jsonl", OWN | {"id": "9"})
    for path in (folder, packed(folder), packed(folder, ".tar.xz")):
        logs = Logs([path])
        posts = [p for s in logs.shards() for piece in s.pieces for p in read_piece(piece, lambda *_: None)]
        links = {post.id: post.reply_to for post in posts if not post.shape}
        first = "day/2018-10-10"
        assert links == {
            f"{first}:0": "",
            f"{first}:2": f"{first}:0",
            f"{first}:3": f"{first}:0",
            f"{first}:6": "",
            "9": "1",
        }
        assert [Path(name).name for name in logs.passed_over] == ["LICENSE.txt"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "just prose\n", "cannot detect the format of this log"),
        ("a.csv", "id,words\n1,2\n", "no field for the user of a post"),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_file_in_utf_16_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("id,user,text\n1,ann,hello\n", encoding="utf-16")
    with pytest.raises(InputError, match="the file is in UTF-16; save it as UTF-8"):
        read(tmp_path / name)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file or folder"):
        read(tmp_path / "nowhere.jsonl")


def test_formats_are_told_by_the_first_lines() -> None:
    assert guess_format(b'{"id": "1", "user": "a", "text": "b"}\n', ".jsonl") == "posts"
    assert guess_format(json.dumps(V1).encode(), ".json") == "twitter"
    assert guess_format(b"{broken\n" + json.dumps(V2).encode(), "") == "twitter"
    assert guess_format(b"[" + json.dumps(V2).encode() + b"]", "") == "twitter"
    assert guess_format(b"[12:00] <ann> hi", ".txt") == "irc"
    assert guess_format(b"", ".tsv") == "table"
    assert guess_format(b"prose", ".txt") == ""
    assert {"posts", "twitter", "reddit", "irc"} <= set(READERS)
