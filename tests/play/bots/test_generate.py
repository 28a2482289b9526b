"""Bots that are language models: tiny ones with random weights, so that nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from interloq.play.bots import generate
from interloq.play.bots.generate import LIKELY, Sampling, gumbel, nucleus
from tests.play.made_writers import DIALOGUES, SEEDS, hf, limit_memory

pytest.importorskip("transformers")


@pytest.mark.parametrize("separator", ["\n", "a", "e "])
def test_writing_stops_where_a_reply_is_whole(folders: dict[str, Path], separator: str) -> None:
    """What is written is the beginning of what would be written without a stop, up to the separator."""
    bot = hf(folders["gpt2"], max_tokens=40, temperature=3.0, top_p=1.0, separator=separator)
    assert bot._prompts.stop == separator
    options = {"sampling": Sampling(3.0, 1.0, 40), "size": 64}
    prompts = bot._prompts.tokens([DIALOGUES[0]]) * 64
    stopped = bot._writer.texts(prompts, range(64), stop=separator, **options)
    whole = bot._writer.texts(prompts, range(64), **options)
    cut = 0
    for short, long in zip(stopped, whole, strict=True):
        assert long.startswith(short)
        assert (separator in short.lstrip()) == (separator in long.lstrip())
        assert bot._prompts.first(short) == bot._prompts.first(long)
        cut += short != long
    assert cut > 2


def test_a_character_may_come_in_parts(folders: dict[str, Path]) -> None:
    writer: Any = hf(folders["gpt2"])._writer
    for character in "a\né。":
        last = writer.tokenizer(f"so {character}", add_special_tokens=False)["input_ids"][-1]
        assert last in writer._with(character).tolist()
    assert len(writer._with("a")) < len(writer.tokenizer)


def test_the_end_token_ends_a_reply_by_itself(folders: dict[str, Path]) -> None:
    assert hf(folders["gpt2"], separator="eos")._prompts.stop == ""
    assert hf(folders["chat"])._prompts.stop == ""


def test_noise_has_the_gumbel_distribution() -> None:
    tokens = torch.arange(20_000)
    noise = gumbel(torch.tensor([[0], [1], [-5]]), 3, tokens).numpy()
    assert scipy.stats.kstest(noise.ravel(), "gumbel_r").pvalue > 1e-3
    assert np.abs(np.corrcoef(noise) - np.eye(3)).max() < 0.03
    others = gumbel(torch.tensor(0), 4, tokens).numpy()
    assert abs(np.corrcoef(noise[0], others)[0, 1]) < 0.03
    assert abs(np.corrcoef(noise[0, 1:], others[:-1])[0, 1]) < 0.03


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 100))
def test_noise_of_a_row_is_its_own(seed: int, step: int) -> None:
    tokens = torch.arange(50)
    both = gumbel(torch.tensor([[1], [seed]]), step, tokens)
    assert torch.equal(both[1], gumbel(torch.tensor(seed), step, tokens))
    assert torch.equal(both[1, 20:30], gumbel(torch.full((10,), seed), step, tokens[20:30]))
    assert torch.isfinite(both).all()


def test_samples_follow_the_chances() -> None:
    logits = torch.log(torch.tensor([0.5, 0.3, 0.15, 0.05]))
    n = 20_000
    for top_p, expected in (
        (1.0, [0.5, 0.3, 0.15, 0.05]),
        (0.8, [0.625, 0.375, 0, 0]),
        (0.81, [10 / 19, 6 / 19, 3 / 19, 0]),
    ):
        scores = nucleus(logits.repeat(n, 1), top_p) + gumbel(torch.arange(n)[:, None], 0, torch.arange(4))
        shares = torch.bincount(scores.argmax(1), minlength=4).double() / n
        assert shares.tolist() == pytest.approx(expected, abs=0.015)


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=12), st.floats(0.01, 1.0))
def test_the_nucleus_is_the_smallest_set_that_is_likely_enough(values: list[float], top_p: float) -> None:
    kept = torch.isfinite(nucleus(torch.tensor([values], dtype=torch.float64), top_p))[0].numpy()
    chances = np.exp(values) / np.exp(values).sum()
    assert chances[kept].sum() >= top_p - 1e-9
    assert chances[chances > chances[kept].min() + 1e-12].sum() < top_p + 1e-9
    assert kept.all() or chances[kept].min() >= chances[~kept].max() - 1e-12


def test_rows_that_need_more_tokens_than_others_are_looked_at_alone() -> None:
    """The likeliest few, some more, and all of them; equal ones stay together."""
    words = 4 * LIKELY[-1]
    logits = torch.zeros((5, words), dtype=torch.float64)
    for row, few in enumerate((1, LIKELY[0] + 1, LIKELY[1] + 1)):
        logits[row, few:] = -30
    logits[3] = torch.linspace(0, 1, words)
    kept = torch.isfinite(nucleus(logits, 0.9)).sum(-1).tolist()
    chances = logits[3].softmax(-1).sort(descending=True).values
    slope = int((chances.cumsum(-1) - chances < 0.9).sum())
    assert kept == [1, LIKELY[0] + 1, LIKELY[1] + 1, slope, words]


def test_a_batch_that_does_not_fit_is_halved(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    bot = hf(folders["llama"])
    expected = bot.replies(DIALOGUES, SEEDS)
    sizes = limit_memory(monkeypatch, bot, lambda rows: len(rows) > 2)
    assert bot.replies(DIALOGUES, SEEDS) == expected
    assert sizes == [5, 2, 3, 1, 2]
    del sizes[:]
    assert bot.replies(DIALOGUES, SEEDS) == expected
    assert max(sizes) <= 2


def test_the_models_own_settings_of_sampling_do_not_count(folders: dict[str, Path], tmp_path: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(folders["gpt2"])
    model.generation_config.update(do_sample=True, temperature=0.3, top_k=2, top_p=0.2, max_length=20)
    model.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(folders["gpt2"]).save_pretrained(tmp_path)
    assert hf(tmp_path).replies(DIALOGUES, SEEDS) == hf(folders["gpt2"]).replies(DIALOGUES, SEEDS)
    assert generate.Writer(str(tmp_path), device="cpu").ends == [0]
