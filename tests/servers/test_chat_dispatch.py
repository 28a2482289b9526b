"""Several chat servers for one bot or judge: real ones on this machine, some of which are dead, slow or refuse."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from interloq import InputError, Sample, create, evaluate, spec
from interloq.play.bot import ask_bot, stream_reply
from interloq.play.bots.endpoint import Endpoint
from interloq.records import Turn
from interloq.servers.chat_dispatch import ChatServer, order_servers
from interloq.servers.replies import Reply
from tests.made_chat_server import KEY, Handler, Server, serving
from tests.made_judge_server import JudgeServer

pytest.importorskip("httpx")

WORDS = [f"w{i}" for i in range(60)]
ANSWERS = [Reply(f"re {word} {i}") for i, word in enumerate(WORDS)]


class SwitchedServer(Server):
    """A server whose state the test sets: `delay` in seconds, `status` instead of an answer."""

    def __init__(self, delay: float = 0.0, status: int = 0) -> None:
        super().__init__()
        self.RequestHandlerClass = SwitchedHandler
        self.delay, self.status = delay, status


class SwitchedHandler(Handler):
    server: SwitchedServer

    def _respond(self, word: str, asked: int, body: dict[str, Any]) -> None:
        time.sleep(self.server.delay)
        if self.server.status:
            self._send(self.server.status, b"{}")
        else:
            super()._respond(word, asked, body)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[SwitchedServer]]:
    """Two servers that work."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("interloq.servers.chat_server.FIRST_PAUSE", 0.02)
    with ExitStack() as stack:
        yield [stack.enter_context(serving(SwitchedServer())) for _ in range(2)]


@pytest.fixture
def dead() -> Iterator[str]:
    """The address of a server that refuses connections: the port stays reserved."""
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{unheard.getsockname()[1]}/v1"


def bot(*urls: str, **options: Any) -> Endpoint:
    return Endpoint(urls, "small", **{"timeout": 10.0, "retries": 2, **options})


def ask(asked: Endpoint, words: list[str] = WORDS) -> list[Reply]:
    return ask_bot(asked, [[Turn(word, "a")] for word in words], list(range(len(words))))


def test_a_dead_server_a_slow_one_and_one_that_works(servers: list[SwitchedServer], dead: str) -> None:
    slow, fine = servers
    slow.delay = 0.1
    assert ask(bot(dead, slow.url, fine.url, retries=0, concurrency=2)) == ANSWERS
    assert 2 <= len(slow.seen) < len(fine.seen)
    assert len(slow.seen) + len(fine.seen) == len(WORDS)  # each is answered once


@pytest.mark.parametrize("status", [500, 429, 401, 404])
def test_a_server_that_fails_is_skipped_until_it_works_again(servers: list[SwitchedServer], status: int) -> None:
    failing, fine = servers
    failing.status = status
    asked = bot(failing.url, fine.url, concurrency=2, retries=0)
    assert ask(asked) == ANSWERS
    assert len(failing.seen) < len(WORDS) / 4
    failing.status = 0
    failing.seen.clear()
    stop = time.monotonic() + 60
    while len(failing.seen) < 10 and time.monotonic() < stop:
        time.sleep(0.05)
        assert ask(asked) == ANSWERS
    assert len(failing.seen) >= 10


def test_requests_are_given_up_when_every_server_fails(servers: list[SwitchedServer], dead: str) -> None:
    failing = servers[0]
    failing.status = 503
    replies = ask(bot(failing.url, dead, retries=1), WORDS[:5])
    assert {reply.text for reply in replies} == {""}
    assert all(reply.failure.startswith(("HTTP 503", "no answer: ConnectError")) for reply in replies)
    assert all("attempts)" in reply.failure for reply in replies)
    failing.status = 400
    (reply,) = ask(bot(failing.url, failing.url), ["a"])
    assert reply.failure == "HTTP 400: no message"  # another server would refuse it too


def test_a_conversation_stays_with_its_server(servers: list[SwitchedServer]) -> None:
    asked = bot(*(server.url for server in servers), system_prompt="Be kind.")
    turns: list[list[Turn]] = [[Turn(word, "a")] for word in WORDS[:8]]
    for seed in range(3):
        for dialogue in turns:
            asked.replies([dialogue], [seed])
            dialogue += [Turn("yes", "b"), Turn(f"more {seed}", "a")]
    first, second = ({body["messages"][1]["content"] for *_, body in server.seen} for server in servers)
    assert not first & second
    assert len(servers[0].seen) + len(servers[1].seen) == 24


def test_a_further_server_takes_over_only_its_share() -> None:
    pool = [ChatServer(f"http://{name}/v1", "", local=False) for name in "abcd"]
    bodies = [{"messages": [{"role": "user", "content": word}]} for word in map(str, range(400))]
    moved = 0
    for body in bodies:
        before, after = order_servers(pool[:3], body)[0], order_servers(pool, body)[0]
        assert after in (before, pool[3])
        moved += after is pool[3]
    assert 60 < moved < 140
    assert {order_servers(pool, body)[0] for body in bodies} == set(pool)


def test_a_stream_comes_from_a_server_that_works(servers: list[SwitchedServer], dead: str) -> None:
    for word in WORDS[:6]:
        texts: list[str] = []
        asked = bot(dead, servers[0].url)
        assert stream_reply(asked, [Turn(word, "a")], 3, texts.append) == Reply(f"re {word} 3")
        assert texts[-1] == f"re {word} 3"


def test_before_a_run_one_server_has_to_work(servers: list[SwitchedServer], dead: str) -> None:
    with pytest.warns(UserWarning, match=f"{dead}: no answer: ConnectError.*continuing anyway"):
        bot(dead, servers[0].url).try_out([Turn("a", "a")])
    with pytest.raises(InputError, match="the endpoint does not answer: no answer: ConnectError"):
        bot(dead, dead).try_out([Turn("a", "a")])


def test_what_one_server_does_not_accept_is_sent_to_none(servers: list[SwitchedServer]) -> None:
    servers[0].refuses = ("seed",)
    asked = bot(*(server.url for server in servers), concurrency=1)
    with pytest.warns(UserWarning, match="does not accept seed: replies cannot be repeated"):
        ask(asked)
    ask(asked)
    assert not any("seed" in body for server in servers for *_, body in server.seen[-10:])


def test_the_cache_survives_the_loss_of_a_server(
    servers: list[SwitchedServer], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    both = bot(*(server.url for server in servers), cache=True)
    ask(both)
    left = Endpoint(servers[0].url, "small", cache=True)
    preferred = [word for word in WORDS if left.answer_key(body_of(left, word)) == both.answer_key(body_of(both, word))]
    assert 10 < len(preferred) < 50
    sent = len(servers[0].seen)
    assert ask(left) == ANSWERS
    assert len(servers[0].seen) == sent + len(WORDS) - len(preferred)


def body_of(asked: Endpoint, word: str) -> dict[str, Any]:
    return asked._body([Turn(word, "a")], WORDS.index(word))


def test_servers_in_specs_and_signatures(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "endpoint(url=('http://a/v1','http://b/v1'),model='m',key='')"
    made = create(text, kind="bot")
    assert create(spec(made), kind="bot") == made
    assert (
        made.signature()
        == create(text.replace("'http://a/v1','http://b/v1'", "'http://b/v1','http://a/v1'")).signature()
    )
    assert made.signature() != Endpoint("http://a/v1", "m", key="").signature()
    assert Endpoint(("http://a/v1",), "m", key="").signature() == Endpoint("http://a/v1", "m", key="").signature()
    assert made.batch == 2 * Endpoint("http://a/v1", "m").batch
    assert made.side_effect == "sends dialogues to http://a/v1 and http://b/v1"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(InputError, match="sent unencrypted to b"):
        create(text.replace("http://a", "https://a").replace(",key=''", "")).signature()


@pytest.mark.parametrize("urls", ["()", "('',)", "5", "('http://a/v1',5)", "('http://a/v1','b')"])
def test_what_is_not_a_list_of_addresses(urls: str) -> None:
    with pytest.raises(InputError, match="url must be"):
        create(f"endpoint(url={urls},model='m')", kind="bot")


def test_a_judge_asks_several_servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, dead: str) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    samples = [Sample(str(i), ["How are you?"], f"well {i}") for i in range(40)]
    with serving(JudgeServer()) as first, serving(JudgeServer()) as second:
        judge = f"llm_judge(model='m',endpoint={(dead, second.url, first.url)!r},key='')"
        result = evaluate(judge, samples)
        assert result.value == pytest.approx(4.15)
        assert result.unscored == 0
        assert first.seen
        assert second.seen
        assert f"m at {','.join(sorted((dead, first.url, second.url)))},weights" in result.signature.parts["built-with"]
