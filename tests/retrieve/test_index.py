"""An index: what a store and a retriever do together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Sample, SpecError, create, write
from interloq.cli.main import main
from interloq.models.fake import FakeEncoder
from interloq.records import Pair
from interloq.retrieve import index as indexing
from interloq.retrieve.folder.folder_store import Embedded
from interloq.retrieve.index import Index, add_files, create_index, index_files, open_index, read_pairs
from interloq.retrieve.retrieve_options import AddPairsOptions, IndexOptions
from interloq.retrieve.retriever import Query, Words
from interloq.shards.shard_options import ShardOptions
from interloq.shards.task import ShareComputed
from tests.retrieve.made_index import made

PAIRS = [Pair(str(i), f"how is the {word}", f"the {word} is fine") for i, word in enumerate(["cat", "dog", "sea"])]


def test_what_was_there_before_counts_as_done(tmp_path: Path) -> None:
    index, seen = create_index(tmp_path / "index", "bm25"), list[int]()
    index.add(PAIRS[:2], source="log")
    index.add(PAIRS, source="log", progress=seen.append)
    assert seen == [2, 1]


def test_k_is_positive(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="k must be at least 1, got 0"):
        create_index(tmp_path / "index", "bm25").search([Query("a")], k=0)


class Remembering:
    """A store of another package, which has only some of the methods of `Store`."""

    def __init__(self) -> None:
        self.added: list[Pair] = []

    def add(self, pairs: Sequence[Pair], *_: object, **__: object) -> None:
        self.added += pairs

    def sources(self) -> dict[str, int]:
        return {}


@dataclass(frozen=True)
class Plain:
    """A retriever of another package, which has only the method that it needs."""

    def encode(self, texts: Sequence[str]) -> Words:
        words: Words = create("bm25").encode(texts)
        return words


def test_stores_and_retrievers_of_others_get_the_defaults() -> None:
    index = Index(Remembering(), Plain())  # type: ignore[arg-type]
    assert index.add(PAIRS, source="log") == 3
    assert index.store.added == PAIRS  # type: ignore[attr-defined]
    assert (index.store.segments, index.retriever.encoder, index.retriever.target) == (0, "", "utterance")


def test_an_unknown_retriever_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        create_index(tmp_path / "index", "bm26")
    assert not (tmp_path / "index").exists()


@pytest.fixture
def files(folder: Path) -> Path:
    write("pairs.jsonl", [Pair(f"p{w}", f"how was the {w}", f"the {w} was fine") for w in "abcdefgh"], kind="pairs")
    write("samples.jsonl", [Sample(w, [f"how was the {w}"], "fine", ["good"]) for w in "abcd"], kind="samples")
    return folder


def test_an_index_contains_a_file_once(files: Path) -> None:
    index, (first,) = index_files(["pairs.jsonl"], "index", IndexOptions(retriever="bm25", without=["samples.jsonl"]))
    assert (first.before, first.added, first.excluded) == (0, 4, {"utterance": 4})
    (again,) = add_files(index, ["pairs.jsonl"], AddPairsOptions(without=["samples.jsonl"]))
    assert (again.before, again.added) == (4, 0)
    with pytest.raises(InputError, match="already in the index, with other samples"):
        add_files(index, ["pairs.jsonl"])


def test_nothing_is_made_of_what_cannot_be_read_again(files: Path) -> None:
    for pairs, segment in (("-", None), ("absent.jsonl", None), ("pairs.jsonl", 0)):
        with pytest.raises(InputError):
            index_files([pairs], "index", IndexOptions(retriever="bm25", segment=segment))
    assert not (files / "index").exists()


def test_pairs_without_ids_are_named_by_file_and_line(files: Path) -> None:
    (files / "raw.jsonl").write_text('{"utterance": "a", "response": "b"}\n{"utterance": "c", "response": "d"}\n')
    assert [pair.id for pair in read_pairs("raw.jsonl")] == ["raw:1", "raw:2"]
    assert next(read_pairs("pairs.jsonl")).id == "pa"


def content(folder: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def build(name: str, **shards: Any) -> dict[str, bytes]:
    options = IndexOptions(retriever="dense(encoder='fake32',target='both')", segment=50, exact_up_to=60)
    index_files(["one.jsonl", "two.jsonl"], name, options, shards=ShardOptions(**shards))
    return content(name)


@pytest.fixture
def logs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write("one.jsonl", made(120), kind="pairs")
    write("two.jsonl", made(30, seed=1), kind="pairs")
    monkeypatch.setattr(indexing, "ENCODED", 16)
    return folder


def test_an_index_does_not_depend_on_who_encodes_it(logs: Path) -> None:
    plain = build("plain")
    assert build("workers", workers=2) == plain
    for i in (1, 2, 3):
        with pytest.raises(ShareComputed):
            build("shares", shard=f"{i}/3", parts="parts")
    assert not Path("shares").exists()
    assert build("shares", parts="parts", only_join=True) == plain
    names = sorted(path.name.partition("-")[0] for path in logs.glob("parts/*.shard"))
    assert names == ["file1"] * 10 + ["file2"] * 2  # segments of 50, 50 and 20 pairs, then of 30
    assert {path.name for path in logs.glob("*parts*")} == {"parts"}


def test_a_killed_build_stores_what_was_encoded(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, encoded = build("plain"), list[int]()
    add, encode = Embedded.add, FakeEncoder.sentences

    def stop(store: Embedded, pairs: Sequence[Pair], *args: Any, **facts: Any) -> None:
        if facts["consumed"] == 100:
            raise KeyboardInterrupt
        add(store, pairs, *args, **facts)

    def count(encoder: FakeEncoder, texts: Sequence[str], **options: Any) -> Any:
        encoded.append(len(texts))
        return encode(encoder, texts, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Embedded, "add", stop)
        with pytest.raises(KeyboardInterrupt):
            build("killed", parts="parts")
    with monkeypatch.context() as patch:
        patch.setattr(FakeEncoder, "sentences", count)
        assert build("killed", parts="parts") == plain
    assert sum(encoded) <= 2 * 30 + 100  # the second file, and the texts that measure the recall


def test_what_needs_no_encoder_is_not_cut(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["index", "build", "one.jsonl", "-o", "index", "--retriever"]
    assert main([*command, "bm25", "--workers", "2"]) == 2
    assert "bm25 encodes texts in seconds: only transformers encode them in shards" in capsys.readouterr().err
    dense = [*command, "dense(encoder='fake32')", "--parts", "parts", "--quiet"]
    assert main([*dense, "--shard", "1/2"]) == 0
    assert main(["data", "join", "parts"]) == 2
    assert "of 8 shards are missing" in capsys.readouterr().err
    assert main([*dense, "--shard", "2/2"]) == 0
    assert main(["data", "join", "parts"]) == 0
    assert len(open_index("index").store) == 120
