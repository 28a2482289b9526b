"""Small logs and the training pairs made from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from interloq.data.text.token_texts import Texts
from interloq.rate.examples import Examples
from interloq.rate.pairs import Part, RaterPairs, write_examples
from interloq.records import Pair
from interloq.retrieve.leaks import normalise_text

WHOLE = Examples(most_replies=1000, most_positives=500_000, dev_share=0.3)
MODES: tuple[Literal["any", "matched"], ...] = ("any", "matched")
Example = tuple[str, str, str, str]


class Bytes:
    """A text's tokens are its UTF-8 bytes, so texts can be read back; a larger `size` than is needed does no harm."""

    def __init__(self, size: int = 256) -> None:
        self.size = size

    def texts(self, texts: Sequence[str], /) -> Texts:
        coded = [text.encode() for text in texts]
        ends = np.concatenate([[0], np.cumsum([len(code) for code in coded], dtype=np.int64)])
        return Texts(np.frombuffer(b"".join(coded), dtype=np.uint8).astype(np.int32), ends)

    def signature(self) -> str:
        return f"bytes-{self.size}"


def log(seed: int, *, utterances: int = 40, replies: int = 30, pairs: int = 200) -> list[Pair]:
    """Random pairs: few utterances, few replies, so that both repeat; some only in spelling."""
    rng = np.random.default_rng(seed)
    ways = (str, str.upper, str.title, lambda text: f" {text}  !", lambda text: text.replace(" ", " , "))
    made = []
    for i in range(pairs):
        first, second = ways[rng.integers(len(ways))], ways[rng.integers(len(ways))]
        utterance = f"was läuft {rng.integers(utterances)}"
        made.append(Pair(str(i), first(utterance), second(f"ça va {rng.integers(replies)}"), thread=f"t{i % 7}"))
    return made


def grouped(pairs: Iterable[Pair]) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        groups[normalise_text(pair.utterance)].add(normalise_text(pair.response))
    return groups


def make(pairs: Iterable[Pair], folder: Path, chosen: Examples = WHOLE, **options: Any) -> RaterPairs:
    return write_examples([pairs], folder, Bytes(), chosen, source="log", **options)


def read(data: RaterPairs, part: Part, label: int) -> list[Example]:
    rows, labels = data.examples(part)
    texts = {number: normalise_text(bytes(data.texts[number].astype(np.uint8)).decode()) for number in np.unique(rows)}
    return [(texts[u1], texts[r1], texts[u2], texts[r2]) for u1, r1, u2, r2 in rows[labels == label].tolist()]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
