"""Fixtures of tests that extend, rate and score files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from interloq import Rating, Sample, write
from interloq.cli.main import main
from interloq.records import Pair
from tests.made_pipeline import made_samples
from tests.made_rater import small_rater, write_log


@pytest.fixture
def files(folder: Path) -> Path:
    pairs = [Pair(f"p{i}", f"how was the {word}", f"the {word} was fine") for i, word in enumerate("abcdefgh")]
    write("pairs.jsonl", pairs, kind="pairs")
    samples = [
        Sample(f"s{i}", [f"how was the {word}"], f"{word} was good", [f"{word} was bad"], ratings=[i + 1])
        for i, word in enumerate("abcd")
    ]
    write("samples.jsonl", samples, kind="samples", source="made")
    write("ratings.jsonl", [Rating(4, "x", item=f"s{i}/0") for i in range(4)], kind="ratings")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vbleu")
    write_log(folder / "pairs.jsonl", 60)
    small_rater(folder, epochs=6, utterances=60)
    write(folder / "samples.jsonl", made_samples(), kind="samples")
    ratings = [
        Rating(1 + (7 * i + place) % 5, "x", item=f"c{i}/{bot}/{place}")
        for i in range(24)
        for bot in "ab"
        for place in range(1, 18)
    ]
    write(folder / "ratings.jsonl", ratings, kind="ratings")
    index = ["index", "build", str(folder / "pairs.jsonl"), "-o", str(folder / "index"), "--retriever", "bm25"]
    assert main([*index, "--quiet"]) == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of index, rater and samples in the working directory, with a cache of its own."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "here"
