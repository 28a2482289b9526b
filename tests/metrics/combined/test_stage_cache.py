"""Stages that keep what they made, whatever happens to the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Rating, Reference, Sample
from interloq.errors import InputError
from interloq.metrics.combined import stage_cache as stages
from interloq.metrics.combined.stage_cache import cached

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
    first = cached(SAMPLES, stage, signature="s")
    assert first == Stage()(SAMPLES)
    assert cached(SAMPLES, stage, signature="s") == first
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
    cached(SAMPLES, stage, signature="s")
    other = [replace(SAMPLES[0], **change), SAMPLES[1]]
    assert cached(other, stage, signature="s") == Stage()(other)
    assert stage.calls == 2


def test_another_signature_order_or_number_does_not(cache: Path) -> None:
    stage = Stage()
    for samples, signature in ((SAMPLES, "s"), (SAMPLES, "t"), (SAMPLES[::-1], "s"), (SAMPLES[:1], "s")):
        assert cached(samples, stage, signature=signature) == Stage()(samples)
    assert stage.calls == 4


def test_what_no_stage_looks_at_is_the_samples_own(cache: Path) -> None:
    """Ratings may change between two runs; what comes from disk has the new ones."""
    stage = Stage()
    cached(SAMPLES, stage, signature="s")
    rated = [replace(SAMPLES[0], ratings=(Rating(5, "anna"),)), SAMPLES[1]]
    assert cached(rated, stage, signature="s") == Stage()(rated)
    assert stage.calls == 1


def test_off_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    stage = Stage()
    for _ in range(2):
        assert cached(SAMPLES, stage, signature="s") == Stage()(SAMPLES)
    assert stage.calls == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "folder"])
def test_a_damaged_file_is_made_anew(cache: Path, damage: str) -> None:
    stage = Stage()
    cached(SAMPLES, stage, signature="s")
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes({"cut": whole[:-20], "noise": b"x" * 50, "empty": b""}[damage])
    assert cached(SAMPLES, stage, signature="s") == Stage()(SAMPLES)
    assert stage.calls == 2
    if damage != "folder":
        assert path.read_bytes() == whole
    assert cached(SAMPLES, stage, signature="s") == Stage()(SAMPLES)
    assert stage.calls == 2 + (damage == "folder")
    assert list(cache.iterdir()) == [path]


def test_a_file_of_another_stage_under_this_name_is_not_taken(cache: Path) -> None:
    stage = Stage()
    cached(SAMPLES, stage, signature="s")
    cached(SAMPLES, stage, signature="t")
    first, second = sorted(cache.iterdir())
    first.write_bytes(second.read_bytes())
    for signature in "st":
        cached(SAMPLES, stage, signature=signature)
    assert stage.calls == 3


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), InputError("cannot write")])
def test_a_full_disk_costs_nothing_but_time(cache: Path, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(stages, "write", full)
    assert cached(SAMPLES, Stage(), signature="s") == Stage()(SAMPLES)


def test_a_folder_that_cannot_be_made_costs_nothing_but_time(cache: Path) -> None:
    cache.parent.parent.mkdir(exist_ok=True)
    cache.parent.write_text("a file where a folder should be")
    assert cached(SAMPLES, Stage(), signature="s") == Stage()(SAMPLES)


def test_a_folder_that_may_not_be_read_costs_nothing_but_time(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", denied)
        assert cached(SAMPLES, Stage(), signature="s") == Stage()(SAMPLES)


def test_text_that_cannot_be_written_is_no_error(cache: Path) -> None:
    odd = [Sample("a", ["half of an emoji \ud83d"], "x", ["y"])]
    assert cached(odd, Stage(), signature="s") == Stage()(odd)


def test_an_error_of_the_stage_is_not_hidden(cache: Path) -> None:
    def failing(samples: Sequence[Sample]) -> list[Sample]:
        raise InputError("no index")

    with pytest.raises(InputError, match="no index"):
        cached(SAMPLES, failing, signature="s")
    assert not cache.exists()
