# SPDX-License-Identifier: Apache-2.0
"""Parameters that a model behind a chat server does not accept: learned from its refusals, once per server and model.

Models that reason before they answer take `max_completion_tokens` instead of `max_tokens`, and reject a temperature or
a seed with HTTP 400 and a message that names the parameter. The request is then sent again without it. Callers report
this beside their results: without a seed, a second run can differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

INSTEAD = "max_completion_tokens"  # sent if `max_tokens` is refused; it also counts the tokens of reasoning
OPTIONAL = ("max_tokens", INSTEAD, "temperature", "seed", "response_format")
_NAMED = re.compile(rf"\b({'|'.join(OPTIONAL)}|logprobs|top_logprobs)\b")
_REFUSED = re.compile(
    "unsupported|not support|only the default|not permitted|not allowed|unknown|unrecognized|unexpected|cannot find"
)
READ = 2_000  # characters of a refusal


class ChatParameters:
    """What one model behind one server does not accept."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self._reported: set[str] = set()

    def adapt(self, body: Mapping[str, Any], *, reasoning_tokens: int = 0) -> dict[str, Any]:
        """Return the request with only the parameters that the model accepts.

        `reasoning_tokens` are added if the server counts reasoning.
        """
        sent = {name: value for name, value in body.items() if name not in self.refused}
        if self.counts_reasoning and "max_tokens" in body:
            sent[INSTEAD] = body["max_tokens"] + reasoning_tokens
        return sent

    @property
    def counts_reasoning(self) -> bool:
        """Return whether `max_completion_tokens` is sent instead of `max_tokens`."""
        return "max_tokens" in self.refused and INSTEAD not in self.refused

    def learn(self, name: str, sent: Mapping[str, Any]) -> bool:
        """Stop sending a parameter; return False if the request did not have it or cannot do without it."""
        if name not in OPTIONAL or name not in sent:
            return False
        self.refused.add(name)
        return True

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return parameters that are not sent in any form."""
        left_out = set(self.refused)
        if self.counts_reasoning:
            left_out.remove("max_tokens")  # it is renamed
        return tuple(name for name in OPTIONAL if name in left_out)

    def news(self) -> tuple[str, ...]:
        """Return what is omitted and has not been returned here before, so that it is reported once."""
        unreported = tuple(name for name in self.left_out if name not in self._reported)
        self._reported |= set(unreported)
        return unreported


_KNOWN: dict[tuple[str, str], ChatParameters] = {}


def parameters_of(url: str, model: str) -> ChatParameters:
    """Return what is known about a model behind a server; all users of the model in this process share it."""
    return _KNOWN.setdefault((url, model), ChatParameters())


def find_refused_parameter(status: int, refusal: bytes) -> str:
    """Return the parameter that a refusal says the model does not accept; '' if it is about something else."""
    text = refusal[:READ].decode("utf-8", "replace").lower()
    named = _NAMED.search(text)
    if status in (400, 422) and named and _REFUSED.search(text):
        return named[1]
    return ""
