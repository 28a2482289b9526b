# SPDX-License-Identifier: Apache-2.0
"""Log of requests to paid servers: one JSON object per line, appended to a file; no prompts, no answers, no keys.

    {"time":"2026-11-16T20:01:02.345678+00:00","endpoint":"https://host/v1","model":"name","prompt_tokens":210,
     "completion_tokens":1,"cost":0.0001065,"seconds":0.412,"cached":false,"failure":""}

The first line is a header. `cost` is null if no price is known. Several processes may append to the same file.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from interloq.data.files.write_errors import writing
from interloq.data.records.jsonl import header, header_line
from interloq.errors import InputError

KIND = "calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: answered by the server, answered from the cache, or failed."""

    endpoint: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    failure: str = ""


class CallLog:
    """An append-only file of calls; a file of anything else is refused."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists() and self.path.stat().st_size:
            if header(self.path).get("kind") != KIND:
                raise InputError("not a log of calls", hint="name another file", where=str(path))
        else:
            self._append(header_line(KIND, {}))

    def add(self, call: Call) -> None:
        """Append a call with the present time."""
        facts = {"time": datetime.now(UTC).isoformat(), **asdict(call), "seconds": round(call.seconds, 3)}
        self._append(orjson.dumps(facts) + b"\n")

    def _append(self, line: bytes) -> None:
        # one write per line in append mode, so that lines of several processes do not mix
        with writing(self.path), self.path.open("ab", buffering=0) as file:
            file.write(line)
