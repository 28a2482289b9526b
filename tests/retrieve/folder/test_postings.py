"""BM25 over segments equals the formula over all texts."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import create
from interloq.retrieve.folder.postings import Postings, PostingSegment, rank, score, search, store_impacts
from interloq.retrieve.retriever import NOTHING, best
from tests.conftest import missing

RETRIEVER = create("bm25(tokenizer='whitespace')")


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=12).map(" ".join)


def literal(texts: list[str], query: str, k1: float, b: float) -> list[float]:
    """The formula, one text and one word at a time."""
    documents = [Counter(text.split()) for text in texts]
    lengths = [len(text.split()) for text in texts]
    mean = sum(lengths) / len(texts)
    scores = []
    for document, length in zip(documents, lengths, strict=True):
        total = 0.0
        for word in query.split():
            df = sum(word in other for other in documents)
            tf = document[word]
            if tf:
                idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                total += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean))
        scores.append(total)
    return scores


def saved(folder: Path, texts: list[str], cuts: list[int]) -> list[Path]:
    folders = []
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(texts)], strict=True)):
        part = folder / str(i)
        part.mkdir(parents=True)
        Postings.of(RETRIEVER.encode(texts[start:stop])).save(part)
        folders.append(part)
    return folders


@settings(deadline=None, max_examples=60)
@given(texts=st.lists(WORDS, min_size=2, max_size=12), query=WORDS, data=st.data())
def test_scores_are_those_of_the_formula(
    texts: list[str], query: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cut = data.draw(st.integers(1, len(texts) - 1))
    folders = saved(tmp_path_factory.mktemp("segments"), texts, [cut])
    ranking = rank(folders, k1=1.2, b=0.75)
    segments = [PostingSegment(folder, ranking) for folder in folders]
    expected = (
        np.array(literal(texts, query, 1.2, 0.75)) if any(text.split() for text in texts) else np.zeros(len(texts))
    )
    words = RETRIEVER.encode([query])
    given_ids = np.arange(len(texts))[None]
    assert score(segments, words, ranking, given_ids)[0] == pytest.approx(expected, abs=1e-4)
    ids, scores = best(*search(segments, words, ranking, len(texts)), len(texts))
    found = {int(i): float(s) for i, s in zip(ids[0], scores[0], strict=True) if i != NOTHING}
    assert found == pytest.approx({i: s for i, s in enumerate(expected) if s > 0}, abs=1e-4)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_a_small_k_keeps_the_best_and_of_equals_the_earlier(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), size=6)) for _ in range(500)]
    (folder,) = saved(tmp_path, texts, [])
    ranking = rank([folder], k1=1.2, b=0.75)
    words = RETRIEVER.encode(["a b c", "h g"])
    segments = [PostingSegment(folder, ranking)]
    full = best(*search(segments, words, ranking, 500), 500)
    for k in (1, 2, 7, 40):
        few = best(*search(segments, words, ranking, k), k)
        assert (few[0] == full[0][:, :k]).all()


def test_stored_impacts_change_nothing_and_old_ones_go(tmp_path: Path) -> None:
    folders = saved(tmp_path, ["a b", "b c c", "d"], [2])
    words = RETRIEVER.encode(["b c"])
    first = rank(folders[:1], k1=1.2, b=0.75)
    store_impacts(folders[0], first)
    both = rank(folders, k1=1.2, b=0.75)
    computed = search([PostingSegment(folder, both) for folder in folders], words, both, 3)
    for folder in folders:
        store_impacts(folder, both)
        assert [path.name for path in folder.glob("impacts-*")] == [both.impacts_file]
    stored = search([PostingSegment(folder, both) for folder in folders], words, both, 3)
    assert (computed[0] == stored[0]).all()
    assert (computed[1] == stored[1]).all()


SEARCHED = """
import sys
if "first" in sys.argv:
    import torch
from pathlib import Path
from interloq import create
from interloq.retrieve.folder.postings import Postings, PostingSegment, rank, search
folder, words = Path(sys.argv[1]), create("bm25(tokenizer='whitespace')").encode(["a b", "b c"])
Postings.of(words).save(folder)
ranking = rank([folder], k1=1.2, b=0.75)
search([PostingSegment(folder, ranking)], words, ranking, 1)
import numba, torch
print(numba.get_num_threads(), torch.get_num_threads())
"""


@pytest.mark.parametrize("order", ["first", "last"])
def test_a_search_leaves_the_threads_of_torch_as_they_are(order: str, tmp_path: Path) -> None:
    """In a process of its own, because numba starts its threads once: 3 of them, and 1 for all others."""
    if find_spec("torch") is None:
        missing("torch")
    threads = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "3"}
    command = [sys.executable, "-c", SEARCHED, str(tmp_path), order]
    done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "1"]
