"""Pairs of replies, judged in both orders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import InputError, Rating, Sample, SpecError
from interloq.metrics.llm_judge.judge_pairs import NO_TEXT, Preferences, judge_pairs
from interloq.metrics.llm_judge.llm_judge import LlmJudge
from tests.made_chat_server import serving
from tests.made_judge_server import JudgeServer

pytest.importorskip("httpx")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    with serving(JudgeServer()) as made:
        yield made


def judged(server: JudgeServer, *pairs: tuple[str, str], **options: Any) -> Preferences:
    first, second = (
        [Sample(str(i), ["how was it ?"], pair[side], system=str(side)) for i, pair in enumerate(pairs)]
        for side in (0, 1)
    )
    return judge_pairs(first, second, LlmJudge("small", endpoint=server.url, key="", retries=0, **options))


@pytest.mark.parametrize("mode", ["expected", "sampled"])
def test_the_better_reply_wins_in_both_orders(server: JudgeServer, mode: str) -> None:
    found = judged(server, ("longer", "short"), ("short", "longer"), ("", "any"), ("any", " "), ("", " "), mode=mode)
    assert [pair.value for pair in found.pairs] == [1, -1, -1, 1, None]
    assert found.pairs[4].failure == NO_TEXT
    assert found.counts == {"first": 2, "second": 2, "tie": 0, "unjudged": 1}
    assert found.flip_rate == 0
    assert len(server.seen) == 2  # the second pair is the first one turned round


@pytest.mark.parametrize("mode", ["expected", "sampled"])
def test_a_judge_that_likes_a_position_gives_ties(server: JudgeServer, mode: str) -> None:
    server.first = True
    found = judged(server, ("longer", "short"), ("short", "longer"), ("", "any"), mode=mode)
    assert [pair.value for pair in found.pairs] == [0, 0, -1]
    assert found.flip_rate == pytest.approx(2 / 3)
    assert found.remark().startswith("flip rate 0.67: ")
    assert "of 3 pairs; slope on length unknown; run-to-run reliability unknown, " in found.remark()


def test_figures_beside_the_preferences(server: JudgeServer) -> None:
    texts = [("longest one", "a"), ("b", "much longer"), ("ccc", "dddd"), ("e", "f" * 30), ("long enough", "g" * 10)]
    ratings = [(5, 1), (2, 3), (3, 3), (1, 4), (4, 4)]
    first, second = (
        [
            Sample(str(i), ["?"], t[side], ratings=[Rating(r[side])])
            for i, (t, r) in enumerate(zip(texts, ratings, strict=True))
        ]
        for side in (0, 1)
    )
    found = judge_pairs(first, second, LlmJudge("small", endpoint=server.url, key="", mode="sampled", n=2))
    wins, sizes = [1, 0, 0, 0, 1], [np.log2((1 + len(a)) / (1 + len(b))) for a, b in texts]
    assert found.figures["length_slope"] == pytest.approx(np.polyfit(sizes, wins, 1)[0])
    assert found.figures["agreement"] == pytest.approx(np.corrcoef(wins, [a - b for a, b in ratings])[0, 1])
    assert found.figures["run_reliability"] == 1
    assert "per doubling of the relative length; run-to-run reliability 1.00; correlation " in found.remark()
    with pytest.raises(SpecError, match="cannot compare replies; write of='reply'"):
        judge_pairs(first, second, LlmJudge("small", endpoint=server.url, of="dialogue"))


def test_equal_replies_are_a_tie_and_no_flip(server: JudgeServer) -> None:
    found = judged(server, ("same", "same"), mode="sampled", n=2)
    assert (found.pairs[0].value, found.flip_rate) == (0, 0)


def test_the_order_of_pairs_does_not_matter(server: JudgeServer) -> None:
    pairs = [("a", "bb"), ("ccc", "d"), ("e", "ff")]
    found = judged(server, *pairs)
    assert [pair.value for pair in judged(server, *pairs[::-1]).pairs] == [pair.value for pair in found.pairs][::-1]


def test_a_pair_that_cannot_be_judged_is_counted(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.metrics.llm_judge.rubrics.LEAST", 1.1)
    found = judged(server, ("longer", "short"))
    assert found.pairs[0].value is None
    assert "of the probability" in found.pairs[0].failure
    assert (found.flip_rate, found.counts["unjudged"]) == (None, 1)
    assert found.remark().startswith("flip rate unknown")


def test_pairs_need_the_same_context(server: JudgeServer) -> None:
    sample = Sample("1", ["how was it ?"], "fine")
    judge = LlmJudge("small", endpoint=server.url)
    with pytest.raises(InputError, match="do not have the same context"):
        judge_pairs([sample], [replace(sample, context=())], judge)
    with pytest.raises(InputError, match="as many samples on both sides, got 1 and 0"):
        judge_pairs([sample], [], judge)
    assert judge_pairs([], [], judge).flip_rate is None


def test_what_was_shortened_and_left_out_is_said_beside_the_preferences(server: JudgeServer) -> None:
    server.refuses = ("seed",)
    found = judged(server, ("word " * 200, "fine"), ("a", "bb"), mode="sampled", longest=300)
    assert [(pair.replies_cut, pair.context_cut) for pair in found.pairs] == [(1, False), (0, False)]
    assert "1 reply shortened: raise longest=300" in found.remark()
    assert "the model does not accept seed, so a second run can differ" in found.remark()


def test_both_rivals_are_judged_by_the_prompt_of_the_context(server: JudgeServer) -> None:
    judged(server, ("元気です。ありがとう。", "Fine, thanks."), ("Fine.", "我很好，谢谢你。"))
    prompts = [body["messages"][0]["content"] for body in server.bodies]
    assert len({prompt.split("{")[0] for prompt in prompts}) == 1
