"""Rating a file of samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interloq import Sample, load, read
from interloq.rate.rate_file import rate_file

RATER = "human(ratings='ratings.jsonl')"


def test_rated_samples_are_read_back_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the counts; the output is copied from the part."""
    reads: list[Path] = []

    def noting(path: Path, **options: Any) -> Iterator[Sample]:
        reads.append(path)
        return read(path, **options)

    monkeypatch.setattr("interloq.rate.spool.read", noting)
    rate_file("samples.jsonl", "rated.jsonl", rater=RATER)
    assert reads == [Path("rated.jsonl.part")]
    assert [sample.references[0].weight for sample in load("rated.jsonl")] == [0.5] * 4
