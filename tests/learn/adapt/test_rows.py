"""Rows for masked language modelling: special tokens, masking, and texts cut to what the network reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq.learn.adapt.rows import Rows, known_tokens, masked, pair_rows
from interloq.learn.pair_tokens import PairTokens
from interloq.models.token_predictor import SpecialTokens
from interloq.records import Pair
from tests.made_adapt import QUICK, adapted
from tests.made_language_models import tiny_model

SPECIAL_TOKENS = SpecialTokens(start=2, end=3, pad=0, special=(0, 1, 2, 3, 4), mask=4, size=40)
texts = st.lists(st.integers(1, 39).filter(lambda n: n not in (2, 3, 4)), min_size=1, max_size=12)


def tokens_of(rows: list[tuple[list[int], list[int]]]) -> PairTokens:
    flat = [text for row in rows for text in row]
    lengths = np.array([len(text) for text in flat], dtype=np.int32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    tokens = np.array([token for text in flat for token in text], dtype=np.int32)
    return PairTokens(tokens, starts, lengths, np.arange(len(flat), dtype=np.int32).reshape(-1, 2), 0, 0)


def rows_of(rows: list[tuple[list[int], list[int]]], special_tokens: SpecialTokens = SPECIAL_TOKENS) -> Rows:
    stored = tokens_of(rows)
    return pair_rows(stored, stored.pairs, special_tokens)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6), st.booleans())
def test_rows_are_utterance_and_response_between_special_tokens(
    drawn: list[tuple[list[int], list[int]]], start: bool
) -> None:
    special_tokens = SPECIAL_TOKENS if start else replace(SPECIAL_TOKENS, start=None)
    rows = rows_of(drawn, special_tokens)
    begin = [2] if start else []
    for i, (utterance, response) in enumerate(drawn):
        whole = [*begin, *utterance, 3, *response, 3]
        padding = [0] * (rows.ids.shape[1] - len(whole))
        assert rows.ids[i].tolist() == whole + padding
        kinds = [0] * (len(begin) + len(utterance) + 1) + [1] * (len(response) + 1)
        assert rows.kinds[i].tolist() == kinds + padding
        assert rows.inside[i].tolist() == [True] * len(whole) + [False] * len(padding)


@given(
    st.lists(st.tuples(texts, texts), min_size=1, max_size=6),
    st.floats(0.01, 0.99),
    st.integers(0, 2**32),
    st.integers(0, 10**9),
)
def test_only_real_tokens_are_masked_and_just_so_many(
    drawn: list[tuple[list[int], list[int]]], share: float, seed: int, first: int
) -> None:
    rows = rows_of(drawn)
    examples = first + np.arange(len(drawn))
    seen, places = masked(rows, examples, SPECIAL_TOKENS, share=share, seed=seed)
    for i, (utterance, response) in enumerate(drawn):
        known = sum(token != 1 for token in utterance + response)
        assert places[i].sum() == min(known, max(1, round(share * known)))
    assert not np.isin(rows.ids[places], SPECIAL_TOKENS.special).any()
    assert (seen[~places] == rows.ids[~places]).all()
    assert ((seen[places] == SPECIAL_TOKENS.mask) | ~np.isin(seen[places], SPECIAL_TOKENS.special)).all()
    assert (seen < SPECIAL_TOKENS.size).all()
    alone = masked(rows_of(drawn[-1:]), examples[-1:], SPECIAL_TOKENS, share=share, seed=seed)
    width = alone[0].shape[1]
    assert (alone[0][0] == seen[-1, :width]).all(), "a mask depends on its own example alone"
    assert (known_tokens(tokens_of(drawn), SPECIAL_TOKENS.special).reshape(-1, 2).sum(1) >= places.sum(1)).all()


def test_four_in_five_are_hidden_one_in_ten_drawn_and_one_in_ten_stays() -> None:
    rng = np.random.default_rng(0)
    drawn = [(rng.integers(5, 40, 20).tolist(), rng.integers(5, 40, 20).tolist()) for _ in range(5000)]
    rows = rows_of(drawn)
    seen, places = masked(rows, np.arange(5000), SPECIAL_TOKENS, share=0.15, seed=3)
    assert places.sum() == 5000 * 6
    hidden, stays = seen[places] == SPECIAL_TOKENS.mask, seen[places] == rows.ids[places]
    assert hidden.mean() == pytest.approx(0.8, abs=0.01)
    assert stays.mean() == pytest.approx(0.1 + 0.1 / 35, abs=0.01)  # one of 35 drawn tokens is the right one
    everywhere = places[:, 1:21].sum(axis=0)
    assert everywhere.min() > 0.8 * 5000 * 0.15
    drawn_tokens = seen[places][~hidden & ~stays]
    assert set(drawn_tokens.tolist()) == set(range(5, 40))
    others = [masked(rows, np.arange(5000) + 5000, SPECIAL_TOKENS, share=0.15, seed=3)[1]]
    others.append(masked(rows, np.arange(5000), SPECIAL_TOKENS, share=0.15, seed=4)[1])
    for other in others:
        assert (other & places).sum() / places.sum() == pytest.approx(0.15, abs=0.02), "another epoch, or another seed"


def test_texts_are_cut_to_what_the_network_reads(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert", max_position_embeddings=15), list[str]()
    long = [Pair(str(i), f"tea rain music cats {i} " * 30, "we like the trains " * 30) for i in range(40)]
    facts = adapted(tmp_path / "out", folder, pairs=lambda: long, report=said.append, training=replace(QUICK, epochs=1))
    assert facts["longest"] == 5
    assert "texts are truncated to 5 tokens, the most that the network can read" in said
