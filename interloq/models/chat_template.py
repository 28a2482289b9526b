# SPDX-License-Identifier: Apache-2.0
"""Prompts from a model's chat template, which is a program written by whoever made the model.

transformers keeps it from reading files or running code, but not from using all memory (`{{ 'x' * 3000000000 }}`) or
running forever. So it runs in another process with limits (see template_worker.py), which is started once.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interloq.errors import InputError
from interloq.models.template_worker import SECONDS

WORKER = Path(__file__).with_name("template_worker.py")
OTHER = "use a model with another chat template, or none"
Message = dict[str, str]


class TemplateRefused(Exception):  # noqa: N818 - internal: another order of messages may be accepted
    """The template raised an error for these messages, as some do unless the user speaks first."""


def render_chat(tokenizer: Any, messages: Sequence[Message], *, where: str = "") -> str:
    """Return the prompt of a conversation, up to where the assistant's next message begins.

    Raises TemplateRefused if the template does not accept the messages, or an InputError if it exceeds its limits.
    """
    if not messages:
        raise TemplateRefused("there are no messages")
    request = {
        "template": tokenizer.get_chat_template(),
        "messages": list(messages),
        "values": dict(tokenizer.special_tokens_map),
    }
    answer = _WORKER.ask(json.dumps(request, default=str))
    if "refused" in answer:
        raise TemplateRefused(answer["refused"])
    if "text" not in answer:
        raise InputError(f"the chat template cannot be used: {answer['limit']}", hint=OTHER, where=where)
    return answer["text"]


class _Worker:
    """The process that renders templates; started when it is first needed, and again after it was ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: str) -> dict[str, str]:
        with self._lock:
            process = self._start()
            try:
                answer = _answer(process, request)
            except BaseException:  # interrupted: its answer would be taken for the answer to the next request
                self._stop()
                raise
            if not answer:
                code = process.wait()
                self._stop()
                if code == -signal.SIGPROF:
                    return {"limit": f"it takes more than {SECONDS:g} s"}
                return {"limit": f"rendering it ended with exit status {code}"}
            read: dict[str, str] = json.loads(answer)
            return read

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop()

    def _start(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            self._process = subprocess.Popen(  # noqa: S603 - our own file
                [sys.executable, "-I", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            with self._process, contextlib.suppress(BrokenPipeError):  # closes its pipes and waits
                self._process = None


def _answer(process: subprocess.Popen[str], request: str) -> str:
    """Return the answer to a request; '' if the process has ended."""
    if process.stdin is None or process.stdout is None:
        return ""
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(request + "\n")
        process.stdin.flush()
    return process.stdout.readline()


_WORKER = _Worker()
atexit.register(_WORKER.close)
