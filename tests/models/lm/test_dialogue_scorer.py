"""Replies and follow-ups scored after their dialogue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import InputError
from interloq.models.lm import tree as lm_tree
from interloq.models.lm.causal import LanguageModel
from interloq.models.lm.dialogue_scorer import DialogueScorer, choice_probabilities, language_model
from tests.made_lm import tiny_lm
from tests.models.lm.made_trees import DIALOGUES, FOLLOW_UPS, Literal


def test_replies_are_scored_after_their_dialogue(folder: Path) -> None:
    model, literal = LanguageModel(str(folder), device="cpu", longest=128), Literal(folder)
    replies = [FOLLOW_UPS[i % len(FOLLOW_UPS)] for i in range(len(DIALOGUES))]
    sums, counts = model.reply_scores(DIALOGUES, replies, layout="lines")
    rows = [literal.before(turns, "lines") for turns in DIALOGUES]
    expected = [literal.said(row + literal.numbers(text), len(row)) for row, text in zip(rows, replies, strict=True)]
    assert sums == pytest.approx(expected, abs=1e-4)
    assert counts.tolist() == [len(literal.numbers(text)) for text in replies]
    assert [len(part) for part in model.reply_scores([], [])] == [0, 0]


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


def test_the_kind_of_model_is_seen_from_its_folder(tmp_path: Path) -> None:
    model = language_model(str(tiny_lm(tmp_path, positions=128)), device="cpu")
    assert isinstance(model, LanguageModel)
    assert np.isfinite(model.follow_up_scores([("a",)], ["b"]).sums[0, 0])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return LanguageModel(str(tiny_lm(tmp_path_factory.mktemp("lm"), positions=96)), device="cpu", longest=96)


def test_probabilities_are_those_of_the_next_token(model: LanguageModel) -> None:
    prompts = ["rate it :", "how good ?"]
    found = choice_probabilities(model, prompts, ["1", "2", "3"], layout="lines")
    sums, _ = model.log_likelihoods([f"{prompt}\n" for prompt in prompts], ["2"] * 2)
    np.testing.assert_allclose(found[:, 1], np.exp(sums), rtol=1e-4)
    assert (found.sum(axis=1) < 1).all()


def test_prompts_that_would_be_cut_and_answers_of_different_length_are_refused(model: LanguageModel) -> None:
    with pytest.raises(InputError, match="a prompt has 82 tokens, and the model reads at most 48; lower `longest`"):
        choice_probabilities(model, ["~" * 80], ["1"], layout="lines")
    with pytest.raises(InputError, match="answers differ in tokens: '1' 1, '~~' 2"):
        choice_probabilities(model, ["a"], ["1", "~~"], layout="lines")
