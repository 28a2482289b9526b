"""The modules of `interloq.servers`: chat cache, chat parameters, chat stream, http body, replies."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq.data.files.cache import BlobCache
from interloq.play.bot import check_reply, make_crash_reply
from interloq.servers.chat_cache import FILE, answer_key, cache_answers, read_cached_answers
from interloq.servers.chat_dispatch import ChatServer
from interloq.servers.chat_parameters import ChatParameters, find_refused_parameter, parameters_of
from interloq.servers.chat_server import ChatAnswer, ChatConnection
from interloq.servers.chat_stream import stream_reply
from interloq.servers.http_body import Body, BodyError
from interloq.servers.replies import Reply, one_line
from tests.made_chat_server import KEY, Server

pytest.importorskip("httpx")


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
    assert find_refused_parameter(status, json.dumps({"error": {"message": message}}).encode()) == name


def test_a_refusal_as_a_list_of_fields() -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
    assert find_refused_parameter(422, json.dumps({"detail": detail}).encode()) == "seed"


def test_what_is_sent_after_refusals() -> None:
    body = {"model": "m", "max_tokens": 20, "seed": 1, "temperature": 0.5, "logprobs": True}
    known = ChatParameters()
    assert known.adapt(body, reasoning_tokens=99) == body
    assert known.learn("max_tokens", body)
    assert known.adapt(body, reasoning_tokens=99)["max_completion_tokens"] == 119
    assert not known.left_out  # it is only renamed
    assert known.learn("seed", body)
    assert (known.news(), known.news()) == (("seed",), ())
    assert known.adapt(body) == {"model": "m", "max_completion_tokens": 20, "temperature": 0.5, "logprobs": True}
    assert not known.learn("seed", {"model": "m"})  # it was not sent, so leaving it out would change nothing
    assert not known.learn("logprobs", body)  # the caller cannot do without it
    assert known.learn("max_completion_tokens", {"max_completion_tokens": 20})
    assert known.adapt(body) == {"model": "m", "temperature": 0.5, "logprobs": True}
    assert known.left_out == ("max_tokens", "max_completion_tokens", "seed")


def test_each_model_of_each_server_has_its_own() -> None:
    assert parameters_of("u", "m") is parameters_of("u", "m")
    assert parameters_of("u", "m") is not parameters_of("u", "n")


def body_of(data: bytes, encoding: str = "", *, largest: int = 2**20, step: int = 7) -> bytes:
    body = Body(encoding, largest)
    for start in range(0, len(data), step):
        body.add(data[start : start + step])
    return body.whole()


@pytest.mark.parametrize("encoding", ["", "identity", " GZIP ", "x-gzip"])
def test_parts_become_the_whole(encoding: str) -> None:
    sent = gzip.compress(b"hello" * 9) if "gzip" in encoding.lower() else b"hello" * 9
    assert body_of(sent, encoding) == b"hello" * 9


def test_the_limit_is_on_what_is_unpacked() -> None:
    assert len(body_of(b"a" * 100, largest=100)) == 100
    for sent, encoding in ((b"a" * 101, ""), (gzip.compress(b"a" * 101), "gzip")):
        with pytest.raises(BodyError, match="larger than"):
            body_of(sent, encoding, largest=100)


def test_a_second_layer_stays_packed() -> None:
    packed = gzip.compress(b"a")
    assert body_of(gzip.compress(packed), "gzip") == packed


@pytest.mark.parametrize(
    ("sent", "encoding"), [(gzip.compress(b"abc", mtime=0)[:-4], "gzip"), (b"abc", "gzip"), (b"", "br")]
)
def test_what_cannot_be_unpacked_is_refused(sent: bytes, encoding: str) -> None:
    with pytest.raises(BodyError):
        body_of(sent, encoding)


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\u2003"])
def test_blank_text_is_empty(text: str) -> None:
    assert check_reply(Reply(text)) == Reply("", "empty")


def test_a_known_failure_is_kept_and_long_text_is_cut_with_a_note() -> None:
    assert check_reply(Reply("", "timed out")) == Reply("", "timed out")
    assert check_reply(Reply("x" * 4_000)) == Reply("x" * 4_000)
    assert check_reply(Reply("x" * 4_001)) == Reply("x" * 4_000, "too long")
    assert check_reply(Reply("abc"), longest=2) == Reply("ab", "too long")
    assert check_reply(Reply("  abc"), longest=2) == Reply("", "too long")


def test_what_no_json_can_hold_is_replaced() -> None:
    reply = check_reply(Reply("a\0b\ud83dc"))
    assert reply.text == "a\ufffdb\ufffdc"
    assert "cannot be written" in reply.failure
    assert check_reply(Reply("\x1b[31mred\x07 😀\u202e")) == Reply(
        "\x1b[31mred\x07 😀\u202e"
    )  # shown escaped, kept as it is


@given(st.text(st.characters()) | st.text("\0\ud800\udfff a;\n", max_size=20), st.text(max_size=50))
def test_a_checked_reply_has_text_or_a_failure_and_can_be_written(text: str, failure: str) -> None:
    reply = check_reply(Reply(text, failure))
    assert orjson.loads(orjson.dumps([reply.text, reply.failure])) == [reply.text, reply.failure]
    assert reply.text.strip() or (reply.text == "" and reply.failure)
    assert check_reply(reply) == reply
    assert "\n" not in reply.failure


@pytest.mark.parametrize("wrong", [None, 7, "text", b"bytes", ["text"], Reply(None), Reply(b"x"), Reply("x", 3)])  # type: ignore[arg-type]
def test_wrong_types_are_failures(wrong: Any) -> None:
    reply = check_reply(wrong)
    assert reply.text == ""
    assert reply.failure.startswith("the bot gave")


def test_messages_stand_on_one_line() -> None:
    assert one_line("a\n\x1b[0m b\u2028c; d\ud800") == "a [0m b c, d"
    assert one_line("x" * 1_000) == "x" * 299 + "…"
    assert make_crash_reply(ValueError("")) == Reply("", "crashed: ValueError")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    return tmp_path


def test_answers_are_found_by_key(cache: Path) -> None:
    answers = {
        b"a": ChatAnswer("half \ud83d", None),
        b"b": ChatAnswer("5", (("5", -0.1), (" 4", -2.5)), 7, 1, ("seed",)),
    }
    cache_answers(answers)
    assert read_cached_answers([b"a", b"b", b"c"]) == answers
    BlobCache(cache / FILE, "answer").put([(b"d", b'["5", null, 7, 1]')])  # as earlier versions wrote it
    assert read_cached_answers([b"d"]) == {b"d": ChatAnswer("5", None, 7, 1)}


@pytest.mark.parametrize("row", [b"[", b"{}", b'["5"]', b'["5", [["x"]], 1, 1]', b'["5", null, 1, "x"]'])
def test_damaged_answers_are_ignored(cache: Path, row: bytes) -> None:
    BlobCache(cache / FILE, "answer").put([(b"a", row)])
    assert read_cached_answers([b"a"]) == {}


def test_nothing_is_stored_if_the_cache_is_off(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    cache_answers({b"a": ChatAnswer("5")})
    assert read_cached_answers([b"a"]) == {}
    assert list(cache.iterdir()) == []


def test_a_key_depends_on_address_and_every_field() -> None:
    body = {"model": "m", "seed": 1}
    assert answer_key("u", body) == answer_key("u", {"seed": 1, "model": "m"})
    others = [answer_key("v", body), answer_key("u", {**body, "seed": 2}), answer_key("u", {**body, "top_p": 1})]
    assert len({answer_key("u", body), *others}) == 4


@pytest.mark.parametrize(
    ("word", "shown", "failure", "attempts"),
    [
        ("broken", "half a", "broke off: the stream ended early", 1),
        ("stopped", "half a", "broke off: the server stopped: out of memory, sorry", 1),
        ("garbled", "", "an event of the stream is not valid JSON (2 attempts)", 2),
        ("refusing", "", "refused: I will not", 1),
        ("401", "", "HTTP 401: wrong key ***, or ***", 1),
        ("waiting", "The first part", "broke off: timed out after 1 s", 1),
    ],
)
def test_a_stream_that_breaks_is_a_failure(server: Server, word: str, shown: str, failure: str, attempts: int) -> None:
    texts = [""]
    url = f"{server.url}/chat/completions"
    connection = ChatConnection(
        [ChatServer(url, url, local=True)], secret=KEY, concurrency=1, timeout=1.0, retries=1, rate=0.0
    )
    body = {"messages": [{"role": "user", "content": word}]}
    assert asyncio.run(stream_reply(connection, body, texts.append)) == Reply("", failure)
    assert server.asked[word] == attempts
    assert texts[-1] == shown
