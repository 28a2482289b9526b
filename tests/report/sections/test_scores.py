from __future__ import annotations

import math
from statistics import fmean

import pytest

from interloq import InputError, Score
from interloq.report.sections.scores import SystemScore, complete_results, read_results

TOLD = {"metric": "m", "system": "a", "value": 0.5, "ci": [0.4, 0.6], "n": 3, "unscored": 1, "signature": "m|seed:0"}


def test_results_of_a_header() -> None:
    (result,) = read_results({"results": [TOLD]}, "scores.jsonl")
    assert result == SystemScore("m", "a", 0.5, (0.4, 0.6), 3, 1, "m|seed:0")
    assert read_results({"kind": "scores"}, "scores.jsonl") == []
    (empty,) = read_results({"results": [TOLD | {"value": None, "ci": None, "n": 0}]}, "scores.jsonl")
    assert math.isnan(empty.value)
    assert empty.ci is None


@pytest.mark.parametrize(
    "bad", [{"metric": "m"}, TOLD | {"ci": [1]}, TOLD | {"n": "many"}, TOLD | {"signature": 5}, "text", None]
)
def test_a_header_that_cannot_be_read_says_where(bad: object) -> None:
    with pytest.raises(InputError, match=r"^s\.jsonl:1: the results in the header cannot be read .*; score again"):
        read_results({"results": [bad]}, "s.jsonl")


def test_what_no_header_tells_is_the_mean_of_sample_scores() -> None:
    scores = [
        Score("1", "m", 0.25, system="a"),
        Score("2", "m", 0.5, system="b"),
        Score("3", "m", None, "no references", "b"),
    ]
    told = SystemScore("m", "a", 0.3, (0.2, 0.4), 1, 0, "m|seed:0")
    found = {result.system: result for result in complete_results([told], scores)}
    assert found["a"] is told
    assert found["b"] == SystemScore("m", "b", 0.5, None, 1, 1, is_mean=True)
    assert found[""] == SystemScore("m", "", fmean([0.25, 0.5]), None, 2, 1, is_mean=True)


def test_headers_that_differ_give_way_to_the_mean() -> None:
    scores = [Score("1", "m", 0.25, system="a"), Score("2", "m", 0.5, system="a")]
    halves = [SystemScore("m", "a", value, None, 1, 0) for value in (0.25, 0.5)]
    assert {r.value for r in complete_results(halves, scores)} == {0.375}
    assert all(r.is_mean for r in complete_results(halves, scores))
    same = [SystemScore("m", "a", 0.4, None, 2, 0)] * 2
    assert SystemScore("m", "a", 0.4, None, 2, 0) in complete_results(same, scores)


def test_the_same_score_twice_counts_once() -> None:
    scores = [Score("1", "m", 0.0, system="a"), Score("2", "m", 0.6, system="a")]
    (mean,) = {r.value for r in complete_results([], [*scores, scores[1]])}
    assert mean == pytest.approx(0.3)
