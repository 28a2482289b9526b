"""Logs are cut at line ends, the same way however they are stored, and no line can fill the memory."""

from __future__ import annotations

import json
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.data.corpus.formats import read_piece
from interloq.data.corpus.shards import Logs, _end_of_rows, open_logs
from interloq.data.files import opening as files


def posts(n: int, *, length: int = 40) -> bytes:
    return b"".join(
        json.dumps({"id": str(i), "user": f"u{i % 3}", "text": "x" * (i % length)}).encode() + b"\n" for i in range(n)
    )


def pieces(path: Path, block: int) -> list[tuple[int, bytes]]:
    return [(piece.first_line, piece.data) for shard in Logs([path], block=block).shards() for piece in shard.pieces]


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 400), block=st.integers(1, 20_000), last_end=st.booleans())
def test_nothing_is_lost_and_every_line_is_whole(
    tmp_path_factory: pytest.TempPathFactory, n: int, block: int, last_end: bool
) -> None:
    path = tmp_path_factory.mktemp("logs") / "a.jsonl"
    data = posts(n)
    path.write_bytes(data if last_end else data[:-1])
    found = pieces(path, block)
    assert b"".join(data for _, data in found) == path.read_bytes()
    line = 1
    for first, data in found:
        assert first == line
        assert all(json.loads(text) for text in data.splitlines())
        line += data.count(b"\n")


@pytest.mark.parametrize("block", [50, 1000, 10**6])
def test_rows_of_tables_are_cut_outside_quotes(tmp_path: Path, block: int) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f'{i},ann,"line one\nline ""two"" of {i}"\n' for i in range(200))
    path.write_text("id,user,text\n" + rows)
    found = [
        post.text
        for shard in Logs([path], block=block).shards()
        for piece in shard.pieces
        for post in read_piece(piece, lambda *_: pytest.fail("a good row was set aside"))
    ]
    assert found == [f'line one\nline "two" of {i}' for i in range(200)]


def test_small_files_share_a_shard_and_large_ones_do_not(tmp_path: Path) -> None:
    for i in range(10):
        (tmp_path / f"{i}.jsonl").write_bytes(posts(10))
    size = len(posts(10))
    shards = list(Logs([tmp_path], block=10 * size).shards())
    assert [len(shard.pieces) for shard in shards] == [5, 5]
    assert [shard.number for shard in shards] == [0, 1]
    assert shards[-1].read == 10 * size


def test_digests_name_all_that_was_read_so_far(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    data = posts(300)
    path.write_bytes(data)
    before = [shard.digest for shard in Logs([path], block=2000).shards()]
    place = data.index(b'"u', len(data) // 2) + 1  # a name in the middle
    path.write_bytes(data[:place] + b"v" + data[place + 1 :])
    after = [shard.digest for shard in Logs([path], block=2000).shards()]
    changed = [old != new for old, new in zip(before, after, strict=True)]
    first = changed.index(True)
    assert 0 < first < len(changed) - 1
    assert all(changed[first:])


def test_fingerprints_forget_names_and_cuts(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(posts(50))
    (tmp_path / "b.jsonl").write_bytes(posts(50))
    prints: list[str] = []
    for name, block in (("a", 100), ("b", 10**6)):
        logs = Logs([tmp_path / f"{name}.jsonl"], block=block)
        assert list(logs.shards())
        prints += logs.fingerprints.values()
    assert prints[0] == prints[1]


@pytest.mark.parametrize("block", [1024, 10_000])
def test_a_huge_line_is_cut_and_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 50_000)
    path = tmp_path / "a.jsonl"
    huge = b'{"id": "h", "user": "ann", "text": "' + b"x" * 3_000_000 + b'"}\n'
    path.write_bytes(posts(5) + huge + posts(3))
    found = [piece for shard in Logs([path], block=block).shards() for piece in shard.pieces]
    assert max(len(piece.data) for piece in found) <= 2**18  # the head that tells the format
    bad: list[tuple[int, str]] = []
    read = [post for piece in found for post in read_piece(piece, lambda n, _, error: bad.append((n, error.what)))]
    assert [post.id for post in read] == ["0", "1", "2", "3", "4", "0", "1", "2"]
    assert bad == [(6, "the line is longer than 50,000 bytes")]
    assert found[-1].first_line == 7


def test_rows_after_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    rows = b'0,"ann,hello there you,1\n' + b"".join(b"%d,bob,good morning all,2\n" % i for i in range(1, 200_000))
    assert _end_of_rows(rows) == len(rows)
    assert _end_of_rows(rows[:1000]) == 0  # a long cell, as far as can be told
    assert _end_of_rows(b'1,"two\nlines",3\n2,"') == len(b'1,"two\nlines",3\n')


def test_what_a_few_packed_bytes_stand_for_is_never_held_whole(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.jsonl.zst"
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as writer:
        for _ in range(400):
            writer.write(b"x" * 2**20)
    tracemalloc.start()
    read = sum(len(data) for source in open_logs([path]) for data in iter(partial(source.stream.read, 2**20), b""))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read == 400 * 2**20
    assert peak < 150 * 2**20
