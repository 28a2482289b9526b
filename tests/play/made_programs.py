"""Programs as bots."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from interloq.play.bot import ask_bot
from interloq.play.bots.process import Process
from interloq.records import Turn
from interloq.servers.replies import Reply

PROGRAM = r"""
import json, os, subprocess, sys, time
asked = 0
for line in sys.stdin:
    request = json.loads(line)
    word, asked = request["turns"][-1]["text"], asked + 1
    answer = {"id": request["id"], "text": f"{word} {request['seed']} {len(request['turns'])}"}
    if word == "pid":
        answer["text"] = str(os.getpid())
    if word == "crash":
        print("out of\nluck", file=sys.stderr, flush=True)
        sys.exit(3)
    if word == "once" and not os.path.exists("crashed"):
        open("crashed", "w").close()
        os.kill(os.getpid(), 9)
    if word == "hang":
        time.sleep(600)
    if word == "deaf":
        os.close(1)
        time.sleep(600)
    if word == "text":
        print("not JSON; at all", flush=True)
    if word == "number":
        answer["text"] = 5
    if word == "list":
        print("[1, 2]", flush=True)
    if word == "late":
        print(json.dumps({"id": request["id"] - 1, "text": "too late"}), flush=True)
    if word == "flood":
        sys.stdout.write("x" * 3_000_000)
        sys.stdout.flush()
    if word == "wrong":
        while True:
            print(json.dumps({"id": -1, "text": "x" * 10}), flush=True)
            time.sleep(0.01)
    if word == "flood wrong":
        while True:
            sys.stdout.write('{"id": -1, "text": "x"}\n' * 1000)
    if word == "family":
        answer["text"] = f"{os.getpid()} {subprocess.Popen(['sleep', '600']).pid}"
    if word == "noise":
        sys.stderr.write("e" * 3_000_000)
        sys.stderr.flush()
    if word == "tired":
        answer = {"id": request["id"], "failure": "too tired"}
    if word == "earlier":
        answer = {"id": request["id"], "trouble": "too tired"}  # the name in earlier versions
    print(json.dumps(answer), flush=True)
    if word == "goodbye":
        sys.exit(0)
"""


def process(program: Path, **options: Any) -> Process:
    return Process((sys.executable, str(program)), **{"timeout": 20.0, **options})


def ask(bot: Process, *words: str) -> list[Reply]:
    return ask_bot(bot, [[Turn("before", "a"), Turn(word, "b")] for word in words], list(range(len(words))))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
