from __future__ import annotations

import random
from pathlib import Path

import pytest

from interloq import Sample
from interloq.records import Pair
from interloq.retrieve.index import Index, create_index
from interloq.retrieve.leaks import jaccard, words
from interloq.retrieve.log_overlap import measure_overlap

TOPICS = ("tea", "rain", "football", "music", "cats", "maths", "bread", "trains")
FILLERS = ("we", "like", "really", "today", "about", "never", "they", "often")


def about(topic: str, drawn: random.Random) -> str:
    return " ".join([topic, *drawn.sample(FILLERS, 3)])


def make_samples(n: int, drawn: random.Random) -> list[Sample]:
    samples = []
    for i in range(n):
        topic = drawn.choice(TOPICS)
        samples.append(Sample(str(i), ["hello", about(topic, drawn)], "reply", [about(topic, drawn)]))
    return samples


def make_index(folder: Path, *, related: bool, n: int = 200) -> Index:
    """A log whose replies are about the topic of their utterance, or about any topic."""
    drawn = random.Random(1)
    index = create_index(folder, "bm25")
    pairs = []
    for i in range(n):
        topic = drawn.choice(TOPICS)
        reply = about(topic if related else drawn.choice(TOPICS), drawn)
        pairs.append(Pair(f"p{i}", about(topic, drawn), reply))
    index.add(pairs, source="made")
    return index


def test_replies_of_a_related_log_are_nearer_than_chance(tmp_path: Path) -> None:
    samples = make_samples(60, random.Random(0))
    overlap = measure_overlap(samples, make_index(tmp_path / "related", related=True), k=5)
    assert overlap.contexts == len({sample.context for sample in samples})
    assert overlap.reply_ci is not None
    assert overlap.reply_ci[0] > 0.6
    chance = measure_overlap(samples, make_index(tmp_path / "unrelated", related=False), k=5)
    assert chance.reply_ci is not None
    assert chance.reply_ci[0] < 0.5 < chance.reply_ci[1]


def test_the_utterance_is_compared_with_the_most_similar_one(tmp_path: Path) -> None:
    index = create_index(tmp_path / "index", "bm25")
    index.add([Pair("a", "tea is good", "yes"), Pair("b", "tea is very hot today", "no")], source="made")
    overlap = measure_overlap([Sample("s", ["hi", "tea is very hot"], "x", ["fine"])], index)
    assert overlap.utterance == pytest.approx(jaccard(words("tea is very hot"), words("tea is very hot today")))
    assert overlap.reply is None  # there is no other context


def test_contexts_count_once_and_are_drawn_with_a_seed(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", related=True)
    samples = make_samples(40, random.Random(2))
    again = [Sample(f"{s.id}/b", s.context, "other", s.references) for s in samples]
    assert measure_overlap([*samples, *again], index) == measure_overlap([*again, *samples][40:] + again, index)
    some = measure_overlap(samples, index, contexts=10)
    assert some.contexts == 10
    assert some == measure_overlap(samples, index, contexts=10)


def test_excluded_pairs_and_copies_do_not_count(tmp_path: Path) -> None:
    index = create_index(tmp_path / "index", "bm25")
    index.add([Pair("a", "tea is hot", "leak"), Pair("b", "tea is hot today", "no")], source="made")
    samples = [Sample("s", ["tea is hot"], "x", ["leak"]), Sample("t", ["is it tea"], "x", ["leak"])]
    overlap = measure_overlap(samples, index, excluded=frozenset({"b"}))
    assert overlap.utterance == 0.0


def test_without_contexts_or_gold_replies_nothing_is_claimed(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", related=True, n=20)
    assert measure_overlap([Sample("s", (), "x", ["y"])], index).utterance is None
    bare = measure_overlap([Sample("s", ["tea"], "x"), Sample("t", ["rain"], "x")], index)
    assert bare.reply is None
    assert bare.utterance is not None
