"""A small encoder, language model and chat for AM-FM."""

from __future__ import annotations

from collections.abc import Sequence

from interloq import Reference, Sample

REPLIES = [
    "it was a very good day .",
    "no idea , sorry .",
    "we saw the film there again .",
    "日本語",
    "it",
    "how was it ?",
    "x" * 300,
]


def chat(context: Sequence[str] = ("hi .", "how was it ?")) -> list[Sample]:
    references = [Reference("it was good ."), Reference("no , sorry .", 0.3), Reference("we saw the film .")]
    return [Sample(f"{i:02}", context, reply, references[: 1 + i % 3]) for i, reply in enumerate(REPLIES)]
