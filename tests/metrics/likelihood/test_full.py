"""FULL by hand and against its sum."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from interloq.data.follow_ups import read_follow_ups
from interloq.metrics.likelihood.full import Full
from tests.made_lm import tiny_lm
from tests.metrics.made_fed import TWO, OneByOne, chat, scores


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("lm"), positions=256)


def test_full_by_hand(words: str) -> None:
    # aa: −4 of one word; b bbb: −(1 + 2) − (3 + 2) of two
    assert scores(Full("x", follow_ups=words), [TWO]) == [4 + 8]
    found = scores(Full("x", "perplexity", words), [TWO])
    assert found == pytest.approx([(math.exp(4) + math.exp(8 / 2)) / 2])


def test_full_sums_over_five_complaints(lm: Path) -> None:
    literal, five = OneByOne(lm), read_follow_ups("en").full
    counts = [len(literal.tokenizer(text)["input_ids"]) for text in five]
    sample = chat()[0]
    losses = [literal.conditional([sample.response], text) for text in five]
    expected = sum(loss * count for loss, count in zip(losses, counts, strict=True))
    assert scores(Full(str(lm)), [sample]) == pytest.approx([expected], rel=1e-5)
    assert scores(Full(str(lm), "perplexity"), [sample]) == pytest.approx([np.mean(np.exp(losses))], rel=1e-5)
