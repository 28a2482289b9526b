# SPDX-License-Identifier: Apache-2.0
"""Render chat templates in a separate process, with limits on memory and time (see chat_template.py).

    python template_worker.py

One JSON object per line on standard input, {"template", "messages", "values"}; one per line on standard output,
{"text"} or {"refused": message}. A template that takes too long ends the process. The rendering is transformers' own.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

MEMORY = 1 << 29  # bytes that templates may take: a prompt has a few thousand
SECONDS = 10.0  # of processor time for one template
Render = Callable[..., tuple[list[str], Any]]


def serve(requests: IO[str], answers: IO[str], render: Render) -> None:
    """Answer requests until they end."""
    for line in requests:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal ends the process, also within C code
        answer = render_request(json.loads(line), render)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def render_request(request: dict[str, Any], render: Render) -> dict[str, str]:
    """Return the text of a conversation, or why the template refuses it."""
    try:
        texts, _ = render(
            conversations=[request["messages"]],
            chat_template=request["template"],
            add_generation_prompt=True,
            **request["values"],
        )
    except MemoryError:
        return {"limit": f"it takes more than {MEMORY >> 20} MiB"}
    except Exception as error:  # templates raise anything
        return {"refused": str(error).strip()[:300] or type(error).__name__}
    return {"text": texts[0]}


def limit_memory() -> None:
    """Allow this much memory beyond what is used now; where the system has no such limit, only time is limited."""
    with contextlib.suppress(OSError, ValueError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


if __name__ == "__main__":
    from transformers.utils.chat_template_utils import render_jinja_template

    limit_memory()
    serve(sys.stdin, sys.stdout, render_jinja_template)
