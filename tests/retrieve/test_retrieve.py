"""The modules of `interloq.retrieve` that have no file of their own here."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Dialogue, InputError, Sample, SpecError, Turn, create, write
from interloq.data.records.jsonl import Rejected
from interloq.data.records.read_options import ReadOptions
from interloq.data.text.token_texts import Texts
from interloq.errors import MissingDependencyError
from interloq.records import Pair
from interloq.retrieve.bm25 import term
from interloq.retrieve.dense import Dense
from interloq.retrieve.extend import diversify_replies, mmr, similarities
from interloq.retrieve.recall import as_probes, choose_effort, share_of_scores, share_reaching
from interloq.retrieve.retriever import NOTHING, Words, best, fields, joint
from interloq.retrieve.similar import near
from interloq.retrieve.store_address import create_store, open_store
from interloq.retrieve.training_log import TrainingLog
from interloq.vectors.word_vectors import WordVectors


def test_texts_become_unit_vectors_whoever_stands_beside_them() -> None:
    dense = Dense(encoder="fake32")
    texts = ["good morning", "see you", "good morning"]
    rows = dense.encode(texts)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1)
    assert (rows[0] == rows[2]).all()
    assert (rows[1] == dense.encode(["see you"])[0]).all()


def test_a_text_without_known_words_is_zero(tmp_path: Path) -> None:
    WordVectors.of(["a", "b"], np.array([[3, 4], [0, 2]], dtype=np.float32), tokenizer="whitespace").save(tmp_path)
    rows = Dense(vectors=str(tmp_path)).encode(["a", "", "a b"])
    assert rows[0].tolist() == pytest.approx([0.6, 0.8])
    assert rows[1].tolist() == [0, 0]
    assert rows[2] == pytest.approx(np.array([0.6, 1.8]) / np.hypot(0.6, 1.8))


@pytest.mark.parametrize("fields", [{}, {"vectors": "a", "encoder": "b"}])
def test_one_of_vectors_and_encoder_is_needed(fields: dict[str, str]) -> None:
    with pytest.raises(SpecError, match="either vectors"):
        Dense(**fields)  # type: ignore[arg-type]


TEXTS = ["a b c", "a b", "c d e f", "", "a b c", "x"]


def literal(relevance: list[float], similarity: list[list[float]], k: int, diversity: float) -> list[int]:
    """Carbonell and Goldstein's rule, candidate by candidate, with λ = 1 − diversity."""
    chosen: list[int] = []
    while len(chosen) < min(k, len(relevance)):
        best, best_gain = -1, -np.inf
        for i in range(len(relevance)):
            if i in chosen:
                continue
            penalty = max(similarity[i][j] for j in chosen) if chosen else 0.0
            gain = (1 - diversity) * relevance[i] - diversity * penalty if chosen else relevance[i]
            if gain > best_gain:
                best, best_gain = i, gain
        chosen.append(best)
    return chosen


@given(st.integers(1, 8), st.integers(1, 10), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.integers(0, 10**6))
def test_mmr_is_the_literal_rule(n: int, k: int, diversity: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    relevance = np.sort(rng.integers(0, 5, n) / 4)[::-1]  # with ties
    rows = rng.integers(-4, 5, (n, n)) / 4
    similarity = (rows + rows.T) / 2
    found = mmr(relevance, similarity, k, diversity=diversity)
    assert found == literal(relevance.tolist(), similarity.tolist(), k, diversity)


def test_a_repeated_reply_comes_last() -> None:
    scores, replies = [0.9, 0.89, 0.5, 0.4], ["yes i did", "yes i did", "not at all", "who asks"]
    for name in ("dense(encoder='fake512')", "bm25"):
        encoded = create(name).encode(replies)
        assert diversify_replies(scores, encoded, 3, diversity=0.5) == [0, 2, 3]
        assert diversify_replies(scores, encoded, 4, diversity=0.5)[-1] == 1
        assert diversify_replies(scores, encoded, 3, diversity=0.0) == [0, 1, 2]


def test_scores_count_relative_to_the_best() -> None:
    replies = create("bm25").encode(["a b", "a c", "d e"])
    small, large = ([3 * s for s in (1.0, 0.8, 0.6)], [300 * s for s in (1.0, 0.8, 0.6)])
    assert (
        diversify_replies(small, replies, 2, diversity=0.4)
        == diversify_replies(large, replies, 2, diversity=0.4)
        == [0, 2]
    )


def test_similarity_of_words_is_jaccard() -> None:
    found = similarities(create("bm25").encode(TEXTS))
    for i, first in enumerate(TEXTS):
        for j, second in enumerate(TEXTS):
            a, b = set(first.split()), set(second.split())
            assert found[i, j] == pytest.approx(len(a & b) / len(a | b) if a | b else 0.0)


def test_similarity_of_vectors_is_the_cosine() -> None:
    vectors = create("dense(encoder='fake16')").encode(TEXTS)
    found = similarities(vectors)
    for i, first in enumerate(vectors):
        for j, second in enumerate(vectors):
            cosine = sum(float(a) * float(b) for a, b in zip(first, second, strict=True))
            assert found[i, j] == pytest.approx(max(cosine, 0.0), abs=1e-6)


def test_probes_are_unit_vectors_near_stored_ones() -> None:
    stored = np.eye(3, dtype=np.float32)
    probes = as_probes(stored)
    assert np.linalg.norm(probes, axis=1) == pytest.approx(1)
    assert (probes @ stored.T).argmax(axis=1).tolist() == [0, 1, 2]
    assert not (probes[:, None] == stored).all(axis=2).any()
    assert as_probes(np.zeros((2, 3), dtype=np.float32)).tolist() == [[0, 0, 0]] * 2


def test_the_least_effort_that_is_enough() -> None:
    asked = []

    def recall(effort: int) -> float:
        asked.append(effort)
        return effort / 10

    assert choose_effort([2, 5, 8, 9], recall, 0.5) == (5, 0.5)
    assert asked == [2, 5]
    assert choose_effort([2, 5], recall, 0.9) == (5, 0.5), "the last one if none is enough"
    assert choose_effort([], recall, 0.9) == (0, 0.0)


def test_equal_scores_are_interchangeable() -> None:
    truth = np.array([[0.9, 0.5], [0.8, 0.8]], dtype=np.float32)
    found = np.array([[0.9, 0.5 - 1e-6], [0.8, 0.1]], dtype=np.float32)
    assert share_reaching(found, truth) == 0.75
    assert share_of_scores(np.array([[0.9, 0.5], [0.8, 0.7]]), np.array([[0.5, 0.9], [0.8, 0.8]])) == 0.75


def test_lengths_count_repeats() -> None:
    words = Words(np.array([1, 2, 3], dtype=np.uint64), np.array([2, 1, 4], dtype=np.int32), np.array([0, 2, 2, 3]))
    assert words.lengths.tolist() == [3, 0, 4]
    assert len(words) == 3


def test_the_best_come_first_and_of_equals_the_earlier() -> None:
    ids = np.array([[5, 3, 9, NOTHING]])
    scores = np.array([[0.5, 0.5, 0.7, -np.inf]], dtype=np.float32)
    found, values = best(ids, scores, 3)
    assert found.tolist() == [[9, 3, 5]]
    assert values.tolist() == [[np.float32(0.7), 0.5, 0.5]]
    assert best(ids, scores, 9)[0].tolist() == [[9, 3, 5, NOTHING]]


@pytest.mark.parametrize(("alpha", "expected"), [(1.0, 0.4), (0.0, 0.08), (0.5, 0.24)])
def test_the_joint_similarity_is_the_formula(alpha: float, expected: float) -> None:
    one, other = np.array([0.8], dtype=np.float32), np.array([0.5], dtype=np.float32)
    assert joint(one, other, alpha=alpha, epsilon=0.1) == pytest.approx(expected)


def test_the_texts_that_are_compared() -> None:
    assert fields("utterance") == ("utterance",)
    assert fields("both") == ("utterance", "response")


def test_near_is_bm25_without_frequent_tokens_and_first_ranks() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 40, rng.integers(1, 9)).tolist() for _ in range(60)]
    documents = packed(rows)
    asked = rows[:5]
    found = near(documents, packed(asked), 6)
    for query, places in zip(asked, found.tolist(), strict=True):
        scores = literal_bm25(query, rows)
        best = sorted((i for i in range(60) if scores[i] > 0), key=lambda i: (-scores[i], i))[4:10]
        assert [scores[i] for i in places if i >= 0] == pytest.approx([scores[i] for i in best], rel=1e-4)


def packed(rows: list[list[int]]) -> Texts:
    return Texts(
        np.array([token for row in rows for token in row], dtype=np.int32),
        np.concatenate([[0], np.cumsum([len(r) for r in rows])]),
    )


def literal_bm25(query: list[int], rows: list[list[int]]) -> list[float]:
    df = Counter(token for row in rows for token in set(row))
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        total = 0.0
        for token in query:
            if df[token] <= 10 and (tf := row.count(token)):
                idf = np.log1p((len(rows) - df[token] + 0.5) / (df[token] + 0.5))
                total += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(row) / mean))
        scores.append(total)
    return scores


def test_unknown_schemes_are_named_with_the_known() -> None:
    with pytest.raises(
        InputError, match=r"unknown scheme redis://; name a folder, .*postgresql://, qdrant://, qdrants://"
    ):
        create_store("redis://127.0.0.1/x", create("bm25"))
    with pytest.raises(InputError, match="unknown scheme file://"):
        open_store("file:///srv/index")


def test_a_path_is_a_folder(tmp_path: Path) -> None:
    for place in (tmp_path / "a", str(tmp_path / "b")):
        create_store(place, create("bm25"))
        assert Path(place).is_dir()


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, scheme, extra in (("psycopg", "postgresql", "postgres"), ("httpx", "qdrant", "qdrant")):
        for name in [name for name in sys.modules if name.startswith(f"interloq.retrieve.servers.{extra}")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingDependencyError, match=rf"{scheme}:// needs .* pip install 'interloq\[{extra}\]'"):
            open_store(f"{scheme}://127.0.0.1/x#y")
        monkeypatch.undo()


@pytest.fixture
def logs(folder: Path) -> Path:
    write("pairs.jsonl", [Pair("1", "how are you", "fine"), Pair("2", "any news", "none")], kind="pairs")
    turns = [Turn("hello", "a"), Turn("hi", "b"), Turn("bye", "a")]
    write("talks.jsonl", [Dialogue("d", turns)], kind="dialogues")
    write("test.jsonl", [Sample("x", ["How are you?"], "good", ["well"])], kind="samples")
    return folder


def texts(log: TrainingLog) -> set[tuple[str, str]]:
    return {(pair.utterance, pair.response) for pair in log.pairs()}


def test_dialogues_become_pairs_and_files_have_no_order(logs: Path) -> None:
    one, other = (TrainingLog(names) for names in (["pairs.jsonl", "talks.jsonl"], ["talks.jsonl", "pairs.jsonl"]))
    assert texts(one) == {("how are you", "fine"), ("any news", "none"), ("hello", "hi"), ("hi", "bye")}
    assert [list(log) for log in one.logs()] == [list(log) for log in other.logs()]
    assert one.fingerprint == other.fingerprint != TrainingLog(["pairs.jsonl"]).fingerprint


def test_what_test_samples_share_is_excluded_and_counted_in_every_pass(logs: Path) -> None:
    log = TrainingLog(["pairs.jsonl"], ["test.jsonl"])
    for _ in range(2):
        assert texts(log) == {("any news", "none")}
        assert log.excluded == 1
    assert log.fingerprint != TrainingLog(["pairs.jsonl"]).fingerprint


def test_a_bad_line_is_reported_once(logs: Path) -> None:
    with (logs / "pairs.jsonl").open("a") as file:
        file.write("{broken\n")
    seen: list[Rejected] = []
    log = TrainingLog(["pairs.jsonl"], reading=ReadOptions(on_reject=seen.append))
    assert texts(log) == texts(log)
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["-", "absent.jsonl"])
def test_only_files_can_be_read_again(folder: Path, name: str) -> None:
    with pytest.raises(InputError):
        TrainingLog([name])


def test_other_records_are_refused(logs: Path) -> None:
    with pytest.raises(InputError, match="samples"):
        list(TrainingLog(["test.jsonl"]).pairs())


def test_rated_replies_to_the_context_of_a_test_sample_are_excluded(folder: Path) -> None:
    write("rated.jsonl", [Sample(str(i), [f"tea {i}?"], "yes", ratings=[i]) for i in range(3)], kind="samples")
    write("test.jsonl", [Sample("x", ["Tea 1"], "another reply")], kind="samples")
    log = TrainingLog(["rated.jsonl"], ["test.jsonl"])
    for _ in range(2):
        assert [sample.id for sample in log.rated_samples("rated.jsonl")] == ["0", "2"]
        assert log.excluded == 1


def test_a_folder_stands_for_its_training_part(logs: Path) -> None:
    (logs / "parts").mkdir()
    with pytest.raises(InputError, match=r"the folder 'parts' has no train\.jsonl; name a file"):
        TrainingLog(["parts"])
    write("parts/train.jsonl.zst", [Pair("1", "how are you", "fine")], kind="pairs")
    assert TrainingLog(["parts"]).files == ["parts/train.jsonl.zst"]
    write("parts/train.jsonl", [Pair("1", "how are you", "fine")], kind="pairs")
    with pytest.raises(InputError, match=r"has 2 files train\.jsonl\*"):
        TrainingLog(["parts"])


RETRIEVER = create("bm25(tokenizer='whitespace')")


def test_words_are_hashed_alike_everywhere_and_counted() -> None:
    assert term("hello") == int.from_bytes(bytes.fromhex("a7b6eda801e5347d"), "little")
    assert term("日本") != term("日木")
    words = RETRIEVER.encode(["b a b", "", "a"])
    assert words.ends.tolist() == [0, 2, 2, 3]
    assert words.lengths.tolist() == [3, 0, 1]
    assert dict(zip(words.terms[:2].tolist(), words.counts[:2].tolist(), strict=True)) == {term("a"): 1, term("b"): 2}


def test_constants_are_checked() -> None:
    with pytest.raises(SpecError, match="k1 must be at least 0"):
        create("bm25(b=2)")
