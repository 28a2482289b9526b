"""Bad lines on standard error, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.cli.output import BadLines, exit_code, mark_incomplete
from interloq.data.jsonl import SHOWN, read


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
    bad = BadLines()
    assert exit_code(lambda: len(list(read(path, on_reject=bad))) - 1) == 1
    bad.close()
    lines = capsys.readouterr().err.splitlines()
    assert bad.count == SHOWN + 2
    assert len(lines) == SHOWN + 1
    assert f"{SHOWN + 2} bad lines" in lines[-1]
