"""Small parts of USL-H and a chat."""

from __future__ import annotations

from interloq import Sample

REPLIES = ["it was a very good day .", "no", "we saw the film there again .", "how was it ?", "no", "a a a day"]


def chat(replies: list[str] = REPLIES) -> list[Sample]:
    return [Sample(f"{i:02}", ["how was it ?"], reply) for i, reply in enumerate(replies)]
