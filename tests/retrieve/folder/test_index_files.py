"""Files of pairs in an index: each once, without what test samples share."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, write
from interloq.records import Pair
from interloq.retrieve.folder.index_files import add_files, index_files, read_pairs


@pytest.fixture
def files(folder: Path) -> Path:
    write("pairs.jsonl", [Pair(f"p{w}", f"how was the {w}", f"the {w} was fine") for w in "abcdefgh"], kind="pairs")
    write("samples.jsonl", [Sample(w, [f"how was the {w}"], "fine", ["good"]) for w in "abcd"], kind="samples")
    return folder


def test_an_index_contains_a_file_once(files: Path) -> None:
    index, (first,) = index_files(["pairs.jsonl"], "index", retriever="bm25", without=["samples.jsonl"])
    assert (first.before, first.added, first.excluded) == (0, 4, {"utterance": 4})
    (again,) = add_files(index, ["pairs.jsonl"], without=["samples.jsonl"])
    assert (again.before, again.added) == (4, 0)
    with pytest.raises(InputError, match="already in the index, with other samples"):
        add_files(index, ["pairs.jsonl"])


def test_nothing_is_made_of_what_cannot_be_read_again(files: Path) -> None:
    for pairs, segment in (("-", None), ("absent.jsonl", None), ("pairs.jsonl", 0)):
        with pytest.raises(InputError):
            index_files([pairs], "index", retriever="bm25", segment=segment)
    assert not (files / "index").exists()


def test_pairs_without_ids_are_named_by_file_and_line(files: Path) -> None:
    (files / "raw.jsonl").write_text('{"utterance": "a", "response": "b"}\n{"utterance": "c", "response": "d"}\n')
    assert [pair.id for pair in read_pairs("raw.jsonl")] == ["raw:1", "raw:2"]
    assert next(read_pairs("pairs.jsonl")).id == "pa"
