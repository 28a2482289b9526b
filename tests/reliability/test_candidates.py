from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from interloq import InputError, Sample, write
from interloq.records import Pair
from interloq.reliability.candidates import JaccardSearch, find_candidates, open_finder
from interloq.reliability.reliability_options import CandidateOptions
from interloq.retrieve.extend import SearchTally
from interloq.retrieve.index import index_files
from interloq.retrieve.leaks import jaccard as similarity
from interloq.retrieve.leaks import words
from interloq.retrieve.retrieve_options import IndexOptions
from interloq.retrieve.retriever import Query

PAIRS = [Pair(f"p{i}", f"do you like tea or milk {i}", f"reply {i}") for i in range(30)]
GIVEN = [Sample("s", ["do you like milk"], "yes", ["gold"])]


def found(source: CandidateOptions) -> tuple[list[str], str]:
    finder, signature = open_finder(source)
    tally = SearchTally()
    ((sample, request),) = next(find_candidates(GIVEN, finder, source, tally))
    assert (sample, request.turns, request.references) == (GIVEN[0], ("do you like milk",), sample.references)
    assert tally.samples == 1
    return [candidate.source for candidate in request.candidates], signature.parts["retriever"]


def test_candidates_from_a_log_or_an_index(folder: Path) -> None:
    write("pairs.jsonl", PAIRS, kind="pairs")
    index_files(["pairs.jsonl"], "index", IndexOptions(retriever="bm25"))
    from_log, jaccard = found(CandidateOptions(log=["pairs.jsonl"], k=5))
    from_index, retriever = found(CandidateOptions(index="index", k=5))
    assert from_log == [f"retrieved:p{i}" for i in range(5)]
    assert len(from_index) == 5
    assert (jaccard, retriever.partition("(")[0]) == ("jaccard", "bm25")


def test_the_signature_names_the_log_and_the_options(folder: Path) -> None:
    write("pairs.jsonl", PAIRS, kind="pairs")
    write("other.jsonl", PAIRS[:3], kind="pairs")
    Path("ids.txt").write_text("p1\n")
    options = [
        CandidateOptions(log=["pairs.jsonl"]),
        CandidateOptions(log=["other.jsonl"]),
        CandidateOptions(log=["pairs.jsonl"], k=7),
        CandidateOptions(log=["pairs.jsonl"], exclude="ids.txt"),
    ]
    assert len({str(open_finder(one)[1]) for one in options}) == len(options)
    assert options[-1].files == ["pairs.jsonl", "ids.txt"]


def test_an_index_or_a_log_but_not_both() -> None:
    for wrong in ({}, {"index": "i", "log": ["l"]}):
        with pytest.raises(InputError, match="candidates come from an index, a log or a language model"):
            CandidateOptions(**wrong)  # type: ignore[arg-type]


WORDS = ["we", "saw", "a", "dog", "film", "again", "very", "good", "bad", "day", "雨", "が"]


def log(n: int) -> list[Pair]:
    rng = random.Random(n)
    return [Pair(f"p{i}", " ".join(rng.choices(WORDS, k=rng.randint(0, 6))), f"reply {i}") for i in range(n)]


def test_equals_a_comparison_of_every_pair() -> None:
    pairs = log(300)
    queries = [Query(pair.utterance) for pair in log(20)] + [Query("unknown words only"), Query("")]
    for query, hits in zip(queries, JaccardSearch(pairs).search(queries, 25), strict=True):
        scored = [(similarity(words(query.utterance), words(pair.utterance)), i) for i, pair in enumerate(pairs)]
        best = sorted((row for row in scored if row[0] > 0), key=lambda row: (-row[0], row[1]))[:25]
        assert [hit.pair.id for hit in hits] == [f"p{i}" for _, i in best]
        assert [hit.score for hit in hits] == pytest.approx([score for score, _ in best])


def test_more_than_the_log_and_an_empty_log() -> None:
    assert len(JaccardSearch([Pair("p", "a dog", "yes")]).search([Query("dog")], 50)[0]) == 1
    assert JaccardSearch([]).search([Query("dog")], 5) == [[]]


def test_the_temporary_index_of_a_log_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    search = JaccardSearch(log(5))
    assert len(search) == 5
    assert len(list(tmp_path.iterdir())) == 1
    del search
    assert not list(tmp_path.iterdir())
