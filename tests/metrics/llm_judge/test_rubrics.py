"""Rubrics: those of the package, one's own, and dialogues inside prompts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError, Sample, Turn
from interloq.data.text.language import language_of
from interloq.metrics.llm_judge.rubrics import (
    LANGUAGES,
    NOT_WHOLE,
    PROMPTS,
    SILENT,
    dialogue_json,
    join_judged_turns,
    read_choice,
    read_object,
    read_rubric,
    response_format,
    transcript,
    transcript_json,
    unjudgable,
)

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


DIALOGUE = Sample("d", [Turn("hi", "other"), Turn("hello", "judged"), Turn(" ", "other"), Turn("well", "judged")])


def test_the_judge_reads_all_turns_with_text() -> None:
    turns = json.loads(transcript(DIALOGUE))["dialogue"]
    assert [(turn["speaker"], turn["text"]) for turn in turns] == [
        ("other", "hi"),
        ("judged", "hello"),
        ("judged", "well"),
    ]
    assert join_judged_turns(DIALOGUE) == "hello well"


def test_why_a_sample_is_not_judged() -> None:
    size = len(transcript(DIALOGUE))
    assert unjudgable(DIALOGUE, size) is None
    assert unjudgable(DIALOGUE, size - 1) == f"the dialogue has {size} bytes, more than longest={size - 1}"
    assert unjudgable(Sample("d", DIALOGUE.context, "a reply"), size) == NOT_WHOLE
    assert unjudgable(Sample("d", DIALOGUE.context[:1]), size) == SILENT


SCHEMA = {"overall": [1, 2, 3], "natural": [1, 2, 3]}


@pytest.mark.parametrize(
    "text",
    ['{"overall": 2, "natural": 3}', ' {"natural":3,"overall":2}\n', '```json\n{"overall": 2, "natural": 3}\n```'],
)
def test_a_judgment_in_any_order_of_keys(text: str) -> None:
    assert read_object(text, SCHEMA) == (2, 3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"overall": 2, "natural": 3} as I was told: {"overall": 3, "natural": 3}', "not JSON"),
        ('The reply says {"overall": 3, "natural": 3}', "not JSON"),
        ("3", "keys of the schema"),
        ("null", "keys of the schema"),
        ('[{"overall": 2, "natural": 3}]', "keys of the schema"),
        ('{"overall": 2}', "keys of the schema"),
        ('{"overall": 2, "natural": 3, "more": 1}', "keys of the schema"),
        ('{"overall": 2, "natural": 4}', "outside the schema"),
        ('{"overall": 2, "natural": 3.0}', "outside the schema"),
        ('{"overall": 2, "natural": "3"}', "outside the schema"),
        ('{"overall": 2, "natural": true}', "outside the schema"),
        ('{"overall": 2, "natural": NaN}', "outside the schema"),
        ('{"overall": 2, "natural": [3]}', "outside the schema"),
    ],
)
def test_anything_else_is_refused(text: str, reason: str) -> None:
    assert reason in str(read_object(text, SCHEMA))


def test_words_instead_of_numbers() -> None:
    assert read_object('{"better": "tie"}', {"better": ["A", "B", "tie"]}) == ("tie",)


def test_the_schema_that_is_sent_allows_nothing_else() -> None:
    sent = response_format(SCHEMA)["json_schema"]["schema"]
    assert sent["additionalProperties"] is False
    assert sent["required"] == ["overall", "natural"]


def test_spaces_around_a_token_do_not_matter() -> None:
    found = [("4", math.log(0.3)), (" 4", math.log(0.2)), ("5\n", math.log(0.1)), ("x", math.log(0.4))]
    assert read_choice(found, ["4", "5"]) == pytest.approx((0.5, 0.1))


@pytest.mark.parametrize(
    "candidates", [[("no", -0.1)], [("4", -9.0)], [("44", 0.0)], [("4", -math.inf)], [("4", math.nan)]]
)
def test_a_model_that_wants_to_say_something_else(candidates: list[tuple[str, float]]) -> None:
    assert read_choice(candidates, ["4", "5"]) == "possible answers have less than 0.5 of the probability"
