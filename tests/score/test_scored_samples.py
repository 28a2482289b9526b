"""Scores and the samples they are joined with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from interloq import Dialogue, InputError, Rating, Sample, Score, Turn, write
from interloq.agree.meta_file import meta_file
from interloq.agree.meta_options import MetaOptions
from interloq.compare.compare_file import compare_file
from interloq.compare.compare_options import CompareOptions
from interloq.rank.rank_file import rank_file
from interloq.rank.rank_options import RankOptions
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.score.scored_samples import ScoredSamples

OTHER = "its scores are of other samples"


def rated(word: str = "yes", n: int = 12) -> list[Sample]:
    return [
        Sample(str(i), [f"question {i}"], f"{word} " * (i % 3 + 1), ["yes"], "bot", [Rating(float(i % 4))])
        for i in range(n)
    ]


@pytest.fixture
def scores(folder: Path) -> str:
    write("samples.jsonl", rated(), kind="samples")
    score_file("samples.jsonl", ["chrf", "length"], "scores.jsonl", ScoreOptions(n_bootstrap=0))
    return "scores.jsonl"


def test_other_samples_with_the_same_ids_are_refused(scores: str) -> None:
    other_contexts = [replace(sample, context=(Turn("something else"),)) for sample in rated()]
    for name, other in (("reply", rated("no")), ("context", other_contexts)):
        write("other.jsonl", other, kind="samples")
        with pytest.raises(InputError, match=rf"scores.jsonl: {OTHER}: the {name} of '0'"):
            meta_file([scores], MetaOptions(samples="other.jsonl", n_bootstrap=0))
        with pytest.raises(InputError, match=OTHER):
            report_file([scores], "report.html", ReportOptions(samples="other.jsonl", n_bootstrap=0))
        with pytest.raises(InputError, match=OTHER):
            compare_file(scores, scores, CompareOptions(metrics=["chrf"], samples=["samples.jsonl", "other.jsonl"]))


def test_samples_of_which_none_was_scored_are_refused(scores: str) -> None:
    write("other.jsonl", [replace(sample, id=f"other {sample.id}") for sample in rated()], kind="samples")
    with pytest.raises(InputError, match=f"{OTHER}: no id"):
        compare_file(scores, scores, CompareOptions(metrics=["chrf"], samples=["other.jsonl"]))


def test_samples_may_be_fewer_and_have_gained_references_and_ratings(scores: str) -> None:
    more = [replace(s, references=(*s.references, *Sample("", references="no").references)) for s in rated()[:8]]
    spaced = [replace(s, response=f" {s.response.strip()}\n") for s in more]
    options = MetaOptions(samples="fewer.jsonl", aspects=["all"], n_bootstrap=0)
    for samples in (more, spaced, [replace(s, context=()) for s in more]):
        write("fewer.jsonl", samples, kind="samples")
        assert meta_file([scores], options)["overall"].counted.rated == 8


def test_files_of_earlier_versions_are_checked_as_a_whole(scores: str, folder: Path) -> None:
    header, *lines = (folder / scores).read_bytes().splitlines()
    plain = [{k: v for k, v in orjson.loads(line).items() if k != "sample"} for line in lines]
    (folder / scores).write_bytes(b"\n".join([header, *map(orjson.dumps, plain)]))
    note = "cannot be checked whether its scores are of these samples"
    assert not [
        n
        for n in meta_file([scores], MetaOptions(samples="samples.jsonl", n_bootstrap=0))["overall"].notes
        if note in n
    ]
    write("other.jsonl", rated("no"), kind="samples")
    assert [
        n for n in meta_file([scores], MetaOptions(samples="other.jsonl", n_bootstrap=0))["overall"].notes if note in n
    ]
    made_by_hand = ScoredSamples(rated("no"))
    write("hand.jsonl", [Score("1", "mine", 1.0)], kind="scores")
    assert list(made_by_hand.check([Score("1", "mine", 1.0)], "hand.jsonl"))
    assert made_by_hand.notes() == []


def test_other_dialogues_with_the_same_ids_are_refused(folder: Path) -> None:
    def talk(system: str, word: str) -> Dialogue:
        turns = [Turn("hello", "user"), Turn(word, "bot"), Turn("and?", "user"), Turn(f"{word} {word}", "bot")]
        return Dialogue(system, turns, {"bot": system}, [Rating(3.0)], occasion="o")

    write("dialogues.jsonl", [talk("a", "yes"), talk("b", "no")], kind="dialogues")
    write("other.jsonl", [talk("a", "yes"), talk("b", "well")], kind="dialogues")
    score_file("dialogues.jsonl", ["length"], "scores.jsonl", ScoreOptions(n_bootstrap=0))
    options = RankOptions(dialogues=["dialogues.jsonl"], lower_is_better=False, n_bootstrap=10)
    assert rank_file(["scores.jsonl"], options).rankings
    assert meta_file(["scores.jsonl"], MetaOptions(dialogues=["dialogues.jsonl"], n_bootstrap=0))
    with pytest.raises(InputError, match=rf"{OTHER}: the reply of 'b#1' of 'b'"):
        rank_file(["scores.jsonl"], replace(options, dialogues=["other.jsonl"]))
    with pytest.raises(InputError, match=OTHER):
        meta_file(["scores.jsonl"], MetaOptions(dialogues=["other.jsonl"], n_bootstrap=0))
