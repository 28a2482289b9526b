"""Openings of dialogues from files and from the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq.errors import InputError
from interloq.play.openings import Opening, openings_fingerprint, read_openings
from tests.play.made_openings import openings


def test_openings_from_dialogues_lines_and_text_are_the_same(tmp_path: Path) -> None:
    rows = [["hello", "hi", "and more"], ["How are you?", "Tired\u2028\x07 [bold]."]]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"id": f"o{i}", "turns": r}) for i, r in enumerate(rows)))
    full = [{"kind": "dialogues", "schema": 1}] + [
        {"id": f"o{i}", "turns": [{"text": t, "speaker": "A"} for t in r]} for i, r in enumerate(rows)
    ]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, full)))
    found = read_openings(tmp_path / "a.jsonl")
    assert found == read_openings(tmp_path / "b.jsonl")
    assert found == [Opening("o0", ("hello", "hi")), Opening("o1", ("How are you?", "Tired\u2028\x07 [bold]."))]
    (tmp_path / "c.txt").write_text("\n".join("\t".join(r) for r in rows), encoding="utf-8")
    assert [o.turns for o in read_openings(tmp_path / "c.txt")] == [o.turns for o in found]
    assert [o.turns for o in read_openings(tmp_path / "c.txt", given=1)] == [("hello",), ("How are you?",)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "", "no usable record among 0 lines; write one record per line"),
        ("a.txt", "\n  \n", "no opening in the file"),
        ("a.txt", "hello\thi\nalone\n", "a.txt:2: the opening has 1 of 2 utterances"),
        ("a.txt", "hello\t \n", "a.txt:1: an utterance of the opening is empty"),
        ("a.jsonl", '{"id": "x", "turns": ["a", "b"]}\n{"id": "x", "turns": ["c", "d"]}\n', "duplicate id 'x'"),
    ],
)
def test_openings_that_cannot_be_used_are_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read_openings(tmp_path / name)
    assert said in str(caught.value)


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_embedded_openings(language: str) -> None:
    found = read_openings(f"embedded:{language}")
    assert len(found) == 40
    texts = [text for opening in found for text in opening.turns]
    assert len(set(texts)) == 80


def test_an_unknown_language_is_named() -> None:
    with pytest.raises(InputError, match="no openings in 'fr'"):
        read_openings("embedded:fr")


def test_the_fingerprint_is_of_the_texts_whatever_their_order() -> None:
    assert openings_fingerprint(openings(3)) == openings_fingerprint(openings(3)[::-1])
    assert openings_fingerprint(openings(3)) != openings_fingerprint(openings(2))
    assert openings_fingerprint([Opening("a", ("b", "c"))]) != openings_fingerprint([Opening("a", ("bc", ""))])
