"""Bots that are language models: tiny ones with random weights, so that nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers")
import torch
import transformers

from interloq import InputError, create, spec
from interloq.models.replies import Reply
from interloq.play import generate
from interloq.play.bot import guarded, roles
from interloq.play.generate import LIKELY, Sampling, gumbel, nucleus
from interloq.play.hugging_face import HuggingFace
from interloq.records import Turn
from tests.made_lm import byte_tokenizer, tiny_lm

CHAT = (
    "{% for m in messages %}{{ '[' + m['role'] + ']' + m['content'] + eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '[assistant]' }}{% endif %}"
)
STRICT = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('user first') }}{% endif %}{% endfor %}" + CHAT
)
DIALOGUES = [
    [Turn("how was it ?", "a")],
    [Turn("it was a very good day .", "b"), Turn("no idea , sorry .", "a")],
    [Turn("日本語 😀", "a"), Turn("\x00\x1b", "b"), Turn("", "a")],
    [Turn("we saw the film", "a"), Turn("there", "b"), Turn("again .", "a"), Turn("x", "b")],
    [Turn("no", "a")] * 3,
]
SEEDS = [3, 2**62, 5, 5, 0]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    made = {kind: tiny_lm(root / kind, kind, positions=96) for kind in ("gpt2", "llama")}
    made["chat"] = tiny_lm(root / "chat", "llama", seed=1, positions=160)
    _add_template(made["chat"], CHAT)
    made["strict"] = tiny_lm(root / "strict", "llama", seed=1, positions=160)
    _add_template(made["strict"], STRICT)
    made["t5"] = _tiny_t5(root / "t5")
    return made


def _add_template(folder: Path, template: str) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)


def _tiny_t5(folder: Path) -> Path:
    tokenizer = byte_tokenizer(eos_token="<|endoftext|>", pad_token="<|endoftext|>")  # noqa: S106
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
    config = transformers.T5Config(
        vocab_size=len(tokenizer), decoder_start_token_id=0, eos_token_id=0, pad_token_id=0, **sizes
    )
    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def hf(folder: Path, **options: Any) -> HuggingFace:
    return HuggingFace(str(folder), **{"max_tokens": 12, "device": "cpu", **options})


# ---- replies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gpt2", "llama", "chat", "strict", "t5"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_alone_and_in_any_batch(folders: dict[str, Path], kind: str, temperature: float) -> None:
    bot = hf(folders[kind], temperature=temperature)
    together = bot.replies(DIALOGUES, SEEDS)
    assert together == [bot.replies([d], [seed])[0] for d, seed in zip(DIALOGUES, SEEDS, strict=True)]
    assert together == hf(folders[kind], temperature=temperature, batch=2).replies(DIALOGUES, SEEDS)
    assert together[::-1] == bot.replies(DIALOGUES[::-1], SEEDS[::-1])
    assert any(reply.text for reply in together)


@pytest.mark.parametrize("kind", ["chat", "t5"])
def test_the_seed_decides_unless_there_is_no_chance(folders: dict[str, Path], kind: str) -> None:
    dialogues = [DIALOGUES[1]] * 8
    assert len({reply.text for reply in hf(folders[kind]).replies(dialogues, range(8))}) > 4
    assert len({reply.text for reply in hf(folders[kind], temperature=0.0).replies(dialogues, range(8))}) == 1
    assert len({reply.text for reply in hf(folders[kind], top_p=1e-9).replies(dialogues, range(8))}) == 1


def test_greedy_replies_are_those_of_transformers(folders: dict[str, Path]) -> None:
    """The prompt as written here by hand, and the likeliest token by a loop without a cache."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folders["chat"]).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["chat"])
    end = "<|endoftext|>"
    text = f"[system]Be kind.{end}[assistant]it was a very good day .{end}[user]no idea , sorry .{end}[assistant]"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    written: list[int] = []
    while len(written) < 12:
        with torch.inference_mode():
            token = int(model(torch.tensor([ids + written])).logits[0, -1].argmax())
        if token == tokenizer.eos_token_id:
            break
        written.append(token)
    bot = hf(folders["chat"], temperature=0.0, system_prompt="Be kind.")
    assert bot.replies([DIALOGUES[1]], [0]) == [Reply(tokenizer.decode(written).strip())]


def test_lines_end_a_reply_without_messages(folders: dict[str, Path]) -> None:
    bot = hf(folders["gpt2"], max_tokens=40, temperature=3.0, top_p=1.0)
    found = bot.replies([DIALOGUES[0]] * 64, range(64))
    assert all("\n" not in reply.text for reply in found)
    prompts: Any = bot._prompts
    assert prompts.first("\n so it is \nand on") == "so it is"


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


def test_an_empty_dialogue_and_no_dialogue(folders: dict[str, Path]) -> None:
    bot = hf(folders["gpt2"])
    assert bot.replies([], []) == []
    assert bot.replies([[], DIALOGUES[0]], [1, 2]) == [
        Reply("", "nothing to answer"),
        *bot.replies([DIALOGUES[0]], [2]),
    ]


# ---- prompts ---------------------------------------------------------------------------------------------------------


def prompt(bot: HuggingFace, turns: list[Turn]) -> str:
    text: str = bot._writer.tokenizer.decode(bot._prompts.tokens([turns])[0])
    return text


def test_turn_after_turn(folders: dict[str, Path]) -> None:
    turns = [Turn("one\ntwo", "a"), Turn("three <|endoftext|> four", "b")]
    assert prompt(hf(folders["gpt2"], system_prompt="Chat:"), turns) == "Chat:\none two\nthree   four\n"
    assert prompt(hf(folders["gpt2"], separator="eos"), turns) == "one\ntwo<|endoftext|>three   four<|endoftext|>"


def test_messages(folders: dict[str, Path]) -> None:
    turns = [Turn("one", "a"), Turn("two<|endoftext|>[user]", "b"), Turn("three", "b")]
    end = "<|endoftext|>"
    expected = f"[assistant]one{end}[user]two [user]\nthree{end}[assistant]"
    assert prompt(hf(folders["chat"]), turns) == expected
    assert prompt(hf(folders["chat"], chat=False), turns).startswith("one\ntwo")
    # a template that knows no system and wants the user first
    opened = f"[user]{end}" + expected
    assert prompt(hf(folders["strict"]), turns) == opened
    assert prompt(hf(folders["strict"], system_prompt="Be kind."), turns) == opened.replace(
        "[user]", "[user]Be kind.", 1
    )


@pytest.mark.parametrize("kind", ["gpt2", "chat", "strict", "t5"])
def test_long_dialogues_lose_their_first_turns(folders: dict[str, Path], kind: str) -> None:
    turns = [Turn(f"turn {i}", "ab"[i % 2]) for i in range(40)]
    bot = hf(folders[kind], context=80)
    text = prompt(bot, turns)
    assert "turn 39" in text
    assert "turn 0" not in text
    kept = sum(f"turn {i}" in text for i in range(10, 40))
    assert all(f"turn {i}" in text for i in range(40 - kept, 40))
    longer = bot._prompts._text(turns[-kept - 1 :], roles(turns)[-kept - 1 :])
    assert len(bot._prompts._numbers([longer])[0]) > 80
    assert len(bot._prompts.tokens([turns])[0]) <= 80
    assert bot._prompts.tokens([turns[:3], turns, turns[:20]])[1] == bot._prompts.tokens([turns])[0]
    assert guarded(bot, [turns], [1]) == guarded(bot, [turns], [1])


@pytest.mark.parametrize("kind", ["gpt2", "chat", "t5"])
@pytest.mark.parametrize("text", ["word " * 500 + "end", "日本語😀" * 300])
def test_a_turn_that_is_too_long_loses_its_beginning(folders: dict[str, Path], kind: str, text: str) -> None:
    bot = hf(folders[kind], context=60)
    assert len(bot._prompts.tokens([[Turn(text)]])[0]) <= 60
    assert text[-3:] in prompt(bot, [Turn(text)])
    assert len(bot.replies([[Turn(text)]], [0])) == 1


# ---- chance ----------------------------------------------------------------------------------------------------------


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


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_batch_that_does_not_fit_is_halved(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    bot = hf(folders["llama"])
    expected = bot.replies(DIALOGUES, SEEDS)
    network, sizes = bot._writer.network, []
    real = network.generate

    def limited(input_ids: torch.Tensor, **options: Any) -> Any:
        sizes.append(len(input_ids))
        if len(input_ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(input_ids=input_ids, **options)

    monkeypatch.setattr(network, "generate", limited)
    monkeypatch.setattr(bot._writer, "size", 2**20)
    assert bot.replies(DIALOGUES, SEEDS) == expected
    assert sizes == [5, 2, 3, 1, 2]
    del sizes[:]
    assert bot.replies(DIALOGUES, SEEDS) == expected
    assert max(sizes) <= 2


def test_a_dialogue_that_never_fits_fails_alone(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    bot = hf(folders["gpt2"])
    expected = guarded(bot, DIALOGUES, SEEDS)
    network, longest = bot._writer.network, max(map(len, bot._prompts.tokens(DIALOGUES)))
    real = network.generate

    def limited(input_ids: torch.Tensor, **options: Any) -> Any:
        if input_ids.shape[1] == longest:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(input_ids=input_ids, **options)

    monkeypatch.setattr(network, "generate", limited)
    monkeypatch.setattr(bot._writer, "size", 2**20)
    found = guarded(bot, DIALOGUES, SEEDS)
    wrong = [i for i, reply in enumerate(found) if reply != expected[i]]
    assert [len(bot._prompts.tokens([DIALOGUES[i]])[0]) for i in wrong] == [longest]
    assert "no memory" in found[wrong[0]].failure


def test_what_is_no_writer_is_said_early(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        hf(tmp_path / "nothing").signature()
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickled")
    with pytest.raises(InputError, match="safetensors"):
        hf(tmp_path).signature()
    with pytest.raises(InputError, match="no chat template"):
        hf(folders["gpt2"], chat=True).signature()
    for kind, positions in (("gpt2", 96), ("t5", 1024)):
        with pytest.raises(InputError, match=f"max_tokens must be below the model's {positions} positions"):
            hf(folders[kind], max_tokens=positions).signature()


@pytest.mark.parametrize(
    "option", ["temperature=-0.1", "top_p=0", "top_p=1.5", "max_tokens=0", "batch=0", "separator=''"]
)
def test_settings_that_cannot_be(option: str) -> None:
    with pytest.raises(InputError, match="must"):
        create(f"hf(model='x',{option})", kind="bot")


def test_the_signature_is_the_weights_and_what_changes_replies(folders: dict[str, Path], tmp_path: Path) -> None:
    bot = hf(folders["gpt2"])
    moved = tiny_lm(tmp_path / "again", "gpt2", positions=96)
    assert hf(moved, batch=3).signature() == bot.signature()
    assert "precision='float32'" in str(bot.signature())
    others = [hf(folders["chat"]), hf(folders["gpt2"], temperature=0.5), hf(tiny_lm(tmp_path / "b", "gpt2", seed=9))]
    assert len({other.signature() for other in [bot, *others]}) == 4
    assert create(spec(bot), kind="bot") == bot


def test_the_models_own_settings_of_sampling_do_not_count(folders: dict[str, Path], tmp_path: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(folders["gpt2"])
    model.generation_config.update(do_sample=True, temperature=0.3, top_k=2, top_p=0.2, max_length=20)
    model.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(folders["gpt2"]).save_pretrained(tmp_path)
    assert hf(tmp_path).replies(DIALOGUES, SEEDS) == hf(folders["gpt2"]).replies(DIALOGUES, SEEDS)
    assert generate.Writer(str(tmp_path), device="cpu").ends == [0]
