"""Headers that say what is known only in the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interloq import Sample, load, write
from interloq.data.files.late_header import header_after, write_then_head
from interloq.data.records.jsonl import header

SAMPLES = [Sample(str(i), ["hi"], "yes …") for i in range(5)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_the_file_is_what_write_makes_of_the_same_facts(tmp_path: Path, name: str) -> None:
    seen: list[str] = []

    def passing() -> Iterator[Sample]:
        for sample in SAMPLES:
            seen.append(sample.id)
            yield sample

    late, early = tmp_path / name, tmp_path / f"early-{name}"
    write_then_head(late, passing(), lambda: {"seen": len(seen)}, kind="samples")
    write(early, SAMPLES, kind="samples", seen=5)
    assert load(late) == SAMPLES
    assert header(late) == header(early) == {"kind": "samples", "schema": 1, "seen": 5}


def test_a_failure_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    def failing() -> Iterator[Sample]:
        yield SAMPLES[0]
        raise ValueError("no more")

    write(tmp_path / "a.jsonl", SAMPLES, kind="samples")
    with pytest.raises(ValueError, match="no more"):
        write_then_head(tmp_path / "a.jsonl", failing(), dict, kind="samples")
    assert load(tmp_path / "a.jsonl") == SAMPLES
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_stage_adds_its_facts_and_keeps_the_others() -> None:
    before = {"kind": "samples", "schema": 1, "source": "x", "rated": [{"signature": "a"}]}
    assert header_after(before, "rated", {"signature": "b"}) == {
        "source": "x",
        "rated": [{"signature": "a"}, {"signature": "b"}],
    }
    assert header_after({}, "extended", {"k": 1}) == {"extended": [{"k": 1}]}
