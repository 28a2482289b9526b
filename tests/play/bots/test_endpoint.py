"""Bots behind a chat server: a real one on this machine, which can fail in every way."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, create, spec
from interloq.play.bot import ask_bot, stream_reply
from interloq.play.bots.endpoint import Endpoint
from interloq.records import Turn
from interloq.servers.replies import Reply
from tests.made_chat_server import KEY, Server

pytest.importorskip("httpx")


def endpoint(server: Server, **options: Any) -> Endpoint:
    return Endpoint(server.url, "small", **{"timeout": 10.0, "retries": 2, **options})


def ask(bot: Endpoint, *words: str) -> list[Reply]:
    return ask_bot(bot, [[Turn("before", "a"), Turn(word, "b")] for word in words], list(range(len(words))))


def test_what_is_asked(server: Server) -> None:
    bot = endpoint(server, temperature=0.5, max_tokens=20, system_prompt="Be kind.")
    turns = [Turn("one", "a"), Turn("two \ud800", "b"), Turn("three", "a")]
    assert bot.replies([turns, []], [2**40 + 7, 1]) == [Reply("re three 7"), Reply("", "nothing to answer")]
    ((_, path, headers, body),) = server.seen
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    del body["messages"]
    assert body == {"model": "small", "temperature": 0.5, "max_tokens": 20, "seed": 7}
    endpoint(server, send_seed=False).replies([turns], [1])
    assert set(server.seen[-1][3]) == {"model", "messages"}


def test_the_whole_path_may_be_given(server: Server) -> None:
    bot = Endpoint(server.url + "/chat/completions?version=1", "small")
    assert ask(bot, "a") == [Reply("re a 0")]
    assert server.seen[0][1] == "/v1/chat/completions?version=1"


def test_replies_come_in_order_and_not_too_many_at_once(server: Server) -> None:
    words = [f"slow*0{i}" for i in range(40)]
    assert ask(endpoint(server, concurrency=4), *words) == [Reply(f"re {word} {i}") for i, word in enumerate(words)]
    assert 2 <= server.most <= 4


@pytest.mark.parametrize(
    "word", ["500*2", "503*1", "429*1", "date*1", "nonsense*2", "malformed*1", "torn off*1", "fields*2"]
)
def test_what_passes_is_tried_again(server: Server, word: str) -> None:
    assert ask(endpoint(server), word, "b") == [Reply(f"re {word} 0"), Reply("re b 1")]
    assert server.asked[word] == 1 + int(word[-1])


@pytest.mark.parametrize(("word", "rest"), [("429*1", 0.9), ("date*1", 0.5)])
def test_the_server_says_how_long_to_wait(server: Server, word: str, rest: float) -> None:
    bot = endpoint(server)
    ask(bot, word)
    first, second = (at for at, *_ in server.seen)
    assert rest < second - first < 8


@pytest.mark.parametrize(
    ("word", "failure", "attempts"),
    [
        ("500", "HTTP 500: <html>broken</html> (3 attempts)", 3),
        ("503", "HTTP 503: overloaded (3 attempts)", 3),
        ("never", "HTTP 429: quota spent", 1),
        ("400", "HTTP 400: no such model, sorry", 1),
        ("401", "HTTP 401: wrong key ***, or ***", 1),
        ("404", "HTTP 404: ��", 1),
        ("302", "HTTP 302: ", 1),
        ("malformed", "the answer is not valid JSON (3 attempts)", 3),
        ("nothing", "the answer is not valid JSON (3 attempts)", 3),
        ("nested", "the answer is not valid JSON (3 attempts)", 3),
        ("fields", "the answer has no choices[0].message (3 attempts)", 3),
        ("choices", "the answer has no choices[0].message (3 attempts)", 3),
        ("null", "the answer's message has no text", 1),
        ("number", "the answer's message has no text", 1),
        ("refusal", "refused: I will not", 1),
        ("blank", "empty", 1),
        ("large", "the answer is larger than 1 MiB", 1),
        ("bomb", "the answer is larger than 1 MiB", 1),
        ("twice", "the answer is encoded as 'gzip, gzip', which was not requested", 1),
        ("brotli", "the answer is encoded as 'br', which was not requested", 1),
        ("torn", "the gzip data of the answer is truncated", 1),
        ("no gzip", "the answer claims to be gzip, but is not", 1),
    ],
)
def test_a_failure_concerns_one_dialogue(server: Server, word: str, failure: str, attempts: int) -> None:
    assert ask(endpoint(server), "a", word, "b") == [Reply("re a 0"), Reply("", failure.strip()), Reply("re b 2")]
    assert server.asked[word] == attempts


def test_one_layer_of_gzip_is_unpacked(server: Server) -> None:
    assert ask(endpoint(server), "packed") == [Reply("from a small parcel")]
    assert server.seen[0][2]["Accept-Encoding"] == "identity"


def test_what_is_packed_is_never_unpacked_beyond_the_limit(server: Server) -> None:
    tracemalloc.start()
    try:
        ask(endpoint(server), "bomb", "twice")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_odd_texts_are_mended(server: Server) -> None:
    half, parts, long = ask(endpoint(server), "half", "parts", "long")
    assert half == Reply("a\ufffd\ufffdb", "characters replaced that cannot be written")
    assert parts == Reply("in parts")
    assert long == Reply("y" * 4_000, "too long")


@pytest.mark.parametrize("word", ["hang", "drip"])
def test_a_server_that_never_ends_its_answer(server: Server, word: str) -> None:
    start = time.monotonic()
    found = ask(endpoint(server, timeout=0.5, retries=1), word, "b")
    assert found == [Reply("", "timed out after 0.5 s (2 attempts)"), Reply("re b 1")]
    assert time.monotonic() - start < 10


def test_no_server_at_all(server: Server) -> None:
    bot = Endpoint("http://127.0.0.1:9", "small", retries=1)
    (reply,) = ask(bot, "a")
    assert reply.text == ""
    assert reply.failure.startswith("no answer: ConnectError")


def test_requests_a_minute(server: Server) -> None:
    bot = endpoint(server, rate=600.0)  # one in a tenth of a second
    ask(bot, *"abc")
    ask(bot, *"de")
    times = [at for at, *_ in server.seen]
    assert times[-1] - times[0] > 0.35


def test_within_a_running_loop(server: Server) -> None:
    async def notebook() -> list[Reply]:
        return ask(endpoint(server), "a")

    assert asyncio.run(notebook()) == [Reply("re a 0")]


def test_the_key_goes_to_the_server_and_nowhere_else(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEAKERS_KEY", KEY)
    bot = endpoint(server, key="SPEAKERS_KEY")
    found = ask(bot, "a", "401", "500", "302")
    assert {headers["Authorization"] for _, _, headers, _ in server.seen} == {f"Bearer {KEY}"}
    assert KEY not in f"{found} {bot!r} {spec(bot)} {bot.signature()} {bot._connection!r}"
    assert found[0] == Reply("re a 0")


def test_replies_from_the_cache(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    first = ask(endpoint(server, cache=True), "a", "500", "b")
    assert first == [Reply("re a 0"), Reply("", "HTTP 500: <html>broken</html> (3 attempts)"), Reply("re b 2")]
    assert ask(endpoint(server, cache=True), "a", "500", "b") == first
    assert (server.asked["a"], server.asked["500"]) == (1, 6)  # failures are not kept
    assert ask(endpoint(server, cache=True, temperature=0.5), "a") == [Reply("re a 0")]
    assert server.asked["a"] == 2


@pytest.mark.parametrize("option", ["concurrency=0", "timeout=0", "retries=-1", "rate=-1.0", "max_tokens=-1"])
def test_numbers_that_cannot_be(option: str) -> None:
    with pytest.raises(InputError, match="must"):
        create(f"endpoint(url='http://localhost/v1',model='m',{option})", kind="bot")


def test_the_signature_is_what_answers_not_how_it_is_asked() -> None:
    one = Endpoint("http://localhost/v1", "m", key="A", concurrency=2, retries=1, rate=3.0, timeout=1.0, cache=True)
    assert one.signature() == Endpoint("http://localhost/v1", "m").signature()
    assert one.signature() != Endpoint("http://localhost/v1", "other").signature()


def shown(bot: Endpoint, word: str) -> tuple[Reply, list[str]]:
    """The reply, and the texts that were shown before it."""
    texts: list[str] = []
    return stream_reply(bot, [Turn(word, "a")], 3, texts.append), texts


def test_a_reply_is_shown_while_it_arrives(server: Server) -> None:
    bot = endpoint(server)
    assert shown(bot, "hello") == (Reply("re hello 3"), ["re", "re hello", "re hello 3"])
    assert server.seen[-1][3]["stream"] is True
    assert shown(bot, "finished")[0] == Reply("no last event")
    assert shown(bot, "unstreamed") == (Reply("re unstreamed 3"), [])
    assert shown(bot, "503*1")[0] == Reply("re 503*1 3")  # nothing was shown, so it is tried again
    assert shown(bot, "silent")[0] == Reply("", "empty")
    assert stream_reply(bot, [], 3, print) == Reply("", "nothing to answer")


def test_reasoning_is_not_part_of_a_reply(server: Server) -> None:
    bot = endpoint(server)
    found = ask(bot, "thought", "open thought", "only thought", "cut", "cut short")
    assert found[:2] == [Reply("Hello!")] * 2
    assert found[2] == Reply("", "the answer has only reasoning and no text")
    assert {reply.failure for reply in found[3:]} == {
        "no text before the limit of tokens was reached: raise max_tokens"
    }
    assert shown(bot, "thinking") == (Reply("Hello there!"), ["Hello", "Hello there!"])
    assert "raise max_tokens" in shown(bot, "cut off")[0].failure


def test_what_the_model_does_not_accept_is_left_out_with_a_warning(server: Server) -> None:
    server.refuses = ("seed", "max_tokens", "temperature")
    bot = endpoint(server, temperature=0.5, max_tokens=20)
    with pytest.warns(UserWarning, match="small does not accept temperature and seed: replies cannot be repeated"):
        bot.try_out([Turn("a", "b")])
    assert ask(bot, "a", "b") == [Reply("re a None"), Reply("re b None")]  # and no second warning
    assert server.seen[-1][3].keys() == {"model", "messages", "max_completion_tokens"}
    assert server.seen[-1][3]["max_completion_tokens"] == 20
    assert len(server.seen) == 3 + 1 + 2
    assert shown(bot, "hello")[0] == Reply("re hello None")
