"""Fixtures that several files of this folder use."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from interloq import Sample, registry, write
from tests.cli.made_pool import pairs, text


@pytest.fixture
def pool(folder: Path) -> Path:
    """2,400 pairs, and samples of which one stands in the pool word for word."""
    write("pairs.jsonl", pairs(2_400), kind="pairs")
    samples = [Sample(f"c{i}/bot", ["hello", f"{text(i)} indeed"], "x", [f"gold {i}"]) for i in range(0, 20, 2)]
    samples.append(Sample("copy/bot", [text(5).upper()], "x", ["gold"]))
    write("samples.jsonl", samples, kind="samples", dataset="made")
    return folder


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A job of another package is registered as `mine`."""
    entry = EntryPoint("job.mine", "tests.made_job:PLUGIN", "interloq.components")
    monkeypatch.setattr("interloq.registry.entry_points", lambda **_: [entry])
    registry._targets.cache_clear()
    yield
    registry._targets.cache_clear()
