"""Embedding Average, Vector Extrema, Greedy Matching and RUBER's referenced half, against literal loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import Reference, Sample, create, evaluate
from interloq.errors import InputError, SpecError
from interloq.metrics.word_vectors import bags_of_vectors as word_vectors
from interloq.metrics.word_vectors import word_vector_metrics
from interloq.vectors.word_vectors import WordVectors, open_vectors

NAMES = ["embedding_average", "vector_extrema", "greedy_matching", "ruber_referenced"]
WORDS = ["the", "cat", "sat", "on", "Ünïcödé", "猫", "🎉", "nought", "<unk>"]
Rows = list[list[float]]


def made_matrix() -> Any:
    matrix = np.random.default_rng(3).normal(0.2, 1, (len(WORDS), 6)).astype(np.float32)
    matrix[WORDS.index("nought")] = 0
    return matrix


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("vectors") / "made"
    WordVectors.of(WORDS, made_matrix(), tokenizer="whitespace").save(path)
    return str(path)


def metric(name: str, vectors: str | Path, unknown: str = "skip") -> Any:
    return create(f"{name}(vectors={str(vectors)!r},unknown={unknown!r})", kind="metric")


# ---- literal loops ----


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    lengths = math.sqrt(math.fsum(x * x for x in first)) * math.sqrt(math.fsum(y * y for y in second))
    return math.fsum(x * y for x, y in zip(first, second, strict=True)) / lengths if lengths else 0.0


def average(rows: Rows) -> list[float]:
    return [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]


def extrema(rows: Rows) -> list[float]:
    return [min(c) if abs(min(c)) > max(c) else max(c) for c in zip(*rows, strict=True)]


def max_and_min(rows: Rows) -> list[float]:
    return [max(c) for c in zip(*rows, strict=True)] + [min(c) for c in zip(*rows, strict=True)]


def greedy(reply: Rows, reference: Rows) -> float:
    there = [max(cosine(word, other) for other in reference) for word in reply]
    back = [max(cosine(word, other) for other in reply) for word in reference]
    return (math.fsum(there) / len(there) + math.fsum(back) / len(back)) / 2


def by_cosine(pool: Callable[[Rows], list[float]]) -> Callable[[Rows, Rows], float]:
    return lambda reply, reference: cosine(pool(reply), pool(reference))


SIMILARITIES: dict[str, Callable[[Rows, Rows], float]] = {
    "embedding_average": by_cosine(average),
    "vector_extrema": by_cosine(extrema),
    "greedy_matching": greedy,
    "ruber_referenced": by_cosine(max_and_min),
}


def literal(name: str, sample: Sample, unknown: str) -> float | str:
    """The score, or why there is none."""
    table = {word: [float(x) for x in row] for word, row in zip(WORDS, made_matrix(), strict=True)}
    middle = average(list(table.values()))

    def rows(text: str) -> Rows:
        tokens = text.split()
        if not any(token in table for token in tokens):
            return []
        return [table.get(token, middle) for token in tokens if token in table or unknown == "mean"]

    if not sample.references:
        return "no references"
    if sample.response.split() and not rows(sample.response):
        return "no known word in the reply"
    references = [found for reference in sample.references if (found := rows(reference.text))]
    if not references:
        return "no known word in a reference"
    if not sample.response.split():
        return 0.0
    return max(SIMILARITIES[name](rows(sample.response), reference) for reference in references)


TEXT = st.lists(st.sampled_from([*WORDS, "dog", "Cat", "mat"]), max_size=9).map(" ".join)
PAIRS = st.lists(st.tuples(TEXT, st.lists(TEXT, max_size=3)), max_size=6)


@pytest.mark.parametrize("unknown", ["skip", "mean"])
@pytest.mark.parametrize("name", NAMES)
@given(pairs=PAIRS)
@settings(max_examples=40, deadline=None)
def test_scores_are_those_of_a_literal_loop(
    name: str, unknown: str, folder: str, pairs: list[tuple[str, list[str]]]
) -> None:
    samples = [Sample(str(i), (), reply, references) for i, (reply, references) in enumerate(pairs)]
    made = metric(name, folder, unknown)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_vectors, "TEXTS", 4)
        patch.setattr(word_vectors, "POOLED", 3)
        patch.setattr(word_vector_metrics, "NUMBERS", 150)
        rows = made.stats(samples)
    assert rows.shape == (len(samples), 2)
    for sample, (score, _) in zip(samples, rows, strict=True):
        expected = literal(name, sample, unknown)
        if isinstance(expected, str):
            assert made.unscorable(sample) == expected
            assert math.isnan(score)
        else:
            assert made.unscorable(sample) is None
            assert score == pytest.approx(expected, abs=1e-6 if unknown == "mean" else 1e-12)


def test_an_unknown_word_is_skipped_or_takes_the_mean_of_all_vectors(by_hand: str) -> None:
    """The mean is (.5, 1.25); it is an average of plain vectors, not of unit ones."""
    sample = Sample("x", (), "a who", ["b"])
    skip, mean = (
        evaluate(metric("embedding_average", by_hand, unknown), [sample]).value for unknown in ("skip", "mean")
    )
    assert skip == pytest.approx(24 / 25, abs=1e-12)
    assert mean == pytest.approx((3.5 * 4 + 5.25 * 3) / (math.hypot(3.5, 5.25) * 5), abs=1e-12)


# ---- what holds for all four ----


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_ignored_and_unknown_references_skipped(name: str, folder: str) -> None:
    plain = Sample("x", (), "the cat", ["sat on 猫", "cat"])
    odd = Sample(
        "x", (), "the cat", [Reference("sat on 猫", -1.0), Reference("dog"), Reference("cat", 0.0), Reference("")]
    )
    made = metric(name, folder)
    assert evaluate(made, [odd]).value == evaluate(made, [plain]).value


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name: str, folder: str, by_hand: str) -> None:
    made = metric(name, folder, "mean")
    fingerprint = WordVectors.load(folder).facts["fingerprint"]
    built = evaluate(made, [Sample("x", (), "the", ["cat"])]).signature.parts["built-with"]
    assert built.startswith(f"vectors(words={len(WORDS)},dimensions=6)-{fingerprint}|tokenizer:whitespace")
    assert made.built_with() != metric(name, by_hand).built_with()


def test_wrong_fields_say_so(folder: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="greedy_matching needs vectors"):
        create("greedy_matching")
    with pytest.raises(SpecError, match="unknown must be one of 'skip', 'mean', got 'unk'"):
        metric("vector_extrema", folder, "unk")
    with pytest.raises(InputError, match="has no word vectors"):
        evaluate(metric("vector_extrema", tmp_path), [Sample("x", (), "the", ["cat"])])


def test_a_file_without_a_tokenizer_says_how_to_record_one(tmp_path: Path) -> None:
    file = tmp_path / "small.vec"
    file.write_text("the 1 2\ncat 3 4\n", "utf-8")
    with pytest.raises(InputError, match="--tokenizer SPEC"):
        evaluate(metric("embedding_average", file), [Sample("x", (), "the", ["cat"])])


def test_vectors_that_were_written_again_are_opened_again(tmp_path: Path) -> None:
    def saved(rows: list[list[float]]) -> float:
        WordVectors.of(["a", "b"], np.array(rows, dtype=np.float32), tokenizer="whitespace").save(tmp_path)
        return evaluate(metric("embedding_average", tmp_path), [Sample("x", (), "a", ["b"])]).value

    assert saved([[1, 0], [0, 1]]) == 0
    assert open_vectors(tmp_path) is open_vectors(str(tmp_path))
    assert saved([[1, 0], [1, 0]]) == 1
