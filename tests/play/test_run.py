"""Bots that would never answer are told of before the first dialogue, and nothing is written."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from interloq.cli.main import main
from tests.server_fixtures import free_port

pytest.importorskip("httpx")


class Handler(BaseHTTPRequestHandler):
    """Answers as the path says: /200, /401 …"""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.headers.get("Authorization", ""), body))  # type: ignore[attr-defined]
        status = int(self.path.split("/")[1])
        said = {200: {"choices": [{"message": {"content": "fine"}}]}, 299: {"detail": "another service"}}
        data = json.dumps(said.get(status, {"error": {"message": "no"}})).encode()
        self.send_response(200 if status == 299 else status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.asked = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


def play(*bots: str, limit: int = 2) -> int:
    targets = [part for i, bot in enumerate(bots) for part in ("--target", f"t{i}={bot}")]
    return main(["play", "run", "--scheme", "self-play", *targets, "--limit", str(limit), "-o", "d.jsonl", "--quiet"])


def endpoint(port: int, status: int, **options: Any) -> str:
    more = "".join(f",{name}={value!r}" for name, value in options.items())
    return f"endpoint(url='http://127.0.0.1:{port}/{status}/v1',model='m',retries=0{more})"


@pytest.mark.parametrize(
    ("status", "failure"),
    [(401, "HTTP 401: no"), (404, "HTTP 404: no"), (302, "HTTP 302: no"), (299, "the answer has no choices[0]")],
)
def test_an_endpoint_that_refuses_is_named_at_once(
    folder: Path, server: Any, capsys: pytest.CaptureFixture[str], status: int, failure: str
) -> None:
    assert play("eliza", endpoint(server.server_port, status)) == 2
    said = capsys.readouterr().err
    assert "'t1' cannot play: http://127.0.0.1" in said
    assert f"the endpoint does not answer: {failure}" in said
    assert "check url, model and key" in said
    assert len(server.asked) == 1
    assert list(folder.iterdir()) == []


def test_a_wrong_port_is_named_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(endpoint(free_port(), 200, key="")) == 2
    assert "the endpoint does not answer: no answer: ConnectError" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "https://host.invalid/v1"])
def test_an_unset_key_is_named_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("MY_KEY", raising=False)
    key = "OPENAI_API_KEY" if url.startswith("https") else "MY_KEY"
    assert play(f"endpoint(url={url!r},model='m',key={key!r})") == 2
    assert f"the environment variable {key} is not set" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_one_request_for_equal_endpoints_and_none_for_finished_files(folder: Path, server: Any) -> None:
    both = [endpoint(server.server_port, 200)] * 2
    assert play(*both) == 0
    assert len(server.asked) == 1 + 2 * 2 * 10  # the trial; then targets, openings, utterances
    assert play(*both) == 0
    assert len(server.asked) == 41
    assert len(Path("d.jsonl").read_text().splitlines()) == 5


@pytest.mark.filterwarnings("default")
def test_a_busy_server_is_left_to_the_play(folder: Path, server: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(endpoint(server.server_port, 503)) == 1, "every dialogue failed"
    assert "HTTP 503: no; continuing anyway" in capsys.readouterr().err
    assert len(Path("d.jsonl").read_text().splitlines()) == 3


def test_a_program_that_cannot_work_is_named_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bot.py").write_text("import sys; sys.exit('no weights')")
    assert play(f"process(command=({sys.executable!r},'bot.py'))") == 2
    said = capsys.readouterr().err
    assert "the program does not answer: crashed: exit status 1: no weights" in said
    assert [path.name for path in folder.iterdir()] == ["bot.py"]
