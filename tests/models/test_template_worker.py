"""The process that renders chat templates; its limits are tested in test_chat_template.py."""

from __future__ import annotations

import io
import json
from typing import Any

from interloq.models.template_worker import MEMORY, serve


def echo(*, conversations: list[Any], chat_template: str, add_generation_prompt: bool, **values: str) -> Any:
    assert add_generation_prompt
    if chat_template == "large":
        raise MemoryError
    if chat_template == "bad":
        raise ValueError("no\nwords " * 200)
    return [f"{conversations[0][0]['content']} {values['eos_token']}"], []


def test_requests_are_answered_in_order() -> None:
    requests = [
        {"template": name, "messages": [{"role": "user", "content": "hi"}], "values": {"eos_token": "end"}}
        for name in ("good", "large", "bad", "good")
    ]
    answers = io.StringIO()
    serve(io.StringIO("".join(json.dumps(request) + "\n" for request in requests)), answers, echo)
    found = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert found[0] == found[3] == {"text": "hi end"}
    assert found[1] == {"limit": f"it takes more than {MEMORY >> 20} MiB"}
    assert len(found[2]["refused"]) == 300
