"""The bot `hf`: specs, signatures and what cannot be used."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from interloq import InputError, create, spec
from interloq.play.bot import ask_bot
from interloq.play.bots.hugging_face import HuggingFace
from interloq.records import Turn
from interloq.servers.replies import Reply, roles
from tests.made_lm import tiny_lm
from tests.play.made_writers import DIALOGUES, SEEDS, add_template, hf, limit_memory

pytest.importorskip("transformers")


@pytest.mark.parametrize("kind", ["gpt2", "llama", "chat", "strict", "t5"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_alone_and_in_any_batch(folders: dict[str, Path], kind: str, temperature: float) -> None:
    bot = hf(folders[kind], temperature=temperature)
    together = bot.replies(DIALOGUES, SEEDS)
    assert together == [bot.replies([d], [seed])[0] for d, seed in zip(DIALOGUES, SEEDS, strict=True)]
    assert together == hf(folders[kind], temperature=temperature, batch=2).replies(DIALOGUES, SEEDS)
    assert together[::-1] == bot.replies(DIALOGUES[::-1], SEEDS[::-1])
    assert any(reply.text for reply in together)


@pytest.mark.parametrize("kind", ["gpt2", "chat", "t5"])
def test_a_streamed_reply_is_the_same_and_grows(folders: dict[str, Path], kind: str) -> None:
    bot = hf(folders[kind])
    for turns, seed in zip(DIALOGUES, SEEDS, strict=True):
        texts: list[str] = []
        (whole,) = bot.replies([turns], [seed])
        assert bot.stream(turns, seed, texts.append) == whole
        assert all(later.startswith(text) for text, later in pairwise([*texts, whole.text]))
        assert len(texts) > 1 or len(whole.text.split()) < 2


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


def test_an_empty_dialogue_and_no_dialogue(folders: dict[str, Path]) -> None:
    bot = hf(folders["gpt2"])
    assert bot.replies([], []) == []
    assert bot.replies([[], DIALOGUES[0]], [1, 2]) == [
        Reply("", "nothing to answer"),
        *bot.replies([DIALOGUES[0]], [2]),
    ]


def test_a_dialogue_that_never_fits_fails_alone(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    bot = hf(folders["gpt2"])
    expected = ask_bot(bot, DIALOGUES, SEEDS)
    longest = max(map(len, bot._prompts.tokens(DIALOGUES)))
    limit_memory(monkeypatch, bot, lambda rows: rows.shape[1] == longest)
    found = ask_bot(bot, DIALOGUES, SEEDS)
    wrong = [i for i, reply in enumerate(found) if reply != expected[i]]
    assert [len(bot._prompts.tokens([DIALOGUES[i]])[0]) for i in wrong] == [longest]
    assert "not enough memory" in found[wrong[0]].failure


def test_what_is_not_a_writer_is_reported_early(folders: dict[str, Path], tmp_path: Path) -> None:
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


def test_lines_end_a_reply_without_messages(folders: dict[str, Path]) -> None:
    bot = hf(folders["gpt2"], max_tokens=40, temperature=3.0, top_p=1.0)
    found = bot.replies([DIALOGUES[0]] * 64, range(64))
    assert all("\n" not in reply.text for reply in found)
    prompts: Any = bot._prompts
    assert prompts.first("\n so it is \nand on") == "so it is"


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
    assert len(bot._prompts._encode([longer])[0]) > 80
    assert len(bot._prompts.tokens([turns])[0]) <= 80
    assert bot._prompts.tokens([turns[:3], turns, turns[:20]])[1] == bot._prompts.tokens([turns])[0]
    assert ask_bot(bot, [turns], [1]) == ask_bot(bot, [turns], [1])


@pytest.mark.parametrize("kind", ["gpt2", "chat", "t5"])
@pytest.mark.parametrize("text", ["word " * 500 + "end", "日本語😀" * 300])
def test_a_turn_that_is_too_long_loses_its_beginning(folders: dict[str, Path], kind: str, text: str) -> None:
    bot = hf(folders[kind], context=60)
    assert len(bot._prompts.tokens([[Turn(text)]])[0]) <= 60
    assert text[-3:] in prompt(bot, [Turn(text)])
    assert len(bot.replies([[Turn(text)]], [0])) == 1


def test_a_template_that_takes_all_memory_is_refused_before_the_first_dialogue(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(folders["chat"], tmp_path / "model")
    add_template(folder, "{{ 'x' * 3000000000 }}")
    with pytest.raises(InputError, match="the chat template cannot be used: it takes more than 512 MiB"):
        hf(folder).signature()


def test_fields_of_later_versions_change_signatures_only_if_they_are_set(folders: dict[str, Path]) -> None:
    name = hf(folders["gpt2"]).signature().name
    assert name == (
        "hf(model='',temperature=1.0,top_p=0.9,max_tokens=12,chat='auto',system_prompt='',separator='\\n',context=1024,"
        "batch=256,device='auto',precision='float32')"
    )
    searching = hf(folders["gpt2"], beams=4, groups=2, diversity=0.5).signature().name
    assert searching == f"{name[:-1]},beams=4,groups=2,diversity=0.5)"


def test_beams_replace_sampling(folders: dict[str, Path]) -> None:
    """Replies no longer depend on the seed, and more beams than tokens are refused."""
    for options in ({"beams": 3}, {"beams": 4, "groups": 2, "diversity": 0.5}):
        bot = hf(folders["gpt2"], **options)
        together = bot.replies(DIALOGUES, SEEDS)
        assert together == hf(folders["gpt2"], batch=2, **options).replies(DIALOGUES, [1] * len(SEEDS))
        assert all(reply.failure == "" for reply in together)
    with pytest.raises(InputError, match="5000 beams are more than the model's 305 tokens"):
        hf(folders["gpt2"], beams=5000).signature()


@pytest.mark.parametrize(
    ("options", "message"),
    [("beams=4,groups=3", "divided into 3 equal groups"), ("top_k=-1", "top_k"), ("beams=2,diversity=0.5", "groups")],
)
def test_decoding_that_means_nothing_is_refused(options: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        create(f"hf(model='x',{options})", kind="bot")
