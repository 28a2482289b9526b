"""Greedy matching against loops written out, and that nothing but the pairs changes it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interloq import InputError, Sample
from interloq.data.text.token_texts import spans
from interloq.metrics.contextual import bertscore
from interloq.metrics.contextual import token_matching as matching
from interloq.metrics.contextual.bertscore import BertScore
from interloq.metrics.contextual.token_matching import Idf, f_measure, match, match_layers
from interloq.models.encoder import Encoder
from tests.made_encoder import small_bert


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(str(small_bert(tmp_path_factory.mktemp("bert"))), device="cpu", longest=512)


def looped(encoder: Encoder, reply: str, reference: str, idf: Any = None) -> list[float]:
    """P, R and both with min for max, token by token."""
    if not reply.strip() or not reference.strip():
        return [0.0] * 4
    sides = []
    for text in (reply, reference):
        (batch,) = encoder.encode([text])
        states = batch.states[0].double()
        weights = [0.0 if int(i) in encoder.special else idf(int(i)) if idf else 1.0 for i in batch.ids[0]]
        sides.append(([row / row.norm() for row in states], weights))
    (own, own_weights), (other, other_weights) = sides
    found = []
    for best in (max, min):
        for rows, weights, others in ((own, own_weights, other), (other, other_weights, own)):
            total = sum(w * best(float(a @ b) for b in others) for a, w in zip(rows, weights, strict=True))
            found.append(total / sum(weights) if sum(weights) else 0.0)
    return found


TEXTS = ["did you sleep well ?", "yes", "", "a longer text about trains and coffee", "日本語", "yes yes yes", "🙂 ok"]
PAIRS = np.array([(i, j) for i in range(len(TEXTS)) for j in range(len(TEXTS))])


def test_matching_is_the_formula(encoder: Encoder) -> None:
    own = match(encoder, TEXTS, PAIRS, lowest=True)
    for row, (i, j) in zip(own, PAIRS, strict=True):
        assert row == pytest.approx(looped(encoder, TEXTS[i], TEXTS[j]), abs=1e-5)
    assert (match(encoder, TEXTS, PAIRS) == own[:, :2]).all()
    swapped = match(encoder, TEXTS, PAIRS[:, ::-1])
    assert swapped == pytest.approx(own[:, 1::-1], abs=1e-6), "what is P from one side is R from the other"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30), few=st.integers(1, 4000))
def test_neither_blocks_nor_other_pairs_change_a_pair(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, pairs: list[tuple[int, int]], few: int
) -> None:
    whole = match(encoder, TEXTS, PAIRS)
    with monkeypatch.context() as patch:
        patch.setattr(matching, "HELD", {"cpu": few})
        patch.setattr(matching, "COMPARED", {"cpu": few})
        own = match(encoder, TEXTS, np.array(pairs, dtype=np.int64).reshape(-1, 2))
    assert own == pytest.approx(whole[[i * len(TEXTS) + j for i, j in pairs]], abs=1e-5)


def test_every_layer_in_one_pass_is_each_layer_by_itself(encoder: Encoder) -> None:
    found = match_layers(encoder, TEXTS, PAIRS)
    assert len(found) == encoder.layers + 1
    for layer, rows in enumerate(found):
        alone = Encoder(str(encoder.folder), layer=layer, device="cpu", longest=512)
        assert rows == pytest.approx(match(alone, TEXTS, PAIRS), abs=1e-5)


def test_pairs_without_room_are_halved(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = match(encoder, TEXTS, PAIRS)
    bmm, sizes = torch.bmm, []

    def limited(first: Any, second: Any) -> Any:
        sizes.append(len(first))
        if len(first) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return bmm(first, second)

    most = 2
    monkeypatch.setattr(torch, "bmm", limited)
    assert match(encoder, TEXTS, PAIRS) == pytest.approx(whole, abs=1e-6)
    assert max(sizes) > 2
    most = 0
    with pytest.raises(InputError, match="not enough memory to compare two texts on cpu; use a smaller model"):
        match(encoder, TEXTS, PAIRS)


def test_replies_that_there_is_no_room_to_hold_are_halved(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = match(encoder, TEXTS, PAIRS)
    empty, held = torch.empty, []

    def limited(size: Any, **options: Any) -> Any:
        held.append(size[0])
        if size[0] > 12:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return empty(size, **options)

    monkeypatch.setattr(torch, "empty", limited)
    assert match(encoder, TEXTS, PAIRS) == pytest.approx(whole, abs=1e-5)
    assert max(held) > 12


def test_memory_does_not_grow_with_samples(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token vectors alive at a time, for more and more samples with texts of their own."""
    monkeypatch.setattr(bertscore, "SAMPLES", 20)
    monkeypatch.setattr(matching, "HELD", {"cpu": 2**13})
    monkeypatch.setattr(bertscore, "load_model", lambda *_, **__: encoder)
    monkeypatch.setattr(encoder, "tokens", 128)
    live = peak = 0
    vectors = matching._Slice._vectors

    def gone(size: int) -> None:
        nonlocal live
        live -= size

    def watched(self: Any, batch: Any) -> Any:
        nonlocal live, peak
        found = vectors(self, batch)
        size = found.vectors.numel()
        live += size
        peak = max(peak, live)
        weakref.finalize(found.vectors, gone, size)
        return found

    monkeypatch.setattr(matching._Slice, "_vectors", watched)
    peaks = []
    for n in (20, 200):
        gc.collect()
        peak = 0
        BertScore("any").stats(
            [Sample(str(i), (), f"reply {i}", [f"text {i} {j}" for j in range(17)]) for i in range(n)]
        )
        peaks.append(peak)
    assert 0 < peaks[1] <= 1.5 * peaks[0]
    assert peaks[1] <= 3 * 128 * encoder.dimensions, "a batch, the one before it, and no more"


def test_spans_and_f() -> None:
    assert spans(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert spans(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)).tolist() == []
    assert f_measure(np.array([0.5, 0.0, 0.2]), np.array([0.25, 0.0, -0.2])).tolist() == [1 / 3, 0.0, 0.0]


def test_idf_counts_references_that_hold_a_token(encoder: Encoder) -> None:
    references = ["yes no", "yes", "yes", "no no maybe"]
    idf = Idf.of(references, encoder)
    ids = [set(encoder.tokenise([text]).tokens.tolist()) for text in references]

    def weight(id: int) -> float:
        return float(np.log(5 / (1 + sum(id in held for held in ids))))

    texts = ["yes", "no maybe", "tea yes no"]
    pairs = np.array([(i, j) for i in range(3) for j in range(3)])
    for row, (i, j) in zip(match(encoder, texts, pairs, idf=idf, lowest=True), pairs, strict=True):
        assert row == pytest.approx(looped(encoder, texts[i], texts[j], weight), abs=1e-5)
    assert idf.source == Idf.of(references[::-1], encoder).source != Idf.of(references[1:], encoder).source
