"""An index in a folder: exact when small, measured when large, whole whatever happens."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from interloq import InputError, create, write
from interloq.data.files.durable import hold_lock
from interloq.records import Pair
from interloq.retrieve.folder import folder_store as embedded
from interloq.retrieve.folder import vector_lists as lists
from interloq.retrieve.folder.folder_store import Embedded
from interloq.retrieve.folder.vector_scan import CODES
from interloq.retrieve.index import Index, create_index, open_index
from interloq.retrieve.retriever import Query
from tests.retrieve.faiss_lists import build_old_index

WORDS = [f"w{i}" for i in range(60)]


def made(n: int, *, seed: int = 0) -> list[Pair]:
    rng = Random(seed)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(2, 8)))

    return [Pair(f"p{i}", text(), text(), to=f"u{i // 2}", thread=f"t{i // 3}", time="2017-01-01") for i in range(n)]


def found(index: Index, queries: list[Query], k: int = 10) -> list[tuple[list[float], set[str]]]:
    """Scores, and the pairs behind all but the last of them, which may be one of several equals."""
    rows = []
    for hits in index.search(queries, k):
        scores = [round(hit.score, 4) for hit in hits]
        rows.append((scores, {hit.pair.id for hit, score in zip(hits, scores, strict=True) if score > scores[-1]}))
    return rows


PAIRS = made(300)
QUERIES = [Query(pair.utterance, pair.response) for pair in made(20, seed=1)]


def test_a_large_index_is_turned_into_lists_that_reach_the_recall(tmp_path: Path) -> None:
    pairs = made(6000, seed=2)
    index = create_index(tmp_path / "index", "dense(encoder='fake32')", exact_up_to=1000, recall=0.95)
    index.add(pairs[:800], source="small")
    assert index.store.manifest.recall is None, "exact so far"
    index.add(pairs[800:], source="rest", segment=2000)
    assert (open_index(tmp_path / "index").store.manifest.recall or 0) >= 0.95
    folders = sorted((tmp_path / "index" / "segments").iterdir())
    assert len(folders) == 4
    assert all((folder / "utterance" / CODES).exists() for folder in folders), "exact segments were turned"


def test_an_index_of_an_earlier_version_is_searched_and_grows(tmp_path: Path) -> None:
    pairs, queries = made(3000, seed=2), [Query(pair.utterance) for pair in made(20, seed=1)]
    build_old_index(tmp_path / "old", pairs[:2000], exact_up_to=500, segment=1000)
    create_index(tmp_path / "new", "dense(encoder='fake32')", exact_up_to=10_000).add(pairs, source="a")
    old = open_index(tmp_path / "old")
    assert old.add(pairs[2000:], source="b") == 1000
    assert len(list((tmp_path / "old").glob("segments/*/utterance/" + lists.LISTS))) == 3, "it keeps its format"
    found, expected = (open_index(tmp_path / name).search(queries) for name in ("old", "new"))
    good = 0
    for hits, true_hits in zip(found, expected, strict=True):
        good += sum(hit.score >= true_hits[-1].score - 0.01 for hit in hits)  # codes are rounded
    assert good >= 0.9 * sum(map(len, expected))
    assert (open_index(tmp_path / "old").store.manifest.recall or 0) >= 0.95


def test_codes_without_what_they_share_are_not_added_to(tmp_path: Path) -> None:
    index = create_index(tmp_path / "index", "dense(encoder='fake32')", exact_up_to=100)
    index.add(PAIRS, source="a", segment=150)
    (tmp_path / "index" / "utterance.trained.npz").unlink()
    with pytest.raises(InputError, match=r"damaged: missing.*interloq index build"):
        open_index(tmp_path / "index").add(made(50, seed=5), source="b")


PROGRAM = """
import sys
from interloq.data.records.jsonl import read
from interloq.retrieve.folder import folder_store
from interloq.retrieve.index import create_index
folder_store.N_PROBES = 16
index = create_index(sys.argv[2], sys.argv[3], exact_up_to=150)
print("open", flush=True)
index.add(read(sys.argv[1], kind="pairs"), source="log", segment=11)
print("done", flush=True)
"""


@pytest.mark.parametrize("retriever", ["bm25", "dense(encoder='fake32')"])
def test_kill_at_any_point_then_resume(tmp_path: Path, retriever: str) -> None:
    """Nothing lost, nothing twice: the index is the one that an undisturbed run makes."""
    write(tmp_path / "pairs.jsonl", PAIRS, kind="pairs")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "pairs.jsonl"), str(tmp_path / "index"), retriever]
    rng, kills = Random(5), 0
    for attempt in range(40):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            time.sleep(rng.random() * 0.2 * (1 + attempt))
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read()
        if "done" in rest:
            break
        kills += 1
    assert "done" in rest
    assert kills >= 1, "no kill came in time: the test proved nothing"
    index = open_index(tmp_path / "index")
    assert len(index.store) == 300
    assert index.store.pairs(range(300)) == PAIRS
    undisturbed = create_index(tmp_path / "whole", retriever, exact_up_to=150)
    undisturbed.add(PAIRS, source="log", segment=11)
    assert found(index, QUERIES) == found(undisturbed, QUERIES)
    assert index.add(PAIRS, source="log") == 0, "a source that is in is not added again"


def test_folders_that_are_no_index(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep me")
    with pytest.raises(InputError, match="is not empty and is not an index"):
        create_index(tmp_path / "full", "bm25")
    assert (tmp_path / "full" / "mine.txt").exists()


def test_two_writers_are_one_too_many(tmp_path: Path) -> None:
    store = Embedded.create(tmp_path / "index", create("bm25"))
    with hold_lock(store.folder / embedded.LOCK), pytest.raises(InputError, match="another process"):
        store.finish()


def test_a_second_build_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    pairs = made(60)
    first, second = (create_index(tmp_path / "index", "bm25") for _ in range(2))

    def pairs_during_which_another_starts() -> Iterator[Pair]:
        yield from pairs[:30]
        with pytest.raises(InputError, match="another process"):
            second.add(pairs, source="a", segment=20)
        yield from pairs[30:]

    assert first.add(pairs_during_which_another_starts(), source="a", segment=20) == 60
    assert second.add(pairs, source="a", segment=20) == 0  # all are known
    assert len(open_index(tmp_path / "index").store) == 60


def test_readers_go_on_while_pairs_are_added(tmp_path: Path) -> None:
    index = create_index(tmp_path / "index", "dense(encoder='fake32')", exact_up_to=150)
    index.add(PAIRS[:100], source="a")
    reader = open_index(tmp_path / "index")
    before = found(reader, QUERIES)
    index.add(PAIRS[100:], source="b")
    assert found(reader, QUERIES) == before, "what is open stays as it was"
    assert len(open_index(tmp_path / "index").store) == 300
