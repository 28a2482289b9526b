"""Agreement with people, from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, Score, write
from interloq.data.jsonl import Rejected
from interloq.meta.evaluate import meta_evaluate
from interloq.meta.meta_file import meta_file
from interloq.metrics.selection import Selection


@pytest.fixture
def scores(folder: Path, samples: list[Sample]) -> list[Score]:
    found = [Score(s.id, "length", float(len(s.response)), system=s.system) for s in samples]
    write("scores.jsonl", found, kind="scores")
    write("samples.jsonl", samples, kind="samples")
    return found


def test_files_give_what_records_give(scores: list[Score], samples: list[Sample]) -> None:
    table = meta_file(["scores.jsonl"], "samples.jsonl", n_bootstrap=20, seed=3)
    assert table == meta_evaluate(scores, samples, n_bootstrap=20, seed=3)


def test_systems_are_left_out(scores: list[Score], samples: list[Sample]) -> None:
    table = meta_file(["scores.jsonl"], "samples.jsonl", n_bootstrap=0, without=["bad"])
    assert table.counted.samples == 3
    assert table == meta_evaluate(scores, samples, n_bootstrap=0, selection=Selection(without=["bad"]))


def test_bad_lines_go_to_the_caller_or_stop(scores: list[Score], folder: Path) -> None:
    with (folder / "scores.jsonl").open("a") as file:
        file.write("{broken\n")
    bad: list[Rejected] = []
    assert meta_file(["scores.jsonl"], "samples.jsonl", n_bootstrap=0, on_reject=bad.append).rows
    assert [each.where for each in bad] == ["scores.jsonl:8"]
    with pytest.raises(InputError, match=r"scores\.jsonl:8"):
        meta_file(["scores.jsonl"], "samples.jsonl", n_bootstrap=0, strict=True)
