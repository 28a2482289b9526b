"""A chat server that judges replies: the reply in the prompt decides how it answers."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tests.made_chat_server import Handler, Server, answer

_REPLY = re.compile(r'"reply": ("(?:[^"\\]|\\.)*")')
_PAIR = re.compile(r'"A": ("(?:[^"\\]|\\.)*"), "B": ("(?:[^"\\]|\\.)*")')
SCORES = (0.05, 0.05, 0.1, 0.3, 0.5)  # of 1 to 5: the expectation is 4.15
WRITTEN = {"prose": "I would say four.", "outside": '{"overall": 6}'}  # instead of a judgment


class JudgeServer(Server):
    """`logprobs=False`: a server that ignores requests for log-probabilities. `first`: it prefers the first reply."""

    def __init__(self, *, logprobs: bool = True, usage: bool = True, first: bool = False) -> None:
        super().__init__()
        self.RequestHandlerClass = JudgeHandler
        self.logprobs, self.usage, self.first = logprobs, usage, first

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for *_, body in self.seen]


class JudgeHandler(Handler):
    server: JudgeServer

    def _respond(self, word: str, asked: int, body: dict[str, Any]) -> None:
        found = _REPLY.search(word)
        reply = json.loads(found[1]) if found else ""
        kind, _, times = reply.partition("*")
        if kind == "malformed judgment":
            well = self.server.asked.total() > int(times)
            self._judge('{"overall": 2}' if well else "{", None)
        elif kind in WRITTEN:
            self._judge(WRITTEN[kind], None)
        elif kind == "unsure":
            self._judge("W", [("Well", -0.1), ("4", -3.0)])
        elif _known(kind):
            super()._respond(reply, asked, body)
        elif pair := _PAIR.search(word):
            self._compare(json.loads(pair[1]), json.loads(pair[2]), body)
        elif "top_logprobs" in body:
            tokens = [(f" {k}", math.log(p)) for k, p in enumerate(SCORES, 1)]
            self._judge("5", tokens if self.server.logprobs else None)
        else:
            keys = body["response_format"]["json_schema"]["schema"]["required"]
            self._judge(json.dumps(dict.fromkeys(keys, 1 + (len(reply) + body.get("seed", 0)) % 5)), None)

    def _compare(self, first: str, second: str, body: dict[str, Any]) -> None:
        """The longer reply is better, or the first one, if the server prefers it."""
        better = "A" if self.server.first or len(first) > len(second) else "B"
        if "top_logprobs" in body:
            self._judge(better, [(better, math.log(0.9)), ("B" if better == "A" else "A", math.log(0.1))])
        else:
            self._judge(json.dumps({"better": "tie" if first == second else better}), None)

    def _judge(self, text: str, tokens: list[tuple[str, float]] | None) -> None:
        value = json.loads(answer(text))
        if tokens is not None:
            top = [{"token": token, "logprob": p} for token, p in tokens]
            value["choices"][0]["logprobs"] = {"content": [{"token": text, "top_logprobs": top}]}
        if self.server.usage:
            value["usage"] = {"prompt_tokens": 100, "completion_tokens": 2}
        self._send(200, json.dumps(value).encode())


def _known(kind: str) -> bool:
    return kind in ("500", "503", "429", "never", "401", "400", "malformed", "large", "hang", "refusal", "bomb")
