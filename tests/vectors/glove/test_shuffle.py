"""Shuffled counts in blocks that threads can read at once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from interloq.vectors.glove.shuffle import BLOCKS, Chunks
from tests.vectors.glove.made_glove import changed, topical_texts, trained_on


def test_blocks_of_a_diagonal_share_no_word(tmp_path: Path, kept_work: None) -> None:
    trained_on(topical_texts(300), tmp_path / "out", changed(epochs=1))
    chunks = Chunks.load(tmp_path / "out" / "work")
    assert chunks is not None
    chunk = chunks.chunk(0)
    for diagonal in range(BLOCKS):
        for side in (chunk.rows, chunk.columns):
            ends = chunk.ends[diagonal * BLOCKS : (diagonal + 1) * BLOCKS + 1]
            sets = [set(side[a:b].tolist()) for a, b in pairwise(ends)]
            assert sum(len(s) for s in sets) == len(set().union(*sets))
    assert chunk.ends[-1] == chunks.entries
