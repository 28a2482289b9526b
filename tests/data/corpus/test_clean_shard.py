"""One shard, cleaned: what is kept, counted and shown."""

from __future__ import annotations

import gc
from pathlib import Path

import orjson
import pytest

from interloq import InputError
from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.clean_shard import clean_shard, cut, read_counts
from interloq.data.corpus.shards import Logs
from tests.data.corpus.made_logs import OWN, lines

duckdb = pytest.importorskip("duckdb")


def cleaned(folder: Path, *values: object, strict: bool = False) -> Path:
    (shard,) = Logs([lines(folder / "posts.jsonl", *values)], "auto", {}).shards()
    clean_shard(shard, Cleaning(), folder, 2, strict)
    return folder


def test_posts_are_kept_dropped_or_set_aside_and_counted(tmp_path: Path) -> None:
    blank = [OWN | {"id": f"b{i}", "text": " "} for i in range(3)]
    folder = cleaned(tmp_path, OWN | {"text": "good morning"}, b"{broken\n", *blank)
    counts = read_counts(folder, 0)
    assert counts is not None
    assert (sum(counts["read"].values()), counts["kept"], counts["rejected"]) == (4, 1, 1)
    assert sum(counts["dropped"].values()) == 3
    (examples,) = counts["examples"].values()
    assert [example["id"] for example in examples] == ["b0", "b1"], "as many as asked for"
    (text,) = duckdb.execute("SELECT text FROM read_parquet(?)", [str(folder / "000000.parquet")]).fetchall()
    assert text == ("good morning",)
    (bad,) = map(orjson.loads, (folder / "000000.rejected").read_bytes().splitlines())
    assert (bad["where"].split(":")[-1], bad["line"]) == ("2", "{broken")


def test_the_counts_are_there_only_when_all_is_written(tmp_path: Path) -> None:
    assert read_counts(tmp_path, 0) is None
    with pytest.raises(InputError, match=r"posts\.jsonl:2"):
        cleaned(tmp_path, OWN, b"{broken\n", strict=True)
    assert read_counts(tmp_path, 0) is None
    assert gc.isenabled()


def test_long_examples_are_cut() -> None:
    assert cut("a" * 200) == "a" * 200
    assert cut("a" * 201) == "a" * 199 + "…"
