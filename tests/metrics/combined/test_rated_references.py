"""Stages behind one metric: nothing runs twice, nothing old is used."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from interloq import Rating, Reference, Sample, create, evaluate, load, write
from interloq.cli.main import main
from interloq.metrics.combined import rated_references as stages
from interloq.rate.human import Human
from interloq.records import Pair
from tests.made_pipeline import GRU, HUMAN


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of index, rater and samples in the working directory, with a cache of its own."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "here"


class Counted:
    """Stands before a stage and counts."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.calls, stage = 0, getattr(owner, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            return stage(*arguments, **options)

        patch.setattr(owner, name, counted)


def test_no_stage_runs_twice(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = load("samples.jsonl")
    searches, ratings = Counted(monkeypatch, stages, "extend"), Counted(monkeypatch, Human, "rate")
    first = evaluate(f"vbleu(index='index',rater={HUMAN})", samples)
    assert (searches.calls, ratings.calls) == (1, 1)
    again = evaluate(f"vbleu(index='index',rater={HUMAN})", samples)
    assert (again.value, again.signature) == (first.value, first.signature)
    assert list(again.by_sample.values()) == pytest.approx(list(first.by_sample.values()), abs=0, nan_ok=True)
    evaluate(f"vbleu(index='index',rater={HUMAN},order=1,mode='paper',tokenizer='char')", samples)
    assert (searches.calls, ratings.calls) == (1, 1)
    evaluate("vbleu(index='index',rater=human(ratings='ratings.jsonl',gold=False))", samples)
    assert (searches.calls, ratings.calls) == (1, 2)
    evaluate(f"vbleu(index='index',rater={HUMAN},k=3)", samples)
    assert (searches.calls, ratings.calls) == (2, 3)


def test_nothing_old_is_taken_once_the_index_or_the_ratings_changed(here: Path) -> None:
    metric, samples = f"vbleu(index='index',rater={HUMAN})", load("samples.jsonl")
    results = [evaluate(metric, samples)]
    write("ratings.jsonl", [Rating(5, "x", item="c1/a/1")], kind="ratings")
    results.append(evaluate(metric, samples))
    new = Pair("new", "really about tea today the music rain ?", "a reply that nobody gave before")
    write("more.jsonl", [new], kind="pairs")
    assert main(["index", "add", "index", "more.jsonl", "--quiet"]) == 0
    results.append(evaluate(metric, samples))
    assert len({result.signature for result in results}) == 3
    assert len({result.value for result in results[:2]}) == 2
    fresh = [s.references for s in create(metric).rated(samples)]
    assert any(r.source == "retrieved:new" for references in fresh for r in references)


def test_samples_met_after_the_fit_are_rated_too(here: Path) -> None:
    samples = load("samples.jsonl")
    fitted = create(f"vbleu(index='index',rater={HUMAN})").fit(samples[:10])
    whole = create(f"vbleu(index='index',rater={HUMAN})").fit(samples)
    assert fitted.rated(samples) == whole.rated(samples)
    assert fitted.rated([]) == []


def test_references_that_were_added_before_are_kept(here: Path) -> None:
    """Samples that went through `extend` already: what is there is not searched for once more."""
    sample = Sample("1", ["i like tea ?"], "tea", ["the tea", Reference("so much tea", source="retrieved:x")])
    (rated,) = create(f"vbleu(index='index',rater={GRU},k=2)").rated([sample])
    assert [r.source for r in rated.references][:2] == ["gold", "retrieved:x"]
    assert len(rated.references) == 2 + 1 + 2
