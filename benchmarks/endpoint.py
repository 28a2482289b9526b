"""Requests of a bot to chat servers: our client with one server and with several beside plain loops of httpx.

The servers are programs on this machine that answer after a fixed pause, at once for as many requests as are open, and
do nothing else, so that only the client is measured. Two peers send the same requests with the same number at once, and
read the same field: a loop around one `httpx.AsyncClient` with a semaphore, and a pool of threads that share one
`httpx.Client`. Ways take turns; the median of the rounds counts. Rates are per second of the client's processor time
and by the clock.

Conversations of three exchanges show how many turns reach the server that has the turns before them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
from _figures import Figure, add_json_option, report

from interloq.play.bots.endpoint import Endpoint
from interloq.records import Turn

AT_ONCE = 32  # requests per server
EXCHANGES = 3


class ChatProtocol(asyncio.Protocol):
    """Answers each request after a pause; the text is the server's name."""

    def __init__(self, name: str, pause: float) -> None:
        message = {"role": "assistant", "content": f"from {name}"}
        usage = {"prompt_tokens": 50, "completion_tokens": 8}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.answer, self.pause = head.encode() + body, pause
        self.waiting = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        head, separator, rest = self.waiting.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(rest) >= length:
            self.waiting = rest[length:]
            asyncio.get_running_loop().call_later(self.pause, self.transport.write, self.answer)


async def serve(port: int, pause: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ChatProtocol(str(port), pause), "127.0.0.1", port, backlog=1_000)
    await server.serve_forever()


@contextmanager
def chat_servers(n: int, pause: float) -> Iterator[list[str]]:
    """Start servers in processes of their own; yield their addresses."""
    ports = []
    for _ in range(n):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    command = [sys.executable, __file__, "--pause", str(pause), "--serve"]
    running = [subprocess.Popen([*command, str(port)]) for port in ports]  # noqa: S603
    try:
        for port in ports:
            wait_for(port)
        yield [f"http://127.0.0.1:{port}/v1" for port in ports]
    finally:
        for process in running:
            process.terminate()
            process.wait()


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("a server did not start")


def make_bot(urls: Sequence[str]) -> Endpoint:
    return Endpoint(tuple(urls), "model", key="", concurrency=AT_ONCE)


def ask_in_one_call(urls: Sequence[str], dialogues: Sequence[Sequence[Turn]]) -> list[str]:
    """Send all requests in one call, as a judge does."""
    return [reply.text for reply in make_bot(urls).replies(dialogues, range(len(dialogues)))]


def ask_in_batches(urls: Sequence[str], dialogues: Sequence[Sequence[Turn]]) -> list[str]:
    """Send requests in the batches of a play, in which connections are made anew."""
    bot, texts = make_bot(urls), list[str]()
    for start in range(0, len(dialogues), bot.batch):
        batch = dialogues[start : start + bot.batch]
        texts += [reply.text for reply in bot.replies(batch, range(start, start + len(batch)))]
    return texts


def ask_with_async_client(urls: Sequence[str], dialogues: Sequence[Sequence[Turn]]) -> list[str]:
    bodies = make_bodies(urls, dialogues)

    async def ask_all() -> list[str]:
        slots = asyncio.Semaphore(AT_ONCE)
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=AT_ONCE)) as client:

            async def ask(body: dict[str, Any]) -> str:
                async with slots:
                    return read(await client.post(f"{urls[0]}/chat/completions", json=body))

            return await asyncio.gather(*map(ask, bodies))

    return asyncio.run(ask_all())


def ask_with_threads(urls: Sequence[str], dialogues: Sequence[Sequence[Turn]]) -> list[str]:
    bodies = make_bodies(urls, dialogues)
    with httpx.Client(limits=httpx.Limits(max_connections=AT_ONCE)) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda body: read(client.post(f"{urls[0]}/chat/completions", json=body)), bodies))


def make_bodies(urls: Sequence[str], dialogues: Sequence[Sequence[Turn]]) -> list[dict[str, Any]]:
    bot = make_bot(urls)
    return [bot._body(turns, seed) for seed, turns in enumerate(dialogues)]


def read(answer: httpx.Response) -> str:
    text: str = answer.json()["choices"][0]["message"]["content"]
    return text


def rates(
    ways: Mapping[str, Callable[[], Sequence[str]]], requests: int, rounds: int
) -> dict[str, tuple[float, float]]:
    """Return requests per second of processor time and by the clock, for each way."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, ask in ways.items():
            start, used = time.perf_counter(), time.process_time()
            texts = ask()
            seconds[name].append((time.process_time() - used, time.perf_counter() - start))
            if len(texts) != requests or not all(texts):
                raise SystemExit(f"{name}: some requests have no answer")
    medians = {}
    for name, pairs in seconds.items():
        used, elapsed = (statistics.median(column) for column in zip(*pairs, strict=True))
        medians[name] = requests / used, requests / elapsed
    return medians


def share_of_turns_that_stay(urls: Sequence[str], n: int) -> float:
    """Return the share of later turns that are answered by the server of the turn before."""
    bot = make_bot(urls)
    dialogues = [[Turn(f"Hello, this is number {i}.", "a")] for i in range(n)]
    before = [reply.text for reply in bot.replies(dialogues, range(n))]
    stayed = 0
    for _ in range(EXCHANGES - 1):
        for turns, text in zip(dialogues, before, strict=True):
            turns += [Turn(text, "b"), Turn("Tell me more.", "a")]
        after = [reply.text for reply in bot.replies(dialogues, range(n))]
        stayed += sum(first == second for first, second in zip(before, after, strict=True))
        before = after
    return stayed / (n * (EXCHANGES - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds until a server answers")
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    add_json_option(parser)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.serve, args.pause))
        return
    dialogues = [[Turn(f"Hello, this is number {i}.", "a")] for i in range(args.requests)]
    with chat_servers(args.servers, args.pause) as urls, socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        unheard = f"http://127.0.0.1:{dead.getsockname()[1]}/v1"
        several = f"{args.servers} servers"
        ways = {
            "one server": partial(ask_in_one_call, urls[:1], dialogues),
            "one server, batches of a play": partial(ask_in_batches, urls[:1], dialogues),
            several: partial(ask_in_one_call, urls, dialogues),
            f"{several} and one that refuses connections": partial(ask_in_one_call, [unheard, *urls], dialogues),
            "httpx.AsyncClient": partial(ask_with_async_client, urls, dialogues),
            "threads with httpx.Client": partial(ask_with_threads, urls, dialogues),
        }
        found = rates(ways, args.requests, args.rounds)
        stayed = share_of_turns_that_stay(urls, args.requests // 4)
    figures = []
    peers = {name: found.pop(name) for name in ("httpx.AsyncClient", "threads with httpx.Client")}
    for i, clock in enumerate(("processor time", "clock")):
        for name, values in found.items():
            figures.append(Figure(f"{name}, {clock}", values[i], "/s"))
        for peer, values in peers.items():
            name = f"one server beside {peer}, {clock}"
            figures.append(Figure(name, found["one server"][i], "/s", values[i], peer=peer))
    figures.append(Figure(f"share of turns that stay at one of {several}", stayed))
    title = f"{args.requests:,} requests, {AT_ONCE} at once per server, answers after {1000 * args.pause:g} ms"
    report(f"{title}, {os.cpu_count()} cores", figures, args.json)


if __name__ == "__main__":
    main()
