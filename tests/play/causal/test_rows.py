"""Rows of tokens: turns with their ends, cut at the front; who speaks; and the dev part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq.errors import InputError
from interloq.play.causal.rows import ReplyRows, read_rows
from interloq.play.networks.settings import BotReading
from interloq.scorers.relevance.examples import Exchange
from tests.made_lm import byte_tokenizer

READING = BotReading(turns=3, context=24, reply=8, dev=2, language="en")
EXCHANGES = [
    Exchange(("how was it ?", "good ."), "no idea , sorry .", "t1", speaker="ann"),
    Exchange(("we saw the film",), "day", "t2", speaker="bob"),
    Exchange(("a very good day .",), "it was", "t3", speaker="ann"),
    Exchange(("sorry .",), "no", "t4", speaker="cat"),
    Exchange(("  ",), "no", "t5"),
    Exchange(("x",), "the", "t6"),
    Exchange(("y",), "the", "t7", speaker="ann"),
    Exchange(("y",), "the", "t7", speaker="ann"),  # a copy
]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return byte_tokenizer(eos_token="<|endoftext|>")  # noqa: S106


def _texts(rows: ReplyRows, tokenizer: Any) -> Iterator[tuple[str, str]]:
    """Yield context and reply of each row, with the end written as `|`."""
    for i, n in enumerate(rows.replies.tolist()):
        row = rows.texts[i].tolist()
        parts = (tokenizer.decode(row[:-n]), tokenizer.decode(row[-n:]))
        yield parts[0].replace("<|endoftext|>", "|"), parts[1].replace("<|endoftext|>", "|")


def test_every_turn_ends_and_the_reply_comes_last(tokenizer: Any) -> None:
    rows = read_rows(EXCHANGES, tokenizer, READING, user_replies=1)
    assert sorted(_texts(rows, tokenizer)) == [
        ("a very good day .|", "it was|"),
        ("how was it ?|good .|", "no idea , sorry .|"),
        ("sorry .|", "no|"),
        ("we saw the film|", "day|"),
        ("x|", "the|"),
        ("y|", "the|"),
    ]
    assert (rows.facts["blank"], rows.facts["exchanges"]) == (1, 6)


def test_contexts_lose_their_beginning_and_replies_their_end(tokenizer: Any) -> None:
    rows = read_rows(EXCHANGES, tokenizer, replace(READING, context=4, reply=3), user_replies=1)
    found = dict(_texts(rows, tokenizer))
    assert "no idea ," in found.values()
    assert rows.words.max() == 4  # of which one is the end that is not there
    assert set((np.diff(rows.ends) - rows.replies).tolist()) <= {2, 3, 4}


def test_special_tokens_in_a_text_are_only_text(tokenizer: Any) -> None:
    exchanges = [Exchange(("a <|endoftext|> b",), f"no <|endoftext|> {i}", f"t{i}") for i in range(4)]
    rows = read_rows(exchanges, tokenizer, replace(READING, reply=40), user_replies=1)
    assert [(rows.texts[i] == tokenizer.eos_token_id).sum() for i in range(4)] == [2] * 4


def test_a_reverse_model_learns_the_last_turn(tokenizer: Any) -> None:
    rows = read_rows(EXCHANGES, tokenizer, READING, user_replies=1, reverse=True)
    assert ("no idea , sorry .|", "good .|") in list(_texts(rows, tokenizer))


def test_users_with_enough_training_replies_have_a_number(tokenizer: Any) -> None:
    rows = read_rows(EXCHANGES, tokenizer, READING, user_replies=2)
    train = rows.range("train")
    replies = {"ann": 0, "bob": 0, "cat": 0}
    speaker_of = {"no idea , sorry .": "ann", "it was": "ann", "day": "bob", "no": "cat"}
    for i, (_, reply) in list(enumerate(_texts(rows, tokenizer)))[train]:
        user = speaker_of.get(reply.strip("|"), "ann" if rows.users[i] else "")
        if user:
            replies[user] += 1
    assert rows.facts["users"] == [user for user, n in replies.items() if n >= 2]
    assert rows.users.max(initial=0) <= len(rows.facts["users"])


def test_nothing_depends_on_the_order_of_the_log(tokenizer: Any, tmp_path: Path) -> None:
    rows = read_rows(EXCHANGES, tokenizer, READING, user_replies=1)
    turned = read_rows(EXCHANGES[::-1], tokenizer, READING, user_replies=1)
    rows.save(tmp_path)
    loaded = ReplyRows.load(tmp_path)
    for name in ("tokens", "ends", "replies", "users", "words"):
        assert getattr(turned, name).tolist() == getattr(rows, name).tolist()
        assert getattr(loaded, name).tolist() == getattr(rows, name).tolist()
    assert loaded.facts == turned.facts == rows.facts


def test_characters_count_as_words_in_japanese(tokenizer: Any) -> None:
    exchanges = [Exchange(("お元気ですか",), "はい 元気", f"t{i}") for i in range(6)]
    rows = read_rows(exchanges, tokenizer, replace(READING, language="ja", reply=40), user_replies=1)
    assert rows.words.tolist() == [5] * 6  # four characters and the end


def test_a_log_without_replies_is_refused(tokenizer: Any) -> None:
    with pytest.raises(InputError, match="no text in the log has a reply"):
        read_rows([], tokenizer, READING, user_replies=1)
