"""Rubrics: those of the package, one's own, and dialogues inside prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError
from interloq.data.text.language import language_of
from interloq.metrics.llm_judge.rubrics import LANGUAGES, PROMPTS, dialogue_json, read_rubric, transcript_json

GOOD: dict[str, Any] = {
    "scale": [0, 3],
    "dimensions": {"kind": "is it kind?"},
    "single": "{definition} {dialogue} {lowest} {highest}",
}


def written(folder: Path, **changes: Any) -> str:
    path = folder / "mine.json"
    path.write_text(json.dumps(GOOD | changes))
    return str(path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rubrics_for_dialogues(language: str) -> None:
    rubric = read_rubric(language, "dialogue")
    assert list(rubric.dimensions) == ["overall", "coherent", "consistent", "natural", "engaging"]
    dialogue = transcript_json([("judged", 'a "<|x|>"'), ("other", "b")])
    for prompt in (rubric.single("overall", dialogue), rubric.several(["overall", "natural"], dialogue)):
        assert dialogue in prompt
        assert "{" not in prompt.replace(dialogue, "")
        assert '"<|x|>"' not in prompt
    assert list(rubric.prompts) == ["single", "several"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rubrics_of_the_package(language: str) -> None:
    rubric, english = read_rubric(language), read_rubric("en")
    assert list(rubric.dimensions) == list(english.dimensions)
    assert (rubric.lowest, rubric.highest, rubric.choices) == (1, 5, ("1", "2", "3", "4", "5"))
    assert list(rubric.prompts) == list(PROMPTS)
    prompts = [
        rubric.single("overall", '{"reply": "{lowest}"}'),
        rubric.several(["overall", "natural"], '{"reply": "{lowest}"}'),
        rubric.pair("overall", '{"reply": "{lowest}"}', "A / B"),
    ]
    for prompt in prompts:
        assert '{"reply": "{lowest}"}' in prompt  # braces in the dialogue stay
        assert prompt.count("{") == 2
    assert '"overall", "natural"' in prompts[1]
    assert language_of(prompts[0]) == language


def test_your_own_rubric(tmp_path: Path) -> None:
    rubric = read_rubric(written(tmp_path))
    assert rubric.single("kind", "D") == "is it kind? D 0 3"
    assert read_rubric(written(tmp_path, scale=[0, 4])).fingerprint() != rubric.fingerprint()
    with pytest.raises(InputError, match="no dimension 'kin'; did you mean 'kind'"):
        rubric.check("single", ["kin"])
    with pytest.raises(InputError, match="no prompt 'pair'"):
        rubric.check("pair", ["kind"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": [1, 10]}, r"scale must be two digits such as \[1, 5\], got"),
        ({"scale": [5, 1]}, "scale must be two digits"),
        ({"scale": [True, 5]}, "scale must be two digits"),
        ({"scale": "1-5"}, "scale must be two digits"),
        ({"dimensions": {}}, "dimensions must contain texts"),
        ({"dimensions": {"kind": 3}}, "'kind' must be a text, got 3"),
        ({"single": "{definition} {lowest} {highest}"}, r"the prompt 'single' lacks \{dialogue\}"),
        ({"singel": "x"}, "unknown part 'singel'; did you mean 'single'"),
    ],
)
def test_files_that_are_not_rubrics(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_rubric(written(tmp_path, **changes))


def test_a_rubric_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="no rubric 'fr'; name a JSON file, or one of these: auto, en, ja, zh"):
        read_rubric("fr")


@given(
    turns=st.lists(st.text(max_size=30), max_size=6),
    reply=st.text(min_size=1, max_size=300),
    longest=st.integers(60, 400),
)
def test_a_dialogue_is_json_of_limited_size(turns: list[str], reply: str, longest: int) -> None:
    excerpt = dialogue_json(turns, {"reply": reply}, longest=longest)
    assert len(excerpt.text.encode()) <= longest + 40  # braces and keys
    assert "<" not in excerpt.text
    value = json.loads(excerpt.text)
    kept, last = value["context"], turns[len(turns) - len(value["context"]) :]
    assert kept[1:] == last[1:]
    assert kept[:1] == last[:1] or last[0].endswith(kept[0].removeprefix("…"))
    assert excerpt.context_cut == (kept != turns)
    assert excerpt.replies_cut == (value["reply"] != reply)
    assert value["reply"] == reply or reply.startswith(value["reply"].removesuffix("…"))


def test_old_turns_are_dropped_first_and_the_next_one_loses_its_beginning() -> None:
    turns = ["a" * 50, "b" * 50 + "end of it", "c"]
    excerpt = dialogue_json(turns, {"A": "x", "B": "y"}, longest=80)
    first, second = json.loads(excerpt.text)["context"]
    assert (first[:2], first[-9:], second) == ("…b", "end of it", "c")
    assert (excerpt.replies_cut, excerpt.context_cut) == (0, True)
    whole = dialogue_json(turns, {"A": "x", "B": "y"}, longest=200)
    assert json.loads(whole.text)["context"] == turns
    assert (whole.replies_cut, whole.context_cut) == (0, False)


def test_a_long_reply_leaves_room_for_the_context() -> None:
    turns = ["an old turn " * 15, "the question " * 15]
    excerpt = dialogue_json(turns, {"A": "x" * 9_000, "B": "y" * 300}, longest=1_000)
    value = json.loads(excerpt.text)
    assert value["context"][-1] == turns[-1]
    assert value["A"].endswith("…")
    assert len(value["A"]) < 300
    assert (excerpt.replies_cut, excerpt.context_cut) == (2, False)
    alone = dialogue_json(["hi"], {"reply": "x" * 9_000}, longest=1_000)
    assert json.loads(alone.text)["context"] == ["hi"]
    assert len(json.loads(alone.text)["reply"]) > 900  # a short context needs no more than its own room


def test_half_characters_are_replaced() -> None:
    assert json.loads(dialogue_json([], {"reply": "a\ud800"}, longest=99).text)["reply"] == "a\ufffd"
