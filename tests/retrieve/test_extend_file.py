"""Samples of a file with further references."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, load
from interloq.data.records.jsonl import header
from interloq.retrieve.extend_file import extend_file
from interloq.retrieve.folder.index_files import index_files


@pytest.fixture
def index(files: Path) -> str:
    index_files(["pairs.jsonl"], "index", retriever="bm25")
    return "index"


def test_references_are_added_and_earlier_extensions_remembered(index: str) -> None:
    first = extend_file("samples.jsonl", "one.jsonl", index=index, k=1, parrot=False)
    second = extend_file("one.jsonl", "two.jsonl", index=index, k=2)
    assert [len(sample.references) for sample in load("one.jsonl")] == [2] * 4
    assert first["signature"] != second["signature"]
    told = header("two.jsonl")
    assert len(told["extended"]) == 2
    assert told["source"] == "made"
    assert told["extended"][1]["counts"] == second["counts"]


def test_excluded_ids_do_not_come_back(index: str, files: Path) -> None:
    (files / "ids.txt").write_text("p0\n\np1\n")
    facts = extend_file("samples.jsonl", "out.jsonl", index=index, k=9, exclude="ids.txt")
    sources = {reference.source for sample in load("out.jsonl") for reference in sample.references}
    assert "retrieved:p2" in sources
    assert not {"retrieved:p0", "retrieved:p1"} & sources
    assert facts["signature"] != extend_file("samples.jsonl", "all.jsonl", index=index, k=9)["signature"]


def test_without_an_index_nothing_is_written(files: Path) -> None:
    with pytest.raises(InputError):
        extend_file("samples.jsonl", "out.jsonl", index="absent")
    assert not (files / "out.jsonl").exists()
