"""Files of any size are opened within bounds."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from interloq.data.files.opening import read_json, read_small, reading_saved, write_text
from interloq.errors import InputError, short_repr
from interloq.rank.rank_file import read_system_scores

PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def test_a_file_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    for suffix, pack in PACKED.items():
        path = tmp_path / f"scores.json{suffix}"
        path.write_bytes(pack(b"[" * 2_000_000))
        with pytest.raises(InputError, match="has more than 1 MiB"):
            read_small(path, limit=2**20)
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(InputError, match="damaged or truncated"):
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


def test_texts_are_written_whatever_they_contain(tmp_path: Path) -> None:
    write_text(tmp_path / "text.md", "naïve \ud800")
    assert (tmp_path / "text.md").read_text(encoding="utf-8") == "naïve ?"


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (KeyError("sizes"), "^folder: the saved files are damaged: 'sizes' is missing; copy"),
        (RuntimeError("first\nsecond"), "^folder: the saved files are damaged: first second; copy"),
        (InputError("as it is"), "^as it is$"),
    ],
)
def test_what_saved_files_lack_is_said_in_one_line(error: Exception, what: str) -> None:
    with pytest.raises(InputError, match=what), reading_saved("folder"):
        raise error
