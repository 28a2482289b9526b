"""Follow-ups after dialogues: trees of tokens against transformers, one text at a time, on small random models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError
from interloq.models.lm import tree as lm_tree
from interloq.models.lm.causal import LanguageModel
from interloq.models.lm.dialogue_scorer import DialogueScorer
from interloq.models.lm.loading import language_model
from interloq.models.lm.turns import TurnTokens
from tests.made_lm import tiny_lm

KINDS = ["gpt2", "llama", "gemma2", "bloom"]  # bloom counts positions itself, so it reads no trees
DIALOGUES = [
    ("how was it ?", "it was a very good day ."),
    ("how was it ?", "it was a very good day .", "no idea", "sorry ."),
    ("how was it ?", "it was a very good day .", "we saw the film"),
    ("how was it ?", "日本語 🙂"),
    (),
    ("how was it ?",),
    ("how was it ?", "it was a very good day ."),
]
FOLLOW_UPS = ["no idea , sorry .", "no idea", "no", "it was good", "x", "日本"]
TEMPLATE = (
    "{% if messages[0].role != 'user' %}{{ raise_exception('the user speaks first') }}{% endif %}"
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp(request.param), request.param, positions=128)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("plain"), positions=128)


class Literal:
    """Every text on its own, every token from the logits before it."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def numbers(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def before(self, turns: Sequence[str], layout: str) -> list[int]:
        row = [self.tokenizer.bos_token_id]
        for turn in turns:
            row += [*self.numbers(turn), self.tokenizer.eos_token_id] if layout == "eos" else self.numbers(turn + "\n")
        return row

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def said(self, row: list[int], start: int) -> float:
        logits = self.model(torch.tensor([row])).logits[0].double()
        return sum(float(torch.log_softmax(logits[i - 1], dim=0)[row[i]]) for i in range(start, len(row)))

    def follow_ups(self, layout: str) -> list[list[float]]:
        rows = [self.before(turns, layout) for turns in DIALOGUES]
        return [[self.said(row + self.numbers(text), len(row)) for text in FOLLOW_UPS] for row in rows]


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


def test_replies_are_scored_after_their_dialogue(folder: Path) -> None:
    model, literal = LanguageModel(str(folder), device="cpu", longest=128), Literal(folder)
    replies = [FOLLOW_UPS[i % len(FOLLOW_UPS)] for i in range(len(DIALOGUES))]
    sums, counts = model.reply_scores(DIALOGUES, replies, layout="lines")
    rows = [literal.before(turns, "lines") for turns in DIALOGUES]
    expected = [literal.said(row + literal.numbers(text), len(row)) for row, text in zip(rows, replies, strict=True)]
    assert sums == pytest.approx(expected, abs=1e-4)
    assert counts.tolist() == [len(literal.numbers(text)) for text in replies]
    assert [len(part) for part in model.reply_scores([], [])] == [0, 0]


# ---- what is shared --------------------------------------------------------------------------------------------------


def test_a_dialogue_is_read_once_for_all_its_turns(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LanguageModel(str(plain), device="cpu", longest=128)
    assert model._reads_trees
    read: list[int] = []
    forward = model._model.forward

    def watched(**inputs: Any) -> Any:
        read.append(inputs["input_ids"].numel())
        return forward(**inputs)

    monkeypatch.setattr(model._model, "forward", watched)
    turns = ("how was it ?",) * 10
    model.follow_up_scores([turns[:n] for n in range(1, 11)], ["no idea", "no"])
    alone = len(model._tokenizer(turns[0])["input_ids"]) + 1
    blocks = 10 * len(lm_tree.Block.of([tuple(model._tokenizer(text)["input_ids"]) for text in ("no idea", "no")]))
    assert sum(read) <= 10 * alone + blocks + 8, "each turn once, a block each, filled up to a multiple of eight"


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


def test_dimensions_that_come_later_find_their_scores_ready(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, asked = DialogueScorer(str(plain), device="cpu", longest=128), []
    inner = scorer.model.follow_up_scores

    def watched(dialogues: Any, follow_ups: Any, **options: Any) -> Any:
        asked.append(list(follow_ups))
        return inner(dialogues, follow_ups, **options)

    monkeypatch.setattr(scorer.model, "follow_up_scores", watched)
    found = {text: scorer.follow_up_scores(DIALOGUES, [text], every=FOLLOW_UPS).sums[:, 0] for text in FOLLOW_UPS}
    assert [len(texts) for texts in asked] == [1, len(FOLLOW_UPS)]
    expected = inner(DIALOGUES, FOLLOW_UPS).sums
    assert np.column_stack([found[text] for text in FOLLOW_UPS]) == pytest.approx(expected, abs=1e-4)
    scorer.follow_up_scores(DIALOGUES[:2], FOLLOW_UPS[:1], every=FOLLOW_UPS)
    scorer.follow_up_scores(DIALOGUES, FOLLOW_UPS[:1], every=FOLLOW_UPS, whole=True)
    assert [len(texts) for texts in asked[2:]] == [1, 1], "other dialogues, another question"


# ---- length, templates, errors ---------------------------------------------------------------------------------------


def test_a_long_dialogue_loses_its_oldest_turns_whole(plain: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(plain)
    turns = TurnTokens(tokenizer, "eos")
    letters = ("bcfjk", "qvxzb", "zzz")  # a token each letter
    full = turns.contexts([letters], 100)[0]
    assert len(full) == 1 + 6 + 6 + 4
    for room, kept in ((17, 3), (16, 2), (11, 2), (10, 1), (5, 1)):
        assert turns.contexts([letters], room) == turns.contexts([letters[3 - kept :]], 100), room
    cut = turns.contexts([letters], 4)[0]
    assert cut == (full[0], *full[-3:]), "the last turn alone is too long"
    assert turns.contexts([letters], 1) == [(full[0],)]


def test_a_dialogue_longer_than_the_model_is_scored(plain: Path) -> None:
    model = LanguageModel(str(plain), device="cpu")
    assert model.longest == 128
    long = ("bcfjkqvxz" * 30, *("qvxz" for _ in range(30)))
    found = model.follow_up_scores([long, long[-12:], long[:1]], ["no idea"])
    assert np.isfinite(found.sums).all()
    assert found.sums[0] == found.sums[1], "twelve turns of five tokens, and the start, are all there is room for"
    sums, counts = model.reply_scores([long, ()], ["no idea", "z" * 300])
    assert np.isfinite(sums).all()
    assert counts[1] == 127


def test_follow_ups_that_cannot_be_said(plain: Path) -> None:
    model = LanguageModel(str(plain), device="cpu")
    with pytest.raises(InputError, match="a follow-up is empty"):
        model.follow_up_scores(DIALOGUES, [""])
    with pytest.raises(InputError, match="a follow-up has 65 tokens, at most 64 are allowed: 'zzz"):
        model.follow_up_scores(DIALOGUES, ["z" * 65])


def test_a_chat_template_makes_the_last_turn_the_users(plain: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(plain)
    with pytest.raises(InputError, match="no chat template; use layout='eos'"):
        TurnTokens(tokenizer, "chat")
    tokenizer.chat_template = TEMPLATE
    turns = TurnTokens(tokenizer, "chat")
    rows = turns.contexts([("a", "b", "c"), ("a", "b"), ()], 1000)
    assert [tokenizer.decode(row) for row in rows] == [
        "[user]a\n[assistant]b\n[user]c\n[assistant]",
        "[user]\n[assistant]a\n[user]b\n[assistant]",  # this template wants the user first
        "[user]\n[assistant]",
    ]
    short = turns.contexts([("a" * 50, "b", "c")], len(rows[1]))
    assert tokenizer.decode(short[0]) == "[user]\n[assistant]b\n[user]c\n[assistant]"
    assert len(turns.contexts([("a" * 50,)], 20)[0]) == 20
    tokenizer.chat_template = "{{ raise_exception('never') }}"
    with pytest.raises(InputError, match="the chat template refuses a dialogue of 2 turns: never; use layout"):
        turns.contexts([("a",)], 100)


def test_a_model_without_an_end_token_takes_lines(plain: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(plain)
    tokenizer.eos_token = None
    with pytest.raises(InputError, match="the model has no end token; use layout='lines'"):
        TurnTokens(tokenizer, "eos")
    assert TurnTokens(tokenizer, "lines").contexts([("a",)], 10)


def test_a_batch_without_room_is_cut_in_two(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LanguageModel(str(plain), device="cpu")
    dialogues = [(letter * 20,) for letter in "bcfjkqvx"]  # nothing shared: a row each
    expected = model.follow_up_scores(dialogues, FOLLOW_UPS, whole=True)
    forward, most = model._model.forward, 1

    def limited(**inputs: Any) -> Any:
        if len(inputs["input_ids"]) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(**inputs)

    monkeypatch.setattr(model._model, "forward", limited)
    found = model.follow_up_scores(dialogues, FOLLOW_UPS, whole=True)
    assert found.sums == pytest.approx(expected.sums, abs=1e-4)
    assert found.context_sums == pytest.approx(expected.context_sums, abs=1e-4)
    most = 0
    with pytest.raises(InputError, match="not enough memory for one text of"):
        model.follow_up_scores(dialogues, FOLLOW_UPS)


def test_the_kind_of_model_is_seen_from_its_folder(plain: Path) -> None:
    assert isinstance(language_model(str(plain), device="cpu"), LanguageModel)
    assert math.isfinite(language_model(str(plain), device="cpu").follow_up_scores([("a",)], ["b"]).sums[0, 0])
