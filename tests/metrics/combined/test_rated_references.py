"""Rated references: no stage runs twice, and its results come from the cache only if nothing has changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Rating, Reference, Sample, create, evaluate, load, write
from interloq.cli.main import main
from interloq.errors import InputError
from interloq.metrics.combined import rated_references as stages
from interloq.metrics.combined.rated_references import run_cached
from interloq.rate.human import Human
from interloq.records import Pair
from tests.made_pipeline import GRU, HUMAN


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


SAMPLES = [
    Sample("a/bot", ["how was it ?", "well ?"], "fine", [Reference("good", 1 / 3), "très bien"], "bot", [Rating(3)]),
    Sample("b", (), "no", (), "other"),
]


class Stage:
    """Adds a reference, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, samples: Sequence[Sample]) -> list[Sample]:
        self.calls += 1
        more = Reference("more", 0.1 + 0.2, "retrieved:7")
        return [replace(s, references=(*s.references, more)) for s in samples]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


def test_the_second_time_it_comes_from_disk(cache: Path) -> None:
    stage = Stage()
    first = run_cached(SAMPLES, stage, signature="s")
    assert first == Stage()(SAMPLES)
    assert run_cached(SAMPLES, stage, signature="s") == first
    assert stage.calls == 1
    assert [path.suffixes for path in cache.iterdir()] == [[".jsonl", ".zst"]]


@pytest.mark.parametrize(
    "change",
    [
        {"id": "c"},
        {"context": ("how was it ?",)},
        {"response": "fine ."},
        {"references": (Reference("good", 1 / 3),)},
        {"references": (Reference("good", 0.5), Reference("très bien"))},
        {"references": (Reference("good", 1 / 3, "human"), Reference("très bien"))},
    ],
)
def test_another_sample_does_not(cache: Path, change: dict[str, Any]) -> None:
    stage = Stage()
    run_cached(SAMPLES, stage, signature="s")
    other = [replace(SAMPLES[0], **change), SAMPLES[1]]
    assert run_cached(other, stage, signature="s") == Stage()(other)
    assert stage.calls == 2


def test_another_signature_order_or_number_does_not(cache: Path) -> None:
    stage = Stage()
    for samples, signature in ((SAMPLES, "s"), (SAMPLES, "t"), (SAMPLES[::-1], "s"), (SAMPLES[:1], "s")):
        assert run_cached(samples, stage, signature=signature) == Stage()(samples)
    assert stage.calls == 4


def test_what_no_stage_looks_at_is_the_samples_own(cache: Path) -> None:
    """Ratings may change between two runs; what comes from disk has the new ones."""
    stage = Stage()
    run_cached(SAMPLES, stage, signature="s")
    rated = [replace(SAMPLES[0], ratings=(Rating(5, "anna"),)), SAMPLES[1]]
    assert run_cached(rated, stage, signature="s") == Stage()(rated)
    assert stage.calls == 1


def test_off_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    stage = Stage()
    for _ in range(2):
        assert run_cached(SAMPLES, stage, signature="s") == Stage()(SAMPLES)
    assert stage.calls == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "folder"])
def test_a_damaged_file_is_made_anew(cache: Path, damage: str) -> None:
    stage = Stage()
    run_cached(SAMPLES, stage, signature="s")
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes({"cut": whole[:-20], "noise": b"x" * 50, "empty": b""}[damage])
    assert run_cached(SAMPLES, stage, signature="s") == Stage()(SAMPLES)
    assert stage.calls == 2
    if damage != "folder":
        assert path.read_bytes() == whole
    assert run_cached(SAMPLES, stage, signature="s") == Stage()(SAMPLES)
    assert stage.calls == 2 + (damage == "folder")
    assert list(cache.iterdir()) == [path]


def test_a_file_of_another_stage_under_this_name_is_not_taken(cache: Path) -> None:
    stage = Stage()
    run_cached(SAMPLES, stage, signature="s")
    run_cached(SAMPLES, stage, signature="t")
    first, second = sorted(cache.iterdir())
    first.write_bytes(second.read_bytes())
    for signature in "st":
        run_cached(SAMPLES, stage, signature=signature)
    assert stage.calls == 3


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    ("place", "name", "error"),
    [
        (stages, "write", OSError(28, "No space left on device")),
        (stages, "write", InputError("cannot write")),
        (Path, "exists", PermissionError(13, "Permission denied")),
    ],
)
def test_a_cache_that_cannot_be_used_costs_nothing_but_time(
    cache: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, error: Exception
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(place, name, failing(error))
        assert run_cached(SAMPLES, Stage(), signature="s") == Stage()(SAMPLES)


def test_neither_a_file_in_place_of_the_folder_nor_odd_text_is_an_error(cache: Path) -> None:
    odd = [Sample("a", ["half of an emoji \ud83d"], "x", ["y"])]
    assert run_cached(odd, Stage(), signature="s") == Stage()(odd)
    cache.parent.parent.mkdir(exist_ok=True)
    shutil.rmtree(cache.parent, ignore_errors=True)
    cache.parent.write_text("a file where a folder should be")
    assert run_cached(SAMPLES, Stage(), signature="s") == Stage()(SAMPLES)


def test_an_error_of_the_stage_is_not_hidden(cache: Path) -> None:
    with pytest.raises(InputError, match="no index"):
        run_cached(SAMPLES, failing(InputError("no index")), signature="s")
    assert not cache.exists()
