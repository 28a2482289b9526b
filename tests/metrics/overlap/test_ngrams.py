"""N-gram counts, against Counters and against sacrebleu's own tokenisation of whole texts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from interloq import Reference, Sample, create
from interloq.data.text.token_texts import TokenNumbering
from interloq.data.text.tokenize import Mteval13a, Tokenizer
from interloq.metrics.overlap import ngrams

MARKUP = ("<skipped>", "<skip", "ped>", "&quot;", "&amp;", "&amp;lt;", "&", ";")
SPACES = (" ", "\t", "\n", "-\n", "\r\n", "\x1c", "\x85", "\xa0", "\u2028", "\u3000")
WORDS = ("-", ".", ",", "..", "3.14", "1,000", "7-", "can't", "(a)", "日本語。", "é", "e\u0301", "ΑΣ", "Σ")
PIECES = st.sampled_from(MARKUP + SPACES + WORDS)
TEXT = st.lists(PIECES | st.text(max_size=6)).map("".join)
TOKENS = st.lists(st.sampled_from("abc"), max_size=12)
SAMPLE = st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=4))


def tokens_of(texts: list[str], tokenizer: Tokenizer) -> list[list[str]]:
    numbering = TokenNumbering(tokenizer)
    numbered = numbering.texts(texts)
    vocabulary = numbering.vocabulary()
    return [[vocabulary[token] for token in numbered[i]] for i in range(len(texts))]


@given(st.lists(TEXT, max_size=4), st.booleans())
@example(["well-\nknown a-\n b"], False)
@example(["<skipped> a<skipped>b <skip ped> <skip<skipped>ped>"], False)
@example(["x. .y ,5 5, 5,5 .5 5. -5 5-5 - ,"], False)
@example(["ΟΔΟΣ. ΟΔΟΣ ΑΣ\u0301 Σ"], True)
def test_words_one_by_one_are_the_whole_text_in_13a(texts: list[str], lowercase: bool) -> None:
    sacrebleu = BLEU(lowercase=lowercase, tokenize="13a")
    whole = [sacrebleu._preprocess_segment(text).split() for text in texts]
    assert tokens_of(texts, Mteval13a(lowercase=lowercase)) == whole


def numbered_of(samples: list[tuple[list[str], list[list[str]]]]) -> ngrams.Numbered:
    records = [
        Sample(str(i), (), " ".join(response), [" ".join(reference) for reference in references])
        for i, (response, references) in enumerate(samples)
    ]
    return ngrams.number(records, create("whitespace", kind="tokenizer"))


Counted = Counter[tuple[int, ...]]


def found(samples: list[tuple[list[str], list[list[str]]]], order: int) -> dict[tuple[int, int], Counted]:
    """(count in the reply, counts in its references) of each n-gram, as a multiset by sample and order."""
    numbered = numbered_of(samples)
    starts = numbered.responses.ends.tolist()
    counted: dict[tuple[int, int], Counted] = {}
    for matches in ngrams.count(numbered, order):
        assert matches.sample.tolist() == sorted(matches.sample.tolist())
        assert matches.place.tolist() == sorted(matches.place.tolist())
        cells = list(zip(matches.gram.tolist(), matches.reference.tolist(), strict=True))
        assert cells == sorted(set(cells))
        by_cell = dict(zip(cells, matches.count.tolist(), strict=True))
        assert all(n > 0 for n in by_cell.values())
        for gram, (i, own, place) in enumerate(
            zip(matches.sample.tolist(), matches.own.tolist(), matches.place.tolist(), strict=True)
        ):
            assert starts[i] <= place <= starts[i + 1] - matches.order
            first = numbered.first_reference[i]
            row = [by_cell.pop((gram, first + j), 0) for j in range(len(samples[i][1]))]
            counted.setdefault((i, matches.order), Counter())[own, *row] += 1
        assert not by_cell  # no match with the reference of another sample
    return counted


def expected(samples: list[tuple[list[str], list[list[str]]]], order: int) -> dict[tuple[int, int], Counted]:
    counted: dict[tuple[int, int], Counted] = {}
    for i, (response, references) in enumerate(samples):
        for n in range(1, order + 1):
            tables = [ngrams.ngrams(reference, n) for reference in references]
            for gram, count in ngrams.ngrams(response, n).items():
                counted.setdefault((i, n), Counter())[count, *(table[gram] for table in tables)] += 1
    return counted


@pytest.mark.parametrize("table", [0, 30, ngrams.TABLE], ids=["sorted", "mixed", "table"])
@given(st.lists(SAMPLE, max_size=8), st.integers(1, 4), st.sampled_from([1, 20, ngrams.BLOCK]), st.integers(1, 5))
def test_counts_are_those_of_counters(
    table: int, samples: list[tuple[list[str], list[list[str]]]], order: int, block: int, most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "TABLE", table)
        patch.setattr(ngrams, "BLOCK", block)
        patch.setattr(ngrams, "SAMPLES", most)
        assert found(samples, order) == expected(samples, order)


@given(st.lists(SAMPLE, min_size=1, max_size=12), st.sampled_from([1, 40, 300]))
def test_blocks_stay_small(samples: list[tuple[list[str], list[list[str]]]], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "BLOCK", size)
        blocks = [set(matches.sample.tolist()) for matches in ngrams.count(numbered_of(samples), 1)]
    for block in blocks:
        tokens = sum(len(text) for i in block for text in (samples[i][0], *samples[i][1]))
        assert len(block) < 2 or tokens <= size


def test_the_largest_value_of_an_n_gram_without_a_match_is_0() -> None:
    (matches,) = ngrams.count(numbered_of([(["a", "b", "a"], [["a"], ["c", "a", "a", "a"]])]), 1)
    assert matches.own.tolist() == [2, 1]
    assert matches.shared().tolist() == [1, 2]
    assert matches.largest(matches.count).tolist() == [3, 0]
    assert matches.largest(np.array([-2.0, -1.5])).tolist() == [-1.5, 0]


@given(st.lists(SAMPLE, min_size=1, max_size=6))
def test_closest_length_is_the_shorter_of_two_as_close(samples: list[tuple[list[str], list[list[str]]]]) -> None:
    def closest(response: list[str], references: list[list[str]]) -> int:
        return min((abs(len(r) - len(response)), len(r)) for r in references)[1]

    assert ngrams.closest_lengths(numbered_of(samples)).tolist() == [closest(*sample) for sample in samples]


def test_lengths_and_weights_of_references_are_those_of_each_sample() -> None:
    samples = [
        Sample("1", (), "a", [Reference("a b c", 0.25), Reference("a", -0.5), Reference("a b", 0.0)]),
        Sample("2", (), "a b", [Reference("", -1.0)]),
        Sample("3", (), "", [Reference("a", 0.5), Reference("a b", 1.0)]),
    ]
    numbered = ngrams.number(samples, create("whitespace", kind="tokenizer"))
    assert numbered.first_reference.tolist() == [0, 3, 4]
    assert ngrams.average_lengths(numbered).tolist() == [2, 0, 1.5]
    assert ngrams.largest_weights(numbered).tolist() == [0.25, -1, 1]
    assert ngrams.closest_lengths(numbered).tolist() == [1, 0, 1]


def test_no_samples_have_no_lengths() -> None:
    numbered = numbered_of([])
    assert ngrams.closest_lengths(numbered).tolist() == ngrams.largest_weights(numbered).tolist() == []
    assert list(ngrams.count(numbered, 2)) == []


@pytest.mark.parametrize("longer", ["reply", "reference"])
def test_long_texts_are_counted_in_full(longer: str) -> None:
    long, short = ["a", *"bcd", "a"] * 300, ["a"] * 3
    sample = (long, [short]) if longer == "reply" else (short, [short, long])
    assert found([sample], 2) == expected([sample], 2)


@given(st.lists(TOKENS, max_size=5), st.integers(1, 4))
def test_gram_keys_are_equal_where_n_grams_are(texts: list[list[str]], n: int) -> None:
    numbering = TokenNumbering(create("whitespace", kind="tokenizer"))
    numbered = numbering.texts(" ".join(text) for text in texts)
    keys = np.zeros(len(numbered.tokens), dtype=np.int64)
    for k in range(1, n + 1):
        keys = ngrams.gram_keys(keys, numbered, k, 100)
    at = [(text, i) for text in texts for i in range(len(text))]
    grams = [tuple(text[i : i + n]) if i + n <= len(text) else None for text, i in at]
    assert [key < 0 for key in keys.tolist()] == [gram is None for gram in grams]
    known = sorted((gram, key) for gram, key in zip(grams, keys.tolist(), strict=True) if gram is not None)
    assert all((a == b) == (x == y) for (a, x), (b, y) in pairwise(known))
    assert len({key for _, key in known}) == len({gram for gram, _ in known})
