"""What models behind chat servers do not accept."""

from __future__ import annotations

import json

import pytest

from interloq.servers.chat_parameters import ChatParameters, parameters_of, refused_parameter


@pytest.mark.parametrize(
    ("status", "message", "name"),
    [
        (
            400,
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "max_tokens",
        ),
        (
            400,
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) …",
            "temperature",
        ),
        (400, 'Invalid JSON payload received. Unknown name "seed": Cannot find field.', "seed"),
        (400, "Unrecognized request argument supplied: max_completion_tokens", "max_completion_tokens"),
        (400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported", "response_format"),
        (400, "'logprobs' is not supported with this model", "logprobs"),
        (400, "max_tokens is too large: 90000. This model supports at most 16384 completion tokens", ""),
        (400, "no such model", ""),
        (400, "Unsupported parameter: 'messages[0].name'", ""),
        (500, "'seed' is not supported", ""),
    ],
)
def test_the_parameter_that_a_refusal_names(status: int, message: str, name: str) -> None:
    assert refused_parameter(status, json.dumps({"error": {"message": message}}).encode()) == name


def test_a_refusal_as_a_list_of_fields() -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
    assert refused_parameter(422, json.dumps({"detail": detail}).encode()) == "seed"


def test_what_is_sent_after_refusals() -> None:
    body = {"model": "m", "max_tokens": 20, "seed": 1, "temperature": 0.5, "logprobs": True}
    known = ChatParameters()
    assert known.accepted(body, reasoning_tokens=99) == body
    assert known.learn("max_tokens", body)
    assert known.accepted(body, reasoning_tokens=99)["max_completion_tokens"] == 119
    assert not known.left_out  # it is only renamed
    assert known.learn("seed", body)
    assert (known.news(), known.news()) == (("seed",), ())
    assert known.accepted(body) == {"model": "m", "max_completion_tokens": 20, "temperature": 0.5, "logprobs": True}
    assert not known.learn("seed", {"model": "m"})  # it was not sent, so leaving it out would change nothing
    assert not known.learn("logprobs", body)  # the caller cannot do without it
    assert known.learn("max_completion_tokens", {"max_completion_tokens": 20})
    assert known.accepted(body) == {"model": "m", "temperature": 0.5, "logprobs": True}
    assert known.left_out == ("max_tokens", "max_completion_tokens", "seed")


def test_each_model_of_each_server_has_its_own() -> None:
    assert parameters_of("u", "m") is parameters_of("u", "m")
    assert parameters_of("u", "m") is not parameters_of("u", "n")
