"""Logs made up for tests: threads of short posts by a few users, from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SENTENCE = "the rain is late again and nobody knows why so we wait for it all day long in this quiet old town"
DAY = 86_400


def write_posts(path: Path, posts: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(post, ensure_ascii=False) + "\n" for post in posts)
    return path


def made_posts(n: int, *, seed: int = 0, users: int = 40) -> list[dict[str, Any]]:
    """Most posts answer a recent one; times go up, and texts carry what cleaning removes."""
    rng = random.Random(seed)
    posts: list[dict[str, Any]] = []
    for i in range(n):
        text = " ".join(rng.choices(SENTENCE.split(), k=rng.randint(3, 14)))
        text += rng.choice(["", "", " https://t.co/x", " 😀", " #rain", " sooooooo", " no no no no no"])
        reply_to = str(rng.randrange(max(0, i - 30), i)) if i and rng.random() < 0.7 else ""
        posts.append(
            {
                "id": str(i),
                "user": f"user{rng.randrange(users)}",
                "text": f"@user{rng.randrange(users)} {text}" if reply_to else text,
                "time": 1_500_000_000 + i * 600 + rng.randrange(600),
                "reply_to": reply_to,
            }
        )
    return posts
