"""The follow-ups that come with Interloq, and files that users write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError
from interloq.data.follow_ups import LANGUAGES, read_follow_ups

TURN = {
    "interesting",
    "engaging",
    "specific",
    "relevant",
    "correct",
    "semantically appropriate",
    "understandable",
    "fluent",
}


def write_follow_ups(path: Path, content: Any) -> str:
    file = path / "mine.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return str(file)


def test_the_eighteen_dimensions_of_the_paper() -> None:
    fed = [d for d in read_follow_ups("en").dimensions.values() if not d.source]
    assert {d.name for d in fed if d.level == "turn"} == TURN
    assert len([d for d in fed if d.level == "dialogue"]) == 10
    assert len([d for d in fed if not d.positive]) == 8
    assert all(d.negative for d in fed)
    assert read_follow_ups("en").dimension("diverse").negative == (
        "Stop saying the same thing repeatedly.",
        "Why are you repeating yourself?",
        "Stop repeating yourself!",
    )


def test_what_is_our_own_says_so() -> None:
    file = read_follow_ups("en")
    assert file.dimension("overall").source == file.dimension("sensibleness").source == "Interloq's own"
    assert "Sato" in file.dimension("specificity").source
    assert file.dimension("specificity").negative == file.dimension("specific").negative


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_same_shape(language: str) -> None:
    english, other = read_follow_ups("en"), read_follow_ups(language)
    assert list(other.dimensions) == list(english.dimensions)
    for name, dimension in other.dimensions.items():
        first = english.dimensions[name]
        assert (dimension.level, len(dimension.positive), len(dimension.negative)) == (
            first.level,
            len(first.positive),
            len(first.negative),
        )
    assert len(other.full) == len(english.full) == 5
    assert language == "en" or not any(text.isascii() for text in (*other.texts(), *other.full))


def test_names_may_be_written_with_underscores() -> None:
    file = read_follow_ups("en")
    assert file.dimension("Semantically_Appropriate") == file.dimension("semantically appropriate")
    with pytest.raises(InputError, match="en: no dimension 'intresting'; did you mean 'interesting'"):
        file.dimension("intresting")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = write_follow_ups(
        tmp_path, {"turn": {"Kind": {"positive": ["So kind !"]}, "rude": {"negative": ["How rude !"]}}}
    )
    file = read_follow_ups(path)
    assert file.dimension("kind").positive == ("So kind !",)
    assert (file.dimension("rude").positive, file.dimension("rude").level, file.full) == ((), "turn", ())
    assert file.texts() == ["So kind !", "How rude !"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not valid JSON "),
        ('{"turn": ', "not valid JSON "),
        ([], r"expected a JSON object, got list; write"),
        ({}, "no dimension in the file; write"),
        ({"turn": {}}, "no dimension in the file"),
        ({"turns": {}}, "unknown part 'turns'; did you mean 'turn'"),
        ({"turn": ["kind"]}, r"'turn' must contain dimensions, got \['kind'\]"),
        ({"turn": {"kind": ["So kind !"]}}, "dimension 'kind' must be an object, got"),
        ({"turn": {"kind": {}}}, "dimension 'kind' has no follow-ups"),
        ({"turn": {"kind": {"positve": ["x"]}}}, "'kind' has an unknown part 'positve'; did you mean 'positive'"),
        ({"turn": {"kind": {"positive": "So kind !"}}}, "kind.positive must be a list of texts, got 'So kind !'"),
        ({"turn": {"kind": {"positive": ["a", " "]}}}, r"kind.positive\[1\] must be a text, got ' '"),
        ({"turn": {"kind": {"positive": [3]}}}, r"kind.positive\[0\] must be a text, got 3"),
        ({"turn": {"kind": {"positive": ["a", "a"]}}}, "kind.positive has 'a' twice"),
        ({"turn": {"kind": {"positive": ["a"], "negative": ["a"]}}}, "'kind' has 'a' on both sides"),
        ({"turn": {"kind": {"positive": ["a"]}}, "dialogue": {"KIND": {"negative": ["b"]}}}, "'KIND' is listed twice"),
        ({"full": [""]}, r"full\[0\] must be a text"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, content: Any, message: str) -> None:
    path = write_follow_ups(tmp_path, content)
    with pytest.raises(InputError, match=message) as caught:
        read_follow_ups(path)
    assert str(caught.value).startswith(path)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no follow-ups 'de'; name a JSON file, or one of these: en, ja, zh"):
        read_follow_ups("de")
