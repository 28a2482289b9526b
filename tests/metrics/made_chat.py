"""A short chat."""

from __future__ import annotations

from random import Random

from interloq import Sample


def chat(n: int = 30) -> list[Sample]:
    random = Random(1)
    words = ["i", "we", "like", "tea", "rain", "cats", "really", "so", "about", "the", "trains", "猫", "?", "é"]

    def text() -> str:
        return " ".join(random.choices(words, k=random.randint(1, 9)))

    return [Sample(f"{i:03}", [text(), text()], text(), [text()]) for i in range(n)]
