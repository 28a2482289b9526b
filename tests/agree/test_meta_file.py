"""Agreement with people, from files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Rating, Sample, Score, Turn, write
from interloq.agree.agreement import meta_evaluate
from interloq.agree.meta_file import meta_file
from interloq.agree.meta_options import MetaOptions
from interloq.data.records.jsonl import Rejected
from interloq.data.records.read_options import ReadOptions
from interloq.data.sets import predictive_engagement
from interloq.score.selection import SampleFilter

QUICK = MetaOptions(samples="samples.jsonl", n_bootstrap=0)


@pytest.fixture
def scores(folder: Path, samples: list[Sample]) -> list[Score]:
    found = [Score(s.id, "length", float(len(s.response)), system=s.system) for s in samples]
    write("scores.jsonl", found, kind="scores")
    write("samples.jsonl", samples, kind="samples")
    return found


def test_files_give_what_records_give(scores: list[Score], samples: list[Sample]) -> None:
    table = meta_file(["scores.jsonl"], replace(QUICK, n_bootstrap=20, seed=3))
    assert table == {"overall": meta_evaluate(scores, samples, n_bootstrap=20, seed=3)}


def test_all_aspects_are_evaluated_each_on_its_own(folder: Path, scores: list[Score], samples: list[Sample]) -> None:
    none = Rating(None, "ann", "unrated")
    twice = [replace(s, ratings=(*s.ratings, Rating(float(i), "ann", "humour"), none)) for i, s in enumerate(samples)]
    write("samples.jsonl", twice, kind="samples")
    tables = meta_file(["scores.jsonl"], replace(QUICK, aspects=["all"]))
    assert list(tables) == ["humour", "overall"]
    named = meta_file(["scores.jsonl"], replace(QUICK, aspects=["overall", "humour", "overall"]))
    assert named == {"overall": tables["overall"], "humour": tables["humour"]}
    assert tables["humour"] == meta_evaluate(scores, twice, aspect="humour", n_bootstrap=0)


def test_ratings_of_dialogues_instead_of_samples(folder: Path) -> None:
    dialogues = [
        Dialogue(f"d{i}", [Turn("hi", "u"), *[Turn("yes", "s")] * (i + 1)], {"s": "bot"}, [Rating(float(i), "ann")])
        for i in range(4)
    ]
    write("dialogues.jsonl", dialogues, kind="dialogues")
    write("scores.jsonl", [Score(f"d{i}#1", "mine", -float(i), system="bot") for i in range(4)], kind="scores")
    of_dialogues = MetaOptions(dialogues=["dialogues.jsonl"], n_bootstrap=0, compare=False)
    (table,) = meta_file(["scores.jsonl"], of_dialogues).values()
    assert {row.metric: row.with_mean["spearman"].value for row in table.rows} == {"mine": -1.0, "turns": 1.0}
    assert table.unit == "dialogue"
    with pytest.raises(InputError, match="not both"):
        meta_file(["scores.jsonl"], replace(of_dialogues, samples="samples.jsonl"))


def test_systems_are_left_out(scores: list[Score], samples: list[Sample]) -> None:
    table = meta_file(["scores.jsonl"], replace(QUICK, without=["bad"]))
    assert table["overall"].counted.samples == 3
    assert table["overall"] == meta_evaluate(scores, samples, n_bootstrap=0, selection=SampleFilter(without=["bad"]))


def test_bad_lines_go_to_the_caller_or_stop(scores: list[Score], folder: Path) -> None:
    with (folder / "scores.jsonl").open("a") as file:
        file.write("{broken\n")
    bad: list[Rejected] = []
    assert meta_file(["scores.jsonl"], QUICK, reading=ReadOptions(on_reject=bad.append))["overall"].rows
    assert [each.where for each in bad] == ["scores.jsonl:8"]
    with pytest.raises(InputError, match=r"scores\.jsonl:8"):
        meta_file(["scores.jsonl"], QUICK, reading=ReadOptions(strict=True))


@pytest.mark.skipif(not os.environ.get("INTERLOQ_DATA"), reason="INTERLOQ_DATA names no folder with published ratings")
def test_stored_scores_have_their_published_correlations() -> None:
    """Ghazarian et al.'s 600 pairs: unreferenced RUBER .237 and .302, BERT .540 and .547 (Pearson, Spearman)."""
    path = Path(os.environ["INTERLOQ_DATA"]) / "predictive_engagement.csv"
    scores, samples = predictive_engagement.scores(path), predictive_engagement.samples(path)
    table = meta_evaluate(scores, samples, n_permutations=200, lower_is_better=False)
    rows = {row.metric: row for row in table.rows}
    found = {
        name: [round(rows[f"stored:{name}"].with_mean[c].value, 3) for c in ("pearson", "spearman")]
        for name in ("Ruber_Unref_Score", "CTX_Unref_Score")
    }
    assert found == {"Ruber_Unref_Score": [0.237, 0.302], "CTX_Unref_Score": [0.540, 0.547]}
    assert (table.counted.rated, table.counted.judgments, table.counted.annotators) == (600, 1800, 0)
    (test,) = [
        c
        for c in table.comparisons
        if {c.first, c.second} == {f"stored:{n}" for n in found} and c.coefficient == "kendall"
    ]
    assert test.first == "stored:CTX_Unref_Score"
    assert test.permutation_p is not None
    assert test.permutation_p < 0.01
