"""A made log in which replies share a topic with their utterances, and scorers that have learned nothing yet."""

from __future__ import annotations

import json
import random
from pathlib import Path

from interloq.data.text.tokenize import train_sentencepiece
from interloq.learn.gru import Pieces
from interloq.learn.store import save_model
from interloq.records import Pair
from interloq.scorers.ruber.job import start
from interloq.scorers.ruber.model import KIND, PIECES
from interloq.scorers.ruber.settings import Unreferenced
from interloq.signature import file_fingerprint

TOPICS = ("tea", "rain", "football", "music", "cats", "maths", "bread", "trains")
FILLERS = ("i", "we", "like", "really", "the", "today", "about", "so")


def topic_pairs(n: int, seed: int = 0) -> list[Pair]:
    drawn = random.Random(seed)

    def text(topic: str) -> str:
        words = [*drawn.choices(FILLERS, k=drawn.randint(1, 4)), topic]
        drawn.shuffle(words)
        return " ".join(words)

    topics = drawn.choices(TOPICS, k=n)
    return [Pair(str(i), f"{text(topic)} ?", text(topic)) for i, topic in enumerate(topics)]


def write_pairs(path: Path, n: int = 200) -> Path:
    rows = [{"utterance": pair.utterance, "response": pair.response} for pair in topic_pairs(n)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def topic_pieces(path: Path, n: int = 800) -> Path:
    """A tokenizer that knows the words of the log."""
    texts = (text for pair in topic_pairs(n) for text in (pair.utterance, pair.response))
    return train_sentencepiece(texts, path, vocabulary=80, algorithm="bpe", fewer=True)


def random_scorer(folder: Path, *, seed: int = 0) -> Path:
    """A saved scorer with start weights, as good as any where only form matters."""
    folder.mkdir(parents=True)
    pieces = Pieces(topic_pieces(folder / PIECES, 100))
    settings = Unreferenced(embedding=8, hidden=8, seed=seed)
    config = {"embedding": 8, "hidden": 8, "longest": pieces.longest}
    facts = {"kind": KIND, "config": config, "pieces": file_fingerprint(folder / PIECES)}
    save_model(folder, start(pieces.size, settings).state_dict(), facts)
    return folder
