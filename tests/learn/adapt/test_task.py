"""The loss of an adapted model against transformers' own, over batches and pieces."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from interloq.errors import InputError
from interloq.learn.adapt.task import Rows, count_known_tokens, dev_loss, mask_rows, pair_rows
from interloq.learn.pair_tokens import PairTokens
from interloq.models.token_predictor import SpecialTokens
from interloq.models.token_rows import Packed, TokenRows
from interloq.records import Pair
from tests.made_adapt import CPU, QUICK, SMALL, adapted, pairs, task_of
from tests.made_language_models import change_tokenizer, tiny_model

SPECIAL_TOKENS = SpecialTokens(start=2, end=3, pad=0, special=(0, 1, 2, 3, 4), mask=4, size=40)
texts = st.lists(st.integers(1, 39).filter(lambda n: n not in (2, 3, 4)), min_size=1, max_size=12)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra", "albert"])
def test_the_loss_is_that_of_transformers(tmp_path: Path, kind: str) -> None:
    task = task_of(tiny_model(tmp_path / kind, kind), tmp_path)
    task.network.eval()
    own = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / kind).eval()
    loss, count = 0.0, 0
    for examples in task.batches("dev", 0):
        g = task.prepare("dev", examples)
        rows = g.rows
        assert isinstance(rows, TokenRows)
        labels = torch.full_like(rows.ids, -100)
        labels[g.places] = g.targets
        kinds = {"token_type_ids": rows.kinds} if kind in ("bert", "electra", "albert") else {}
        with torch.inference_mode():
            mean = own(input_ids=rows.ids, attention_mask=rows.mask, labels=labels, **kinds).loss
        loss += float(mean) * len(g.targets)
        count += len(g.targets)
    assert dev_loss(task, CPU, amp=False) == pytest.approx(loss / count, rel=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_the_loss_of_a_language_model_is_that_of_every_next_token(tmp_path: Path, kind: str) -> None:
    folder = tiny_model(tmp_path / kind, kind)
    task = task_of(folder, tmp_path)
    assert task.goal == "lm"
    own = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    loss, count = 0.0, 0
    stored = task.pairs
    for utterance, response in stored.rows("dev"):
        said, reply = (stored.texts(np.array([text]))[0].tolist() for text in (utterance, response))
        end = tokenizer.eos_token_id
        ids = torch.tensor([[tokenizer.bos_token_id, *said, end, *reply, end]])
        with torch.inference_mode():
            loss += float(own(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
        count += ids.shape[1] - 1
    assert dev_loss(task, CPU, amp=False) == pytest.approx(loss / count, rel=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "llama"])
def test_packed_rows_have_the_same_loss(tmp_path: Path, kind: str) -> None:
    task = task_of(tiny_model(tmp_path / kind, kind), tmp_path)
    expected = dev_loss(task, CPU, amp=False)
    with task.network.packing.enable(CPU) as works:
        assert works
        assert isinstance(task.prepare("dev", task.batches("dev", 0)[0]).rows, Packed)
        assert dev_loss(task, CPU, amp=False) == pytest.approx(expected, rel=1e-5)
        task.pieces = 2  # cut by rows
        assert isinstance(task.prepare("dev", task.batches("dev", 0)[0]).rows, TokenRows)


def test_the_loss_does_not_depend_on_batches(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert")
    whole, small = task_of(folder, tmp_path), task_of(folder, tmp_path, replace(SMALL, batch=3, tokens=50))
    expected = dev_loss(whole, CPU, amp=False)
    assert dev_loss(small, CPU, amp=False) == pytest.approx(expected, rel=1e-5)
    whole.pieces = 3
    assert dev_loss(whole, CPU, amp=False) == pytest.approx(expected, rel=1e-5)


def test_pieces_have_the_gradients_of_the_whole(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    gradients = []
    for pieces in (1, 4):
        task = task_of(folder, tmp_path)
        task.pieces = pieces
        task.network.train()
        task.loss(task.prepare("train", task.batches("train", 1)[0])).backward()
        gradients.append({name: p.grad for name, p in task.network.named_parameters()})
    for name, gradient in gradients[0].items():
        assert gradient is not None
        assert torch.allclose(gradient, gradients[1][name], rtol=1e-3, atol=1e-4), name


def test_a_batch_without_room_is_cut_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, said = tiny_model(tmp_path / "bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), list[str]()
    expected = adapted(tmp_path / "whole", folder)
    forward, most = transformers.BertForMaskedLM.forward, 10

    def limited(self: Any, **inputs: Any) -> Any:
        if self.training and len(inputs["input_ids"]) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, **inputs)

    monkeypatch.setattr(transformers.BertForMaskedLM, "forward", limited)
    facts = adapted(tmp_path / "cut", folder, report=said.append)
    assert [line for line in said if "not enough memory" in line] == [
        "not enough memory for a batch: trying again with each batch split into 2 pieces",
        "not enough memory for a batch: trying again with each batch split into 4 pieces",
    ]
    assert facts["after"]["dev_loss"] == pytest.approx(expected["after"]["dev_loss"], rel=1e-3)
    most = 0
    with pytest.raises(InputError, match="not enough memory for a batch of one pair"):
        adapted(tmp_path / "none", folder)


def test_a_pad_token_is_not_needed(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert")
    task = task_of(folder, tmp_path / "pad")
    expected = dev_loss(task, CPU, amp=False)
    task.special_tokens = replace(task.special_tokens, pad=9)
    assert dev_loss(task, CPU, amp=False) == pytest.approx(expected, rel=1e-6), "padding is never looked at"
    change_tokenizer(folder, pad_token=None)
    facts = adapted(tmp_path / "out", folder)
    assert facts["after"]["dev_loss"] < 0.8 * facts["before"]["dev_loss"]


def test_texts_of_unknown_tokens_only(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert"), list[str]()
    strange = [Pair(str(i), "本" * (1 + i), "雨") for i in range(30)]
    mixed = [*pairs(60), *strange]
    facts = adapted(
        tmp_path / "out", folder, pairs=lambda: mixed, report=said.append, training=replace(QUICK, epochs=1)
    )
    assert math.isfinite(facts["after"]["dev_loss"])
    assert facts["unknown_tokens"] > 0.1
    assert any("the model may be for another language" in line for line in said)
    with pytest.raises(InputError, match="all tokens of the train part are unknown to the tokenizer"):
        adapted(tmp_path / "none", folder, pairs=lambda: strange)


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
    seen, places = mask_rows(rows, examples, SPECIAL_TOKENS, share=share, seed=seed)
    for i, (utterance, response) in enumerate(drawn):
        known = sum(token != 1 for token in utterance + response)
        assert places[i].sum() == min(known, max(1, round(share * known)))
    assert not np.isin(rows.ids[places], SPECIAL_TOKENS.special).any()
    assert (seen[~places] == rows.ids[~places]).all()
    assert ((seen[places] == SPECIAL_TOKENS.mask) | ~np.isin(seen[places], SPECIAL_TOKENS.special)).all()
    assert (seen < SPECIAL_TOKENS.size).all()
    alone = mask_rows(rows_of(drawn[-1:]), examples[-1:], SPECIAL_TOKENS, share=share, seed=seed)
    width = alone[0].shape[1]
    assert (alone[0][0] == seen[-1, :width]).all(), "a mask depends on its own example alone"
    assert (count_known_tokens(tokens_of(drawn), SPECIAL_TOKENS.special).reshape(-1, 2).sum(1) >= places.sum(1)).all()


def test_four_in_five_are_hidden_one_in_ten_drawn_and_one_in_ten_stays() -> None:
    rng = np.random.default_rng(0)
    drawn = [(rng.integers(5, 40, 20).tolist(), rng.integers(5, 40, 20).tolist()) for _ in range(5000)]
    rows = rows_of(drawn)
    seen, places = mask_rows(rows, np.arange(5000), SPECIAL_TOKENS, share=0.15, seed=3)
    assert places.sum() == 5000 * 6
    hidden, stays = seen[places] == SPECIAL_TOKENS.mask, seen[places] == rows.ids[places]
    assert hidden.mean() == pytest.approx(0.8, abs=0.01)
    assert stays.mean() == pytest.approx(0.1 + 0.1 / 35, abs=0.01)  # one of 35 drawn tokens is the right one
    everywhere = places[:, 1:21].sum(axis=0)
    assert everywhere.min() > 0.8 * 5000 * 0.15
    drawn_tokens = seen[places][~hidden & ~stays]
    assert set(drawn_tokens.tolist()) == set(range(5, 40))
    others = [mask_rows(rows, np.arange(5000) + 5000, SPECIAL_TOKENS, share=0.15, seed=3)[1]]
    others.append(mask_rows(rows, np.arange(5000), SPECIAL_TOKENS, share=0.15, seed=4)[1])
    for other in others:
        assert (other & places).sum() / places.sum() == pytest.approx(0.15, abs=0.02), "another epoch, or another seed"


def test_texts_are_cut_to_what_the_network_reads(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert", max_position_embeddings=15), list[str]()
    long = [Pair(str(i), f"tea rain music cats {i} " * 30, "we like the trains " * 30) for i in range(40)]
    facts = adapted(tmp_path / "out", folder, pairs=lambda: long, report=said.append, training=replace(QUICK, epochs=1))
    assert facts["longest"] == 5
    assert "texts are truncated to 5 tokens, the most that the network can read" in said
