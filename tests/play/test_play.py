"""The modules of `interloq.play`: dialogue origin, openings."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Signature
from interloq.play.dialogue_origin import common_origin, origin
from interloq.play.openings import Opening, openings_fingerprint, read_openings
from tests.play.made_openings import openings

PLAYED = {"kind": "dialogues", "partners": "abc", "scheme": "bipartite", "openings": "o", "exchanges": 3}


def judged(**parts: str) -> dict[str, Any]:
    signature = Signature.of("relevance", parts)
    return {"kind": "scores", "results": [{"metric": "relevance", "signature": asdict(signature)}]}


def test_what_all_say_is_common() -> None:
    found = common_origin({"a": PLAYED, "b": PLAYED | {"bots": {"x": "1"}}, "s": {"kind": "scores"}})
    assert found == {"partners": "abc", "scheme": "bipartite", "openings": "o", "exchanges": "3"}
    assert origin({"partners": "", "exchanges": 0, "seed": 1}) == {"exchanges": "0"}


@pytest.mark.parametrize("change", [{"partners": "xyz"}, {"scheme": "self-play"}, {"openings": "p"}, {"exchanges": 4}])
def test_files_that_differ_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="a and b come from different"):
        common_origin({"a": PLAYED, "b": PLAYED | change})


def test_a_file_without_a_partner_set_is_not_compared_with_one_that_has() -> None:
    with pytest.raises(InputError, match="a was played against partner set abc, b names no"):
        common_origin({"a": PLAYED, "b": {"kind": "dialogues"}})


def test_one_name_is_one_system() -> None:
    with pytest.raises(InputError, match="have different systems named 'x'"):
        common_origin({"a": PLAYED | {"bots": {"x": "1"}}, "b": PLAYED | {"bots": {"x": "2"}}})


def test_one_metric_is_one_judge() -> None:
    common_origin({"a": judged(model="m", samples="1"), "b": judged(model="m", samples="2", seed="9")})
    with pytest.raises(InputError, match="different versions of relevance: model:m and model:n"):
        common_origin({"a": judged(model="m"), "b": judged(model="n")})


def test_signatures_without_parts_cannot_be_compared() -> None:
    old = {"kind": "scores", "results": [{"metric": "relevance", "signature": "relevance|model:m"}]}
    with pytest.raises(InputError, match=r"b .*interloq score SAMPLES -m relevance -o b"):
        common_origin({"a": judged(model="m"), "b": old})


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
