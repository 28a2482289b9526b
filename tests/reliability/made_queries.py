"""Rated replies to made-up queries: a reply is rated by how many words it shares with the query's topic."""

from __future__ import annotations

from random import Random

from interloq import Sample

TOPICS = ["tea milk cup leaf pot sip", "dog walk bone leash bark park", "rain cloud wet storm coat sky"]
FILLERS = ["we", "i", "a", "the", "very", "really", "maybe", "so", "and", "then"]


def sentence(random: Random, topic: int = 0, share: float = 0.5) -> str:
    """A few words, about this share of which are of a topic."""
    words = TOPICS[topic % len(TOPICS)].split()
    chosen = [random.choice(words if random.random() < share else FILLERS) for _ in range(random.randint(3, 9))]
    return " ".join(chosen)


def rated_samples(queries: int, *, replies: int = 6, references: int = 5, seed: int = 0) -> list[Sample]:
    """Samples of several systems, each with some of its query's references."""
    random = Random(seed)
    found: list[Sample] = []
    for q in range(queries):
        texts = [sentence(random, q, 0.8) for _ in range(references)]
        for r in range(replies):
            share = random.random()
            reply = sentence(random, q, share)
            context = ["well", f"{sentence(random, q)} {q} ?"] if not r else found[-1].context
            found.append(Sample(f"{q:03}", context, reply, texts, f"bot{r}", [1 + 4 * share, 1 + round(4 * share)]))
    return found
