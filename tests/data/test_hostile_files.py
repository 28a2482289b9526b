"""Files made to do harm: records of the wrong shape, archives that expand without end, links that lead out."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from interloq.data import archives
from interloq.data.archives import read_files
from interloq.data.corpus.formats import read_piece
from interloq.data.corpus.shards import Logs
from interloq.data.files import read_json, read_small, reading_saved
from interloq.data.system_scores import read_system_scores
from interloq.errors import InputError, short_repr

PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def read_log(path: Path, *, format: str = "auto") -> tuple[list[str], list[tuple[int, str]]]:
    """Texts of the posts, and what was set aside."""
    rejected: list[tuple[int, str]] = []
    pieces = [piece for shard in Logs([path], format, {}).shards() for piece in shard.pieces]
    posts = [p for piece in pieces for p in read_piece(piece, lambda n, _, e: rejected.append((n, e.what)))]
    return [post.text for post in posts], rejected


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ({"referenced_tweets": [{"type": [1], "id": "1"}]}, "type must be text, got [1]"),
        ({"referenced_tweets": [7]}, "a referenced post must be an object, got 7"),
        ({"referenced_tweets": 7}, "referenced_tweets must be a list, got 7"),
        ({"created_at": "9" * 5000}, "cannot read the time"),
        ({"created_at": "Wed Oct 10 20:19:24 -9999 9999"}, "cannot read the time"),
    ],
)
def test_a_malformed_post_costs_itself_alone(tmp_path: Path, bad: dict[str, Any], what: str) -> None:
    good = {"id": "1", "author_id": "a", "text": "hello"}
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in (good, {**good, **bad}, good)))
    texts, rejected = read_log(path, format="twitter")
    assert (texts, [n for n, _ in rejected]) == (["hello", "hello"], [2])
    assert rejected[0][1].startswith(what)


def test_a_malformed_post_of_an_answer_costs_itself_alone(tmp_path: Path) -> None:
    good = {"id": "1", "author_id": "a", "text": "hello"}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"data": [good, {**good, "text": {}}, 5, good], "meta": {}}))
    texts, rejected = read_log(path)
    assert texts == ["hello", "hello"]
    assert [what for _, what in rejected] == ["text must be text, got {}", "expected a post, got 5"]


@pytest.mark.parametrize("text", [[["x"]], [{"text": ["x"]}], [1.5], {}])
def test_a_malformed_message_costs_itself_alone(tmp_path: Path, text: object) -> None:
    messages: list[dict[str, Any]] = [
        {"id": i, "from_id": "u", "date_unixtime": "1600000000", "text": "hello"} for i in range(1, 4)
    ]
    messages[1]["text"] = text
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"id": 1, "messages": messages}))
    texts, rejected = read_log(path)
    assert (texts, [n for n, _ in rejected]) == (["hello", "hello"], [2])


@pytest.mark.parametrize(
    ("lines", "format"),
    [
        (["12/31/20, 10:15 PM - Ann: hello", "45/45/20, 10:15 PM - Ann: x", "12/31/20, 10:16 PM - Ann: hello"], ""),
        (["[2020-01-01 10:00] <ann> hello", "[2020-99-99 10:00] <ann> x", "[2020-01-01 10:00] <ann> hello"], ""),
    ],
)
def test_a_date_that_does_not_exist_costs_its_line_alone(tmp_path: Path, lines: list[str], format: str) -> None:
    path = tmp_path / "day-20209999.txt"
    path.write_text("\n".join(lines))
    texts, rejected = read_log(path, format=format or "auto")
    assert (texts, [n for n, _ in rejected]) == (["hello", "hello"], [2])


def test_open_quotes_in_every_row_cost_no_hour(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,user,text\n1,ann,hello\n" + 'b","\n' * 20_000)
    texts, rejected = read_log(path)
    assert texts == ["hello"]
    assert len(rejected) == 20_000


def test_a_file_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    for suffix, pack in PACKED.items():
        path = tmp_path / f"scores.json{suffix}"
        path.write_bytes(pack(b"[" * 2_000_000))
        with pytest.raises(InputError, match="holds more than 1 MiB"):
            read_small(path, limit=2**20)
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(InputError, match="damaged or cut off"):
            read_small(path)


def test_deep_nesting_is_an_error_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
    for read in (read_system_scores, read_json):
        with pytest.raises(InputError, match="not valid JSON"):
            read(path)
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert len(short_repr(deep)) <= 60
    assert short_repr("x" * 1000).startswith("'xxx")


def test_what_saved_files_lack_is_said_in_one_line() -> None:
    with pytest.raises(InputError, match=r"^folder: the saved files are damaged: 'sizes' is missing; copy"), _damaged():
        raise KeyError("sizes")
    with pytest.raises(InputError, match=r"^folder: the saved files are damaged: first second; copy"), _damaged():
        raise RuntimeError("first\nsecond")
    with pytest.raises(InputError, match=r"^as it is$"), _damaged():
        raise InputError("as it is")


def _damaged() -> Any:
    return reading_saved("folder")


# ---- archives --------------------------------------------------------------------------------------------------------


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for info, data in members:
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return path


def member(name: str, type: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = type, target
    return info


def test_links_and_paths_that_lead_out_of_an_archive_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "fed_data.json"
    secret.write_text('["secret"]')
    path = archive(
        tmp_path / "fed.tar.gz",
        (member("x/fed_data.json", tarfile.SYMTYPE, str(secret)), b""),
        (member("y/fed_data.json", tarfile.LNKTYPE, "../../fed_data.json"), b""),
        (member("../../fed_data.json"), b"[]"),
    )
    (found,) = read_files(path, ["fed_data.json"])
    assert found.data == b"[]"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["fed.tar.gz", "fed_data.json"]


def test_an_archive_is_bounded_by_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.tar.gz", *((member(f"{i}.txt"), b"x" * 1000) for i in range(9)))
    monkeypatch.setattr(archives, "MAX_MEMBERS", 8)
    with pytest.raises(InputError, match="the archive holds more than 8 files"):
        read_files(path, ["*.txt"])
    monkeypatch.setattr(archives, "MAX_MEMBERS", 9)
    monkeypatch.setattr(archives, "MAX_DATASET", 5000)
    with pytest.raises(InputError, match="the dataset holds more than"):
        read_files(path, ["*.txt"])
    monkeypatch.setattr(archives, "MAX_FILE", 999)
    with pytest.raises(InputError, match=r"0\.txt holds more than|a header claims"):
        read_files(path, ["*.txt"])


def test_a_header_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    info = member("long name", tarfile.GNUTYPE_LONGNAME)
    info.size = 2**33
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2**20)))
    with pytest.raises(InputError, match="a header claims 8,589,9"):
        read_files(path, ["*.txt"])
