"""Follow-ups after dialogues: trees of tokens against transformers, one text at a time, on small random models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError
from interloq.models.lm import tree as lm_tree
from interloq.models.lm.causal import LanguageModel
from tests.made_network import watch_network
from tests.models.lm.made_trees import DIALOGUES, FOLLOW_UPS, Literal


@pytest.mark.parametrize("layout", ["eos", "lines"])
def test_sums_are_those_of_transformers(folder: Path, layout: Any) -> None:
    model, literal = LanguageModel(str(folder), device="cpu", longest=128), Literal(folder)
    found = model.follow_up_scores(DIALOGUES, FOLLOW_UPS, layout=layout, whole=True)
    assert model._reads_trees == (model._model.config.model_type != "bloom")
    assert found.sums == pytest.approx(np.array(literal.follow_ups(layout)), abs=1e-4)
    assert found.counts.tolist() == [len(literal.numbers(text)) for text in FOLLOW_UPS]
    rows = [literal.before(turns, layout) for turns in DIALOGUES]
    assert found.context_sums == pytest.approx([literal.said(row, 1) for row in rows], abs=1e-4)
    assert found.context_counts.tolist() == [len(row) - 1 for row in rows]
    assert (found.sums[0] == found.sums[-1]).all(), "the same dialogue"


def test_neither_order_nor_batches_nor_rows_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = LanguageModel(str(folder), device="cpu", longest=128)
    expected = wide.follow_up_scores(DIALOGUES, FOLLOW_UPS, whole=True)
    narrow = LanguageModel(str(folder), device="cpu", longest=128, tokens=1)
    turned = narrow.follow_up_scores(DIALOGUES[::-1], FOLLOW_UPS[::-1], whole=True)
    assert turned.sums[::-1, ::-1] == pytest.approx(expected.sums, abs=1e-4)
    assert turned.context_sums[::-1] == pytest.approx(expected.context_sums, abs=1e-4)
    narrow._can_skip_logits = False
    assert narrow.follow_up_scores(DIALOGUES, FOLLOW_UPS).sums == pytest.approx(expected.sums, abs=1e-4)
    assert not narrow.follow_up_scores(DIALOGUES, FOLLOW_UPS).context_sums.any(), "not asked for"
    assert wide.follow_up_scores([], FOLLOW_UPS).sums.shape == (0, len(FOLLOW_UPS))


def test_half_precision_reads_trees_too(plain: Path) -> None:
    half, full = (LanguageModel(str(plain), device="cpu", longest=128, precision=p) for p in ("bfloat16", "float64"))
    assert half._reads_trees
    found, exact = (model.follow_up_scores(DIALOGUES, FOLLOW_UPS).sums for model in (half, full))
    assert found == pytest.approx(exact, rel=0.05, abs=0.5)


def test_a_window_that_is_too_small_is_noticed(plain: Path) -> None:
    model = LanguageModel(str(plain), device="cpu", longest=128)
    assert model._probe()
    model._model.config.sliding_window = 64
    assert not model._probe()
    assert not LanguageModel(str(plain), device="cpu", longest=8)._reads_trees, "no room for a trial"


tokens = st.lists(st.integers(1, 3), min_size=1, max_size=6).map(tuple)


@given(
    st.lists(tokens, min_size=1, max_size=6, unique=True), st.lists(tokens, min_size=1, max_size=5), st.integers(1, 40)
)
def test_every_way_through_a_tree_is_its_text(contexts: list[Any], follow_ups: list[Any], size: int) -> None:
    block = lm_tree.Block.of(follow_ups)
    members = list(lm_tree.rows(contexts, block, size=size))
    assert sorted(i for row in members for i in row.contexts) == list(range(len(contexts)))
    made = lm_tree.batch(members, block)
    edges = made.edges(block).reshape(len(made.blocks), -1, 3)
    for (_, _, number), own in zip(made.blocks, edges, strict=True):
        for follow_up, which in zip(follow_ups, block.owners, strict=True):
            for step, (row, place, target) in enumerate(own[which].tolist()):
                seen = np.flatnonzero(made.sees[row, place])
                assert tuple(made.tokens[row, seen].tolist()) == contexts[number] + follow_up[:step]
                assert made.depths[row, seen].tolist() == list(range(len(seen)))
                assert target == follow_up[step]
    for i, (_, _, number) in enumerate(made.blocks):
        own = made.context_edges[made.context_owners == i]
        assert tuple(own[:, 2].tolist()) == contexts[number][1:]
        for row, place, _ in own.tolist():
            seen = made.tokens[row, made.sees[row, place]]
            assert tuple(seen.tolist()) == contexts[number][: len(seen)]


def test_a_batch_without_room_is_cut_in_two(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LanguageModel(str(plain), device="cpu")
    dialogues = [(letter * 20,) for letter in "bcfjkqvx"]  # nothing shared: a row each
    expected = model.follow_up_scores(dialogues, FOLLOW_UPS, whole=True)
    network = watch_network(model._model, monkeypatch, most=1)
    found = model.follow_up_scores(dialogues, FOLLOW_UPS, whole=True)
    assert found.sums == pytest.approx(expected.sums, abs=1e-4)
    assert found.context_sums == pytest.approx(expected.context_sums, abs=1e-4)
    network.most = 0
    with pytest.raises(InputError, match="not enough memory for one text of"):
        model.follow_up_scores(dialogues, FOLLOW_UPS)
