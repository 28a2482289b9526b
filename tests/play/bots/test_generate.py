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
from interloq.play.decoding import LIKELY, gumbel, nucleus
from interloq.play.decoding_options import Decoding
from tests.play.made_writers import DIALOGUES, SEEDS, hf, limit_memory

pytest.importorskip("transformers")


@pytest.mark.parametrize("separator", ["\n", "a", "e "])
def test_writing_stops_where_a_reply_is_whole(folders: dict[str, Path], separator: str) -> None:
    """What is written is the beginning of what would be written without a stop, up to the separator."""
    bot = hf(folders["gpt2"], max_tokens=40, temperature=3.0, top_p=1.0, separator=separator)
    assert bot._prompts.stop == separator
    options = {"decoding": Decoding(temperature=3.0), "max_tokens": 40, "n": 1, "size": 64}
    prompts = bot._prompts.tokens([DIALOGUES[0]]) * 64
    stopped = [text for ((text, _),) in bot._writer.candidates(prompts, range(64), stop=separator, **options)]
    whole = [text for ((text, _),) in bot._writer.candidates(prompts, range(64), **options)]
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


KINDS = ["gpt2", "llama", "t5"]


@pytest.mark.parametrize("kind", KINDS)
def test_beams_are_those_of_transformers(folders: dict[str, Path], kind: str) -> None:
    """Of each prompt alone; the log-probabilities are those of the model."""
    writer: Any = hf(folders[kind])._writer
    prompts = [[5, 6, 7, 8], [9, 10], [11, 12, 13, 5, 6]]
    decoding = Decoding(beams=4, length_penalty=1.3)
    found = writer.candidates(prompts, range(3), decoding, 8, n=3, size=64)
    for prompt, texts in zip(prompts, found, strict=True):
        ids = torch.tensor([prompt])
        options = {"num_beams": 4, "num_return_sequences": 3, "max_new_tokens": 8, "length_penalty": 1.3}
        expected = writer.network.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, **options)
        start = 1 if kind == "t5" else len(prompt)
        words = writer.tokenizer.batch_decode(expected[:, start:], skip_special_tokens=True)
        assert [text.text for text in texts] == words
        for text, row in zip(texts, expected[:, start:].tolist(), strict=True):
            assert text.log_probability == pytest.approx(_log_probability(writer, prompt, row), abs=1e-3)


def _log_probability(writer: Any, prompt: list[int], reply: list[int]) -> float:
    """Return log p of a reply up to its end token, computed at once."""
    reply = reply[: reply.index(0) + 1] if 0 in reply else reply
    with torch.inference_mode():
        if writer.with_encoder:
            ids = torch.tensor([[0, *reply[:-1]]])
            logits = writer.network(input_ids=torch.tensor([prompt]), decoder_input_ids=ids).logits[0]
        else:
            ids = torch.tensor([[*prompt, *reply[:-1]]])
            logits = writer.network(input_ids=ids).logits[0, len(prompt) - 1 :]
    return float(logits.log_softmax(-1).gather(1, torch.tensor(reply)[:, None]).sum())


@pytest.mark.parametrize("kind", KINDS)
def test_groups_of_beams_use_the_models_cache(folders: dict[str, Path], kind: str) -> None:
    """Rows of different lengths share a batch; without a penalty, each group is the beam search of transformers."""
    writer: Any = hf(folders[kind])._writer
    prompts = [[5, 6, 7, 8], [9, 10], [11, 12, 13, 5, 6]]
    alone = writer.candidates(prompts, range(3), Decoding(beams=2), 8, n=2, size=64)
    equal = writer.candidates(prompts, range(3), Decoding(beams=6, groups=3), 8, n=2, size=64)
    for own, grouped in zip(alone, equal, strict=True):
        assert [text.text for text in grouped] == [text.text for text in own]
        sums = [text.log_probability for text in own]
        assert [text.log_probability for text in grouped] == pytest.approx(sums, abs=1e-3)
    diverse = writer.candidates(prompts, range(3), Decoding(beams=6, groups=3, diversity=99.0), 8, n=6, size=64)
    for texts in diverse:
        assert len(texts) == 6
        assert len({text.text for text in texts}) > 2
    single = writer.candidates(prompts[:1], [0], Decoding(beams=6, groups=3, diversity=99.0), 8, n=6, size=64)
    assert [text.text for text in single[0]] == [text.text for text in diverse[0]]


@pytest.mark.parametrize("kind", KINDS)
def test_candidates_of_samples_have_their_log_probability(folders: dict[str, Path], kind: str) -> None:
    bot = hf(folders[kind], top_k=3)
    prompts = [[5, 6, 7, 8], [9, 10], [11, 12, 13, 5, 6]]
    found = bot._writer.candidates(prompts, [4, 5, 6], bot.decoding, 6, n=4, size=64)
    firsts = bot._writer.candidates(prompts, [4, 5, 6], bot.decoding, 6, n=1, size=64)
    assert [texts[0].text for texts in found] == [texts[0].text for texts in firsts]
    assert all(len({text.text for text in texts}) > 1 for texts in found)
    likely = bot._writer.candidates(prompts, [4, 5, 6], Decoding(top_k=1), 6, n=2, size=64)
    for prompt, texts in zip(prompts, likely, strict=True):
        ids = torch.tensor([prompt])
        row = bot._writer.network.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=6)
        expected = _log_probability(bot._writer, prompt, row[0, 1 if kind == "t5" else len(prompt) :].tolist())
        assert [text.log_probability for text in texts] == pytest.approx([expected] * 2, abs=1e-3)
