"""Word vectors in Python and as a folder: lookup, neighbours, sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from interloq import Sample, create, evaluate
from interloq.errors import InputError
from interloq.vectors import word_vectors as module
from interloq.vectors.word_vectors import Coverage, WordVectors
from tests.vectors.made_vectors import WORDS


def literal_mean(vectors: WordVectors, text: str, unknown: str) -> NDArray[np.float64]:
    """METHODS: unit word vectors, averaged; what stands for an unknown word is scaled like the others."""
    words = [vectors.words[i] for i in range(len(vectors))]
    rows = []
    known = 0
    for token in text.split():
        if token in words:
            row: Any = vectors.matrix[words.index(token)]
            known += 1
        elif unknown == "unk" and ("<unk>" in words or "unk" in words):
            row = vectors.matrix[words.index("<unk>" if "<unk>" in words else "unk")]
        elif unknown == "mean":
            row = np.mean(vectors.matrix.astype(np.float64), axis=0)
        else:
            continue
        rows.append(np.asarray(row, dtype=np.float64) / np.linalg.norm(row))
    return np.mean(rows, axis=0) if known else np.full(vectors.dimensions, np.nan)


@given(
    texts=st.lists(st.lists(st.sampled_from([*WORDS, "dog", "x y", ""]), max_size=8).map(" ".join), max_size=12),
    unknown=st.sampled_from(["unk", "skip", "mean"]),
    stands=st.sampled_from(["<unk>", "unk", "other"]),
)
@settings(max_examples=50, deadline=None)
def test_sentences_are_those_of_a_literal_loop(texts: list[str], unknown: Any, stands: str) -> None:
    words = [stands if word == "<unk>" else word for word in WORDS]
    matrix = np.random.default_rng(1).standard_normal((len(words), 4)).astype(np.float32)
    vectors = WordVectors.of(words, matrix, tokenizer="whitespace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", 3)
        found = vectors.sentences(texts, unknown=unknown)
        unit = vectors.sentences(texts, unknown=unknown, normalise=True)
    assert found.shape == (len(texts), 4)
    assert found.dtype == np.float32
    for text, row, scaled in zip(texts, found, unit, strict=True):
        expected = literal_mean(vectors, text, unknown)
        np.testing.assert_allclose(row, expected, atol=1e-5)
        np.testing.assert_allclose(scaled, expected / np.linalg.norm(expected), atol=1e-4)


def test_texts_without_a_known_word_are_nan_and_counted(some: WordVectors) -> None:
    texts = ["the dog", "dog", "", "sat the cat"]
    rows = some.sentences(texts)
    assert np.isnan(rows).all(axis=1).tolist() == [False, True, True, False]
    assert some.coverage(texts) == Coverage(texts=4, unknown_texts=2, tokens=6, unknown_tokens=2)
    assert some.sentences([]).shape == (0, 5)


def test_a_vector_of_zeros_has_no_direction() -> None:
    vectors = WordVectors.of(["zero", "one"], np.array([[0, 0], [3, 4]], dtype=np.float32), tokenizer="whitespace")
    np.testing.assert_allclose(vectors.sentences(["zero one"]), [[0.3, 0.4]])
    assert np.isnan(vectors.sentences(["zero"], normalise=True)).all()
    assert vectors.nearest("one") == []


def test_unknown_choice_is_checked(some: WordVectors) -> None:
    with pytest.raises(InputError, match="unknown must be one of unk, skip, mean, got 'zero'"):
        some.sentences(["the"], unknown="zero")  # type: ignore[arg-type]


def test_nearest_is_brute_force_cosine(some: WordVectors) -> None:
    unit = some.matrix / np.linalg.norm(some.matrix, axis=1, keepdims=True)
    cosines = {word: float(unit[i] @ unit[1]) for i, word in enumerate(WORDS) if word not in ("cat", "<unk>")}
    best = sorted(cosines, key=lambda word: -cosines[word])
    assert [word for word, _ in some.nearest("cat", 3)] == best[:3]
    assert dict(some.nearest("cat", 99)) == pytest.approx(cosines, abs=1e-6)


def test_lookup(some: WordVectors) -> None:
    assert "猫" in some
    assert "dog" not in some
    assert list(some.words) == WORDS
    assert some.words[1:3] == ["cat", "sat"]
    np.testing.assert_array_equal(some.vector("Ünïcödé"), some.matrix[3])
    with pytest.raises(InputError, match="no vector for 'dog'"):
        some.vector("dog")


def test_a_saved_folder_is_the_same(some: WordVectors, tmp_path: Path) -> None:
    some.save(tmp_path / "v", notes={"made": "by a test"})
    opened = WordVectors.load(tmp_path / "v")
    assert isinstance(opened.matrix.base, np.memmap)  # read where it lies
    assert list(opened.words) == WORDS
    np.testing.assert_array_equal(opened.matrix, some.matrix)
    np.testing.assert_array_equal(opened.sentences(["the 猫"]), some.sentences(["the 猫"]))
    assert opened.signature() == some.signature()
    assert "tokenizer:whitespace(lowercase=False)|" in some.signature()
    assert opened.facts["made"] == "by a test"
    assert opened.facts["unknown"] == "<unk>"


def test_the_signature_tells_vectors_apart(some: WordVectors) -> None:
    other = some.matrix.copy()
    other[2, 3] += 1e-3
    assert WordVectors.of(WORDS, other, tokenizer="whitespace").signature() != some.signature()
    assert WordVectors.of([*WORDS[:-1], "x"], some.matrix, tokenizer="whitespace").signature() != some.signature()


def test_bad_folders(some: WordVectors, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no word vectors; name a folder made by `interloq train vectors`"):
        WordVectors.load(tmp_path)
    some.save(tmp_path / "v")
    np.save(tmp_path / "v" / "vectors.npy", some.matrix[:-1])
    with pytest.raises(InputError, match="are damaged"):
        WordVectors.load(tmp_path / "v")
    some.save(tmp_path / "v")
    (tmp_path / "v" / "vectors.json").write_text("{")
    with pytest.raises(InputError, match=r"vectors\.json: not valid JSON"):
        WordVectors.load(tmp_path / "v")
    (tmp_path / "v" / "vectors.json").write_text('{"schema": 99}')
    with pytest.raises(InputError, match="schema 99; this version reads schema 1"):
        WordVectors.load(tmp_path / "v")


@pytest.mark.parametrize(
    ("facts", "what"),
    [
        ({}, "'dimensions' is missing"),
        ({"dimensions": 10**12}, "words of 1000000000000 dimensions"),
        ({"dimensions": 5}, "'fingerprint' is missing"),
        ({"dimensions": 5, "fingerprint": 1, "tokenizer": [1]}, "indices must be integers"),
    ],
)
def test_settings_that_make_no_sense(some: WordVectors, tmp_path: Path, facts: dict[str, Any], what: str) -> None:
    some.save(tmp_path / "v")
    (tmp_path / "v" / "vectors.json").write_text(json.dumps({"schema": 1, **facts}))
    with pytest.raises(InputError, match=what):
        WordVectors.load(tmp_path / "v")


@pytest.mark.parametrize(
    ("words", "said"), [(["a"], "1 words for an array"), (["a", "a"], "distinct"), (["a", ""], "empty")]
)
def test_words_are_checked(words: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        WordVectors.of(words, np.ones((2, 3), dtype=np.float32))


def test_a_damaged_vector_is_named(tmp_path: Path) -> None:
    WordVectors.of(["a", "b"], np.ones((2, 3), np.float32), tokenizer="whitespace").save(tmp_path)
    matrix = np.ones((2, 3), np.float32)
    matrix[1, 2] = np.nan
    np.save(tmp_path / "vectors.npy", matrix)
    vectors = WordVectors.load(tmp_path)
    assert np.isfinite(vectors.sentences(["a"])).all()
    with pytest.raises(InputError, match="the vector of 'b' is not finite"):
        vectors.sentences(["a b"])
    with pytest.raises(InputError, match="the vector of 'b' is not finite"):
        evaluate(f"embedding_average(vectors='{tmp_path}')", [Sample("1", ["hi"], "b", ["a"])])


def test_another_tokenizer_is_refused(some: WordVectors, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"were made with tokenizer whitespace\(lowercase=False\), got 13a\(.*use whitespace, "
    ):
        some.sentences(["the"], "13a")
    np.testing.assert_array_equal(some.sentences(["the"], create("whitespace")), some.sentences(["the"]))
    without = WordVectors.of(WORDS, some.matrix)
    with pytest.raises(InputError, match="these vectors have no recorded tokenizer; give tokenizer"):
        without.sentences(["the"])
    np.testing.assert_array_equal(without.sentences(["the"], "whitespace"), some.sentences(["the"]))


def test_a_new_release_of_the_tokenizers_library_is_not_another_tokenizer(some: WordVectors, tmp_path: Path) -> None:
    WordVectors.of(WORDS, some.matrix, tokenizer="13a").save(tmp_path / "v")
    facts = json.loads((tmp_path / "v" / "vectors.json").read_text())
    assert "-sacrebleu-" in facts["tokenizer"]["signature"]
    facts["tokenizer"]["signature"] = "13a(lowercase=False)-sacrebleu-9.9"
    (tmp_path / "v" / "vectors.json").write_text(json.dumps(facts))
    assert np.isfinite(WordVectors.load(tmp_path / "v").sentences(["the cat"])).all()
    facts["tokenizer"]["signature"] = "13a(lowercase=True)-sacrebleu-9.9"
    (tmp_path / "v" / "vectors.json").write_text(json.dumps(facts))
    with pytest.raises(InputError, match="has changed"):
        WordVectors.load(tmp_path / "v").sentences(["the cat"])
