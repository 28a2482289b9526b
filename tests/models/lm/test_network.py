"""What all language models share."""

from __future__ import annotations

from pathlib import Path

import pytest
import transformers

from interloq import InputError
from interloq.models.lm.causal import LanguageModel
from interloq.models.lm.network import TurnTokens
from tests.made_lm import tiny_lm


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("lm"), positions=64)


def test_no_more_is_read_than_the_network_has_positions(folder: Path) -> None:
    assert LanguageModel(str(folder), device="cpu", longest=32).longest == 32
    assert LanguageModel(str(folder), device="cpu", longest=500).longest == 64
    with pytest.raises(InputError, match="longest must be at least 2, got 1"):
        LanguageModel(str(folder), device="cpu", longest=1)


def test_the_signature_names_all_that_likelihoods_depend_on(folder: Path) -> None:
    signed = LanguageModel(str(folder), device="cpu").signature()
    assert signed.startswith("gpt2-")
    assert LanguageModel(str(folder), device="cpu", tokens=7).signature() == signed
    assert LanguageModel(str(folder), device="cpu", longest=32).signature() != signed
    assert LanguageModel(str(folder), device="cpu", precision="float64").signature() == f"{signed}-float64"


TEMPLATE = (
    "{% if messages[0].role != 'user' %}{{ raise_exception('the user speaks first') }}{% endif %}"
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


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
