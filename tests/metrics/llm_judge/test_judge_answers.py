"""Judgments are read by their schema alone."""

from __future__ import annotations

import math

import pytest

from interloq.metrics.llm_judge.judge_answers import read_choice, read_object, response_format

SCHEMA = {"overall": [1, 2, 3], "natural": [1, 2, 3]}


@pytest.mark.parametrize(
    "text",
    ['{"overall": 2, "natural": 3}', ' {"natural":3,"overall":2}\n', '```json\n{"overall": 2, "natural": 3}\n```'],
)
def test_a_judgment_in_any_order_of_keys(text: str) -> None:
    assert read_object(text, SCHEMA) == (2, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "null",
        '{"overall": 2}',
        '{"overall": 2, "natural": 3, "more": 1}',
        '{"overall": 2, "natural": NaN}',
        '{"overall": 2, "natural": [3]}',
        '{"overall": 2, "natural": 3} as I was told: {"overall": 3, "natural": 3}',
        'The reply says {"overall": 3, "natural": 3}',
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    assert isinstance(read_object(text, SCHEMA), str)


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
