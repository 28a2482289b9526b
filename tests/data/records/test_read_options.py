"""How input files are read: bad lines and names of fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.records.jsonl import Rejected
from interloq.data.records.read_options import ReadOptions


def test_columns_are_of_the_main_input_and_bad_lines_of_all_files(folder: Path) -> None:
    (folder / "samples.jsonl").write_text('{"id": "a", "context": ["hi"], "said": "hello"}\nbad\n')
    (folder / "scores.jsonl").write_text('{"id": "a", "metric": "length", "value": 1}\nworse\n')
    rejected: list[Rejected] = []
    reading = ReadOptions(columns={"response": "said"}, on_reject=rejected.append)
    assert [sample.response for sample in reading.read("samples.jsonl")] == ["hello"]
    assert [score.value for score in reading.read_beside(["scores.jsonl"], kind="scores")] == [1.0]
    assert [bad.where for bad in rejected] == ["samples.jsonl:2", "scores.jsonl:2"]


def test_a_bad_line_can_be_an_error(folder: Path) -> None:
    (folder / "scores.jsonl").write_text('{"id": "a", "metric": "length", "value": 1}\nworse\n')
    with pytest.raises(InputError, match="not valid JSON"):
        list(ReadOptions(strict=True).read_beside(["scores.jsonl"], kind="scores"))
