"""Fixtures that several files of this folder use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from interloq import Sample, Score, registry, write
from interloq.cli.main import main
from interloq.records import Preference
from tests.cli.made_runs import BOT, pairs, text


@pytest.fixture
def pool(folder: Path) -> Path:
    """2,400 pairs, and samples of which one stands in the pool word for word."""
    write("pairs.jsonl", pairs(2_400), kind="pairs")
    samples = [Sample(f"c{i}/bot", ["hello", f"{text(i)} indeed"], "x", [f"gold {i}"]) for i in range(0, 20, 2)]
    samples.append(Sample("copy/bot", [text(5).upper()], "x", ["gold"]))
    write("samples.jsonl", samples, kind="samples", dataset="made")
    return folder


@pytest.fixture
def index(pool: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["index", "build", "pairs.jsonl", "-o", "index", "--retriever", "dense(encoder='fake32')"]) == 0
    capsys.readouterr()
    return "index"


@pytest.fixture
def talking(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of bots, and nothing left of it among the imported ones."""
    (folder / "made_for_play.py").write_text(BOT)
    monkeypatch.delitem(sys.modules, "made_for_play", raising=False)
    return folder


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A job of another package is registered as `mine`."""
    entry = EntryPoint("job.mine", "tests.made_job:PLUGIN", "interloq.components")
    monkeypatch.setattr("interloq.registry.entry_points", lambda **_: [entry])
    registry._targets.cache_clear()
    yield
    registry._targets.cache_clear()


@pytest.fixture
def preferred(folder: Path) -> None:
    """Preferences of four people between two systems, also without a header, and scores of their replies."""
    preferences = [Preference(str(i), ("old", "new"), "new" if i else "old", f"r{i}") for i in range(4)]
    write("preferences.jsonl", preferences, kind="preferences")
    Path("plain.jsonl").write_text("".join(Path("preferences.jsonl").read_text().splitlines(keepends=True)[1:]))
    scores = [Score(str(i), "chrf", float(s == "new"), system=s) for i in range(4) for s in ("old", "new")]
    write("scores.jsonl", scores, kind="scores")
