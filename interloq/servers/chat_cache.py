# SPDX-License-Identifier: Apache-2.0
"""A cache on disk for answers of chat servers, by address and request: model, prompt and parameters, but not the key.

Answers are stored in `answers.db` in the cache folder (see data/files/cache.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from interloq.data.files.cache import BlobCache, cache_folder
from interloq.servers.chat_server import ChatAnswer

FILE = "answers.db"


def answer_key(url: str, body: Mapping[str, Any]) -> bytes:
    """Return the key of a request; the order of its fields does not matter."""
    return blake2b(f"{url}\0{json.dumps(body, sort_keys=True)}".encode(), digest_size=16).digest()


def read_cached_answers(keys: Sequence[bytes]) -> dict[bytes, ChatAnswer]:
    """Return the answers that are in the cache, by key; damaged ones are ignored."""
    cache = _cache()
    answers: dict[bytes, ChatAnswer] = {}
    if cache and keys:
        for key, row in cache.get(keys).items():
            if answer := _parse_answer(row):
                answers[key] = answer
    return answers


def cache_answers(answers: Mapping[bytes, ChatAnswer]) -> None:
    """Add answers to the cache, unless it is off."""
    cache = _cache()
    if cache and answers:
        rows = []
        for key, answer in answers.items():
            tokens = answer.prompt_tokens, answer.completion_tokens
            rows.append((key, json.dumps([answer.text, answer.candidates, *tokens, answer.left_out]).encode()))
        cache.put(rows)


def _cache() -> BlobCache | None:
    folder = cache_folder()
    return BlobCache(folder / FILE, "answer") if folder else None


def _parse_answer(row: bytes) -> ChatAnswer | None:
    try:
        text, candidates, prompt_tokens, completion_tokens, *rest = json.loads(row)
        pairs = None if candidates is None else tuple((str(token), float(p)) for token, p in candidates)
        left_out = tuple(map(str, rest[0])) if rest else ()  # earlier versions did not store it
        return ChatAnswer(str(text), pairs, int(prompt_tokens), int(completion_tokens), left_out)
    except (ValueError, TypeError):
        return None
