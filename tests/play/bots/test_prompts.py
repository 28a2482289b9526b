"""Dialogues as prompts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError
from interloq.play.bot import guarded, roles
from interloq.play.bots.hugging_face import HuggingFace
from interloq.records import Turn
from tests.play.made_writers import DIALOGUES, add_template, hf

pytest.importorskip("transformers")


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


def test_a_template_that_takes_all_memory_is_refused_before_the_first_dialogue(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(folders["chat"], tmp_path / "model")
    add_template(folder, "{{ 'x' * 3000000000 }}")
    with pytest.raises(InputError, match="the chat template cannot be used: it takes more than 512 MiB"):
        hf(folder).signature()
