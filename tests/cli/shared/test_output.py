"""Bad lines on standard error, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq.cli.shared.output import BadLineReporter, exit_code, mark_incomplete, verb_output
from interloq.data.records.jsonl import SHOWN, read, read_all


def test_the_exit_code_says_whether_all_was_used() -> None:
    def marking(condition: object, code: int) -> int:
        mark_incomplete(condition)
        return code

    assert exit_code(lambda: marking(0, 0)) == 0
    assert exit_code(lambda: marking(True, 0)) == 1
    assert exit_code(lambda: marking(True, 3)) == 3
    assert exit_code(lambda: 0) == 0, "nothing is left from the run before"


def test_the_first_bad_lines_are_named_and_all_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{broken\n" * (SHOWN + 2) + '{"id": "1", "response": "x"}\n')
    bad = BadLineReporter()
    assert exit_code(lambda: len(list(read(path, on_reject=bad))) - 1) == 1
    bad.close()
    lines = capsys.readouterr().err.splitlines()
    assert bad.count == SHOWN + 2
    assert len(lines) == SHOWN + 1
    assert f"{SHOWN + 2} bad lines" in lines[-1]
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"], "a verb without an output writes nothing"


def test_bad_lines_of_all_inputs_are_written_beside_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.jsonl").write_text(f'{{broken {name}\n{{"id": "{name}", "response": "x"}}\n')
    with verb_output(str(tmp_path / "out" / "o.jsonl")):
        bad = BadLineReporter()
        records = list(read_all([tmp_path / "a" / "in.jsonl", tmp_path / "b" / "in.jsonl"], on_reject=bad))
        bad.close()
    written = tmp_path / "out" / "o.jsonl.rejected.jsonl"
    assert [record.id for record in records] == ["a", "b"]
    assert [json.loads(line)["line"] for line in written.read_text().splitlines()] == ["{broken a", "{broken b"]
    assert f"written to {written}" in capsys.readouterr().err
    assert not list((tmp_path / "a").glob("*.rejected*"))
    with verb_output(str(tmp_path / "out" / "o.jsonl")):
        BadLineReporter().close()
    assert not written.exists(), "a run without bad lines leaves none of an earlier one"
