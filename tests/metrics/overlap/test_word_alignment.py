"""Alignments, against every alignment there is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.metrics.overlap import word_alignment as aligner
from interloq.metrics.overlap.word_alignment import GroupedText, Word, align, align_quickly

Pairs = list[tuple[int, int]]
Related = Callable[[str, str], bool]
# a word's class is its letter; some words of other classes are related, and that is not transitive
WORD = st.sampled_from(["a1", "a2", "a3", "b1", "b2", "c1", "d1"]).map(lambda text: Word(text, text[0]))
FEW = st.sampled_from(["a1", "a2", "b1"]).map(lambda text: Word(text, text[0]))
WORDS = st.lists(WORD, max_size=6) | st.lists(FEW, max_size=6)
SYNONYMS = [{"a1", "b1"}, {"a2", "c1"}, {"b2", "c1"}, {"d1", "a1"}, {"d1", "b2"}]


def are_synonyms(first: str, second: str) -> bool:
    return {first, second} in SYNONYMS


def unrelated(first: str, second: str) -> bool:
    return False


def chunks(pairs: Pairs) -> int:
    return sum((i - 1, j - 1) not in pairs for i, j in pairs)


def alignments(response: list[Word], reference: list[Word], related: Related) -> list[tuple[list[int], Pairs]]:
    """Every way to match words one to one, with the number of matches at each stage."""
    found: list[tuple[list[int], Pairs]] = [([0, 0, 0], [])]
    for i, own in enumerate(response):
        longer = []
        for stages, pairs in found:
            for j, other in enumerate(reference):
                stage = 0 if own == other else 1 if own.group == other.group else 2
                if all(j != taken for _, taken in pairs) and (stage < 2 or related(own.text, other.text)):
                    counts = [count + (k == stage) for k, count in enumerate(stages)]
                    longer.append((counts, [*pairs, (i, j)]))
        found += longer
    return found


@pytest.mark.parametrize("related", [unrelated, are_synonyms])
@settings(max_examples=80, deadline=None)
@given(response=WORDS, reference=WORDS)
def test_most_matches_then_fewest_chunks(related: Related, response: list[Word], reference: list[Word]) -> None:
    every = alignments(response, reference, related)
    most = max(stages for stages, _ in every)
    fewest = min(chunks(pairs) for stages, pairs in every if stages == most)
    assert align(response, reference, related) == (sum(most), fewest, True)


@settings(max_examples=50, deadline=None)
@given(st.lists(FEW, max_size=7), st.lists(FEW, max_size=7))
def test_a_beam_of_one_keeps_the_matches_and_says_what_it_knows(response: list[Word], reference: list[Word]) -> None:
    exact = align(response, reference)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NARROW", "WIDE", "CHOICES"):
            patch.setattr(aligner, name, 1)
        rough = align(response, reference)
    assert rough.matches == exact.matches
    assert rough.chunks >= exact.chunks
    assert rough.chunks == exact.chunks or not rough.proven


def grouped(text: list[Word]) -> GroupedText:
    known = ["", *"abcd"]
    return GroupedText([known.index(w.group) * 10 + int(w.text[1]) for w in text], [known.index(w.group) for w in text])


@pytest.mark.parametrize("most", [64, 2])
@given(response=WORDS, reference=WORDS)
def test_the_quick_way_finds_the_same_or_nothing(most: int, response: list[Word], reference: list[Word]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aligner, "SIMPLE", most)
        found = align_quickly(grouped(response), grouped(reference))
    shared = {word.group for word in response} & {word.group for word in reference}
    forms = [{word.text for word in text if word.group == group} for group in shared for text in (response, reference)]
    if any(len(several) > 1 for several in forms):
        assert found is None
    elif most == 2:
        assert found in (None, align(response, reference))
    else:
        assert found == align(response, reference)


def words(text: str) -> list[Word]:
    return [Word(token, token) for token in text.split()]


def test_a_repeated_word_is_matched_where_it_makes_one_chunk() -> None:
    # matched from the left or from the right alone, `the` breaks a run
    assert align(words("the cat and the dog"), words("the dog and the cat and the dog")) == (5, 1, True)


@pytest.mark.parametrize("kind", ["one word", "two words", "few words", "language"])
def test_a_thousand_words_take_bounded_time(kind: str) -> None:
    rng = np.random.default_rng(0)
    draws: dict[str, Callable[[], Any]] = {
        "one word": lambda: np.zeros(1000, dtype=int),
        "two words": lambda: rng.integers(2, size=1000),
        "few words": lambda: rng.integers(10, size=1000),
        "language": lambda: rng.zipf(1.4, 1000),
    }
    response, reference = (words(" ".join(map(str, draws[kind]()))) for _ in range(2))
    start = time.perf_counter()
    found = align(response, reference)
    assert time.perf_counter() - start < 30  # measured: at most 2 s
    tokens = [word.text for word in reference]
    assert found.matches == sum(min(tokens.count(t), [w.text for w in response].count(t)) for t in set(tokens))
    assert 1 <= found.chunks <= found.matches
