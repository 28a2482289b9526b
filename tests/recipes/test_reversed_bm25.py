"""The recipe against a literal reading of gensim 3.8's BM25, and what it says about leaks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import reversed_bm25

from interloq import Sample, load, write
from interloq.data.records.jsonl import header
from interloq.records import Pair
from interloq.registry import create
from interloq.retrieve.retriever import Query

WORDS = ["i", "you", "see", "dog", "cat", "rain", "sun", "again", "never", "film"]


def texts(seed: int, n: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(n)]


def gensim_scores(line: str, corpus: list[str]) -> list[float]:
    """What gensim 3.8's `BM25(corpus).get_scores(line)` computes, word by word."""
    documents = [text.split() for text in corpus]
    words = dict.fromkeys(word for document in documents for word in document)
    df = {word: sum(word in document for document in documents) for word in words}
    idf = {word: math.log(len(documents) - n + 0.5) - math.log(n + 0.5) for word, n in df.items()}
    average = sum(idf.values()) / len(idf)
    idf = {word: value if value >= 0 else 0.25 * average for word, value in idf.items()}
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in line.split():
            if tf := document.count(word):
                score += idf[word] * tf * 2.5 / (tf + 1.5 * (1 - 0.75 + 0.75 * len(document) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("both", [False, True])
def test_equals_a_literal_computation(both: bool) -> None:
    items = list(dict.fromkeys(map(Query, texts(1, 12), texts(2, 12))))
    pool = [Pair(str(i), u, r) for i, (u, r) in enumerate(zip(texts(3, 300), texts(4, 300), strict=True))]
    found = reversed_bm25.search(items, pool, k=15, both=both, tokenizer=create("whitespace", kind="tokenizer"))
    utterances, responses = [item.utterance for item in items], [item.response for item in items]
    for place, hits in enumerate(found):
        ranked = []
        for line, pair in enumerate(pool):
            score = gensim_scores(pair.utterance, utterances)[place]
            if both:
                score *= 0.5 * gensim_scores(pair.response, responses)[place] + 0.5 * 0.1
            ranked.append((score, line))
        expected = sorted(ranked, reverse=True)[:15]
        assert [(score, int(pair.id)) for score, pair in hits] == expected  # to the last bit: ties depend on it


def test_frequent_words_have_a_quarter_of_the_mean_idf() -> None:
    index = reversed_bm25.ReversedBm25([["a", "b"], ["a", "c"], ["a", "d"]])
    rare, common = math.log(2.5) - math.log(1.5), math.log(0.5) - math.log(3.5)
    assert common < 0
    mean = (3 * rare + common) / 4
    assert index.scores(["a"]).tolist() == pytest.approx([0.25 * mean] * 3)
    assert index.scores(["b", "b", "x"]).tolist() == pytest.approx([2 * rare, 0, 0])


def test_the_later_of_equal_lines_comes_first_and_lines_without_a_shared_word_count() -> None:
    pool = [Pair("0", "dog", ""), Pair("1", "x", ""), Pair("2", "dog", ""), Pair("3", "y", ""), Pair("4", "z", "")]
    tokenizer = create("whitespace", kind="tokenizer")
    hits, *_ = reversed_bm25.search([Query("dog"), Query("cat"), Query("film")], pool, k=4, tokenizer=tokenizer)
    assert [pair.id for _, pair in hits] == ["2", "0", "4", "3"]


def test_copies_of_the_test_item_come_back_and_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = [Sample(f"s/{i}", [text], "reply", ["gold"]) for i, text in enumerate(["a dog", "the cat", "some film"])]
    write("samples.jsonl", samples, kind="samples", dataset="made")
    pool = [Pair("copy", "a dog", "gold"), *(Pair(f"p{i}", f"{w} dog", "same") for i, w in enumerate(WORDS))]
    write("pairs.jsonl", [*pool, *(Pair(f"q{i}", "rain", f"other {i}") for i in range(20))], kind="pairs")
    assert reversed_bm25.main(["samples.jsonl", "pairs.jsonl", "-o", "out.jsonl"]) == 0
    said = capsys.readouterr().out
    assert "leak guard and duplicate removal are off" in said
    assert "repeated: 9 retrieved pairs" in said
    assert "utterance: 1 retrieved pairs" in said
    first = load("out.jsonl")[0].references
    assert [r.source for r in first[:4]] == ["parrot", "gold", "retrieved:p3", "retrieved:copy"]  # p3: dog dog
    assert (len(first), [r.text for r in first].count("same")) == (15, 10)
    assert header("out.jsonl")["dataset"] == "made"
    assert "leak-guard:off" in header("out.jsonl")["extended"][0]["signature"]
