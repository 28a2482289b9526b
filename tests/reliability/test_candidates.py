from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, write
from interloq.records import Pair
from interloq.reliability.candidates import CandidateOptions
from interloq.retrieve.extend import SearchTally
from interloq.retrieve.folder.index_files import index_files

PAIRS = [Pair(f"p{i}", f"do you like tea or milk {i}", f"reply {i}") for i in range(30)]
GIVEN = [Sample("s", ["do you like milk"], "yes", ["gold"])]


def found(source: CandidateOptions) -> tuple[list[str], str]:
    finder, signature = source.open()
    tally = SearchTally()
    ((sample, request),) = next(source.batches(GIVEN, finder, tally))
    assert (sample, request.turns, request.references) == (GIVEN[0], ("do you like milk",), sample.references)
    assert tally.samples == 1
    return [candidate.source for candidate in request.candidates], signature.parts["retriever"]


def test_candidates_from_a_log_or_an_index(folder: Path) -> None:
    write("pairs.jsonl", PAIRS, kind="pairs")
    index_files(["pairs.jsonl"], "index", retriever="bm25")
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
    assert len({str(one.open()[1]) for one in options}) == len(options)
    assert options[-1].files == ["pairs.jsonl", "ids.txt"]


def test_an_index_or_a_log_but_not_both() -> None:
    for wrong in ({}, {"index": "i", "log": ["l"]}):
        with pytest.raises(InputError, match="candidates come from an index or a log"):
            CandidateOptions(**wrong)  # type: ignore[arg-type]
