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


def found(counts: ngrams.Counts, column: int, n: int, references: int) -> Counter[tuple[int, ...]]:
    """(count in the reply, counts in its references) of each n-gram of one sample, as a multiset."""
    own, other = counts.response[n - 1], counts.references[n - 1]
    return Counter(
        (int(own[g, column]), *map(int, other[g, :references, column])) for g in range(len(own)) if own[g, column]
    )


def expected(response: list[str], references: list[list[str]], n: int) -> Counter[tuple[int, ...]]:
    def counted(tokens: list[str]) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    tables = [counted(reference) for reference in references]
    return Counter((count, *(table[gram] for table in tables)) for gram, count in counted(response).items())


@pytest.mark.parametrize("longest", [0, 6, 255], ids=["dictionary", "mixed", "comparing"])
@given(st.lists(SAMPLE, min_size=1, max_size=6), st.integers(1, 4))
def test_counts_are_those_of_counters(
    longest: int, samples: list[tuple[list[str], list[list[str]]]], order: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "LONGEST", longest)
        blocks = list(ngrams.count(numbered_of(samples), order))
    met = []
    for counts in blocks:
        for column, i in enumerate(counts.samples.tolist()):
            met.append(i)
            response, references = samples[i]
            for n in range(1, order + 1):
                assert found(counts, column, n, len(references)) == expected(response, references, n)
    assert sorted(met) == list(range(len(samples)))


@given(st.lists(SAMPLE, min_size=1, max_size=12), st.sampled_from([1, 40, 300]))
def test_blocks_hold_every_sample_once_and_stay_small(
    samples: list[tuple[list[str], list[list[str]]]], size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "BLOCK", size)
        blocks = list(ngrams.count(numbered_of(samples), 1))
    assert sorted(i for counts in blocks for i in counts.samples.tolist()) == list(range(len(samples)))
    for counts in blocks:
        widest = max(len(samples[i][0]) or 1 for i in counts.samples)
        longest = max(len(reference) or 1 for i in counts.samples for reference in samples[i][1])
        most = max(len(samples[i][1]) for i in counts.samples)
        assert len(counts.samples) == 1 or len(counts.samples) * widest * longest * most <= size


def test_absent_references_have_no_weight() -> None:
    (counts,) = ngrams.count(numbered_of([(["a"], [["a"]]), (["a"], [["a"], ["b"]])]), 1)
    weights = {int(i): counts.weights[:, b].tolist() for b, i in enumerate(counts.samples)}
    assert weights[1] == [1, 1]
    assert weights[0][0] == 1
    assert np.isnan(weights[0][1])


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


@pytest.mark.parametrize("length", [254, 255, 256, 300])
@pytest.mark.parametrize("longer", ["reply", "reference"])
def test_a_count_above_a_byte_is_not_cut(length: int, longer: str) -> None:
    long, short = ["a"] * length, ["a"] * 3
    sample = (long, [short]) if longer == "reply" else (short, [short, long])
    (counts,) = ngrams.count(numbered_of([sample]), 2)
    for n in (1, 2):
        assert found(counts, 0, n, len(sample[1])) == expected(*sample, n)


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
