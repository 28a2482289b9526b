"""A log read as a stream."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from interloq.rate import stream
from interloq.rate.examples import Examples
from interloq.rate.pairs import PARTS
from interloq.records import Pair
from interloq.retrieve.leaks import normalised
from tests.rate.made_log import MODES, content, grouped, log, make, read


def test_texts_that_read_alike_are_one(tmp_path: Path) -> None:
    spellings = [("Wie geht's?", "Gut!"), ("wie gehts", "GUT"), ("WIE  GEHTS", "ｇｕｔ"), ("Wie geht’s", "schlecht")]
    pairs = [*(Pair("", *spelling) for spelling in spellings), *log(1)]
    data = make(pairs, tmp_path / "examples")
    found = [row for part in PARTS for row in read(data, part, 1) if row[0] == "wiegehts"]
    assert [frozenset(row[1::2]) for row in found] == [{"gut", "schlecht"}]
    distinct = sum(len(replies) for replies in grouped(pairs).values())
    assert data.facts["left_out"]["repeated"] == len(pairs) - distinct
    kept = [bytes(data.texts[i].astype(np.uint8)).decode() for i in range(data.facts["texts"])]
    assert len({normalised(text) for text in kept}) == len(kept)
    assert set(kept) <= {text for pair in pairs for text in (pair.utterance, pair.response)}


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_the_log_does_not_matter(
    tmp_path: Path, mode: Literal["any", "matched"], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, chosen = log(7, pairs=600), Examples(most_replies=5, most_positives=4, negatives=mode)
    made = content(make(pairs, tmp_path / "first", chosen).folder)
    for seed in range(3):
        monkeypatch.setattr(stream, "BATCH", 7 + 50 * seed)
        order = np.random.default_rng(seed).permutation(len(pairs))
        again = make([pairs[i] for i in order], tmp_path / str(seed), chosen)
        assert content(again.folder) == made


def test_memory_does_not_grow_with_the_length_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BATCH", 20)

    def peak(length: int) -> float:
        tracemalloc.start()
        pairs = (Pair("", f"{i // 2} {'u' * length}", f"{i} {'r' * length}") for i in range(1000))
        make(pairs, tmp_path / str(length))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / 2**20

    peak(10)  # what is loaded and remembered once
    assert peak(10_000) < peak(100) + 6  # MB; the long texts have 19 MB
