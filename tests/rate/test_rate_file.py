"""Rating a file of samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Reference, Sample, Signature, load, read
from interloq.data.records.jsonl import header
from interloq.rate.rate_file import Spool, open_spool, rate_file, rate_into
from interloq.rate.rate_options import RateOptions

RATER = "human(ratings='ratings.jsonl')"
JOB = {"rater": "made", "samples": "1"}
SAMPLES = [Sample(str(i), ["hi"], "x", [Reference("y")]) for i in range(5)]


def test_rated_samples_are_read_back_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the counts; the output is copied from the part."""
    reads: list[Path] = []

    def noting(path: Path, **options: Any) -> Iterator[Sample]:
        reads.append(path)
        return read(path, **options)

    monkeypatch.setattr("interloq.rate.rate_file.read", noting)
    rate_file("samples.jsonl", "rated.jsonl", RateOptions(rater=RATER))
    assert reads == [Path("rated.jsonl.part")]
    assert [sample.references[0].weight for sample in load("rated.jsonl")] == [0.5] * 4


class Half:
    """Gives every reference the weight .5, and counts what it was asked."""

    def __init__(self, lose: int = 0) -> None:
        self.asked, self.lose = 0, lose

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        self.asked += len(samples)
        rated = [replace(s, references=tuple(replace(r, weight=0.5) for r in s.references)) for s in samples]
        return rated[self.lose :]

    def signature(self) -> Signature:
        return Signature.of("half", {})


def test_a_run_that_stopped_resumes(tmp_path: Path) -> None:
    part, rater = tmp_path / "part", Half()
    spool = Spool(part, JOB)
    rate_into(spool, SAMPLES[:2], rater, batch=1)
    spool.close()
    with open_spool(part, JOB) as resumed:
        assert resumed.done == 2
        rate_into(resumed, SAMPLES, rater, batch=2)
        resumed.copy_to(tmp_path / "out.jsonl", note="x")
    assert rater.asked == 5
    assert [sample.references[0].weight for sample in load(tmp_path / "out.jsonl")] == [0.5] * 5
    assert header(tmp_path / "out.jsonl")["note"] == "x"
    assert not part.exists()


def test_another_job_is_refused_unless_thrown_away(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "part", JOB)
    spool.add(SAMPLES[:1])
    spool.close()
    for other in (JOB | {"samples": "2"}, JOB | {"rater": "x"}):
        with pytest.raises(InputError, match="discard it with force"):
            Spool(tmp_path / "part", other)
    with open_spool(tmp_path / "part", JOB | {"rater": "x"}, afresh=True) as fresh:
        assert fresh.done == 0


def test_a_part_without_samples_is_not_kept(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "part", JOB)
    spool.add(SAMPLES[:1])
    spool.forget()
    spool.close()
    assert not (tmp_path / "part").exists()


def test_a_rater_that_loses_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the rater returned"), open_spool(tmp_path / "part", JOB) as spool:
        rate_into(spool, SAMPLES, Half(lose=1))
    with pytest.raises(InputError, match="batch must be at least 1"), open_spool(tmp_path / "part", JOB) as spool:
        rate_into(spool, SAMPLES, Half(), batch=0)
