"""The modules of `interloq.data.text`: texts, token texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Dialogue, InputError, Reference, Sample, Score, Turn, create, write
from interloq.data.text.texts import UnseenTexts, file_texts, kind_of
from interloq.data.text.token_texts import Texts, TokenNumbering
from interloq.records import Pair, Post


def test_records_of_every_kind(tmp_path: Path) -> None:
    cases = {
        "samples": (Sample("1", ["a", " "], "b", [Reference("c"), Reference("")]), ["a", "b", "c"]),
        "dialogues": (Dialogue("1", [Turn("a"), Turn("b")]), ["a", "b"]),
        "pairs": (Pair("1", "a", "b"), ["a", "b"]),
        "posts": (Post("1", "user", "a"), ["a"]),
    }
    for kind, (record, texts) in cases.items():
        write(tmp_path / "with.jsonl", [record], kind=kind)
        lines = (tmp_path / "with.jsonl").read_text().splitlines()
        (tmp_path / "without.jsonl").write_text("\n".join(["", *lines[1:]]))
        for name in ("with.jsonl", "without.jsonl"):
            assert kind_of(tmp_path / name) == kind
            assert list(file_texts(tmp_path / name)) == texts


def test_plain_text_is_a_text_a_line(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("one two\n\n{not json\nlast")
    assert kind_of(tmp_path / "t.txt") == "text"
    assert list(file_texts(tmp_path / "t.txt")) == ["one two", "{not json", "last"]
    (tmp_path / "t.csv").write_text("response\nhello\n")
    assert list(file_texts(tmp_path / "t.csv")) == ["hello"]
    (tmp_path / "j.txt").write_text(json.dumps({"response": "x"}))
    assert list(file_texts(tmp_path / "j.txt", kind="text")) == ['{"response": "x"}']


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b"fine\nna\xefve\n")
    with pytest.raises(InputError, match=r"t.txt:2: byte 3 is not valid UTF-8; save the file as UTF-8"):
        list(file_texts(tmp_path / "t.txt"))


def test_the_first_record_shows_what_a_file_holds(tmp_path: Path) -> None:
    shown = {
        '{"messages": []}': "dialogues",
        '[{"conversations": []}]': "dialogues",
        '[\n {"reply": "a", "messages": []}\n]': "samples",
        "[laughs] no JSON": "text",
        '{"id": "1", "metric": "bleu", "value": 0.5}': "scores",
        '{"id": "1", "response": "a", "metric": "m"}': "samples",
        '{"item": "1", "rater": "ann", "value": 4}': "ratings",
    }
    for text, kind in shown.items():
        (tmp_path / "a.json").write_text(text)
        assert kind_of(tmp_path / "a.json") == kind
    with pytest.raises(InputError, match="cannot read"):
        kind_of(tmp_path / "absent.json")


def test_scores_have_no_texts(tmp_path: Path) -> None:
    write(tmp_path / "scores.jsonl", [Score("1", "bleu", 0.5)], kind="scores")
    with pytest.raises(InputError, match=r"scores.jsonl: scores have no texts; give a file of text, pairs"):
        list(file_texts(tmp_path / "scores.jsonl"))


@given(st.lists(st.lists(st.text(max_size=3), max_size=10), max_size=20))
def test_distinct_texts_over_many_batches(batches: list[list[str]]) -> None:
    distinct, seen, expected, found = UnseenTexts(), set[str](), list[str](), list[str]()
    for batch in batches:
        found += distinct.new(batch) if batch else []
        expected += [text for text in dict.fromkeys(batch) if text not in seen]
        seen.update(batch)
    assert found == expected


def number_tokens(name: str, texts: list[str]) -> list[list[str]]:
    numbering = TokenNumbering(create(name, kind="tokenizer"))
    found = numbering.texts(texts)
    words = numbering.vocabulary()
    return [[words[i] for i in found[text]] for text in range(len(texts))]


@given(st.lists(st.text(st.sampled_from("ab-.\n 漢"), max_size=12), max_size=6))
def test_numbers_stand_for_the_tokenizers_tokens(texts: list[str]) -> None:
    for name in ("whitespace", "intl", "char", "13a", "zh"):
        assert number_tokens(name, texts) == [list(create(name, kind="tokenizer").tokens(text)) for text in texts]


def test_equal_tokens_have_equal_numbers_in_later_calls() -> None:
    numbering = TokenNumbering(create("whitespace", kind="tokenizer"))
    first, second = numbering.texts(["a b"]), numbering.texts(["b c a"])
    assert first.tokens.tolist() == [0, 1]
    assert second.tokens.tolist() == [1, 2, 0]


def test_texts_are_padded_joined_and_thinned() -> None:
    texts = Texts.of([[5, 6, 7], [], [8]])
    assert texts.lengths.tolist() == [3, 0, 1]
    assert texts.pad(np.array([2, 0, 1]), 2, -1).tolist() == [[8, -1], [5, 6], [-1, -1]]
    tokens, lengths = texts.join(np.array([2, 1, 0]))
    assert (tokens.tolist(), lengths.tolist()) == ([8, 5, 6, 7], [1, 0, 3])
    thin = texts.without(texts.tokens == 6)
    assert [thin[i].tolist() for i in range(3)] == [[5, 7], [], [8]]
    assert [part.tolist() for part in texts.join(np.zeros(0, dtype=np.int64))] == [[], []]
