"""Files of a report: their names, and the command that makes it again."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from interloq import InputError
from interloq.report.inputs import Inputs, ReportOptions, command


def test_only_what_files_do_not_share_is_shown(tmp_path: Path) -> None:
    inputs = Inputs([tmp_path / "private/a/s.jsonl"], tmp_path / "private/b.jsonl", models=[tmp_path / "private/m"])
    assert inputs.names() == (["a/s.jsonl", "b.jsonl"], ["m"])


def test_the_command_can_be_pasted(tmp_path: Path) -> None:
    inputs = Inputs([tmp_path / "s 1.jsonl"], tmp_path / "b.jsonl", [tmp_path / "d.jsonl"], [tmp_path / "m"])
    words = shlex.split(command(inputs, ReportOptions(title="it's", lower_is_better=True, read=3)))
    assert words[:5] == ["interloq", "report", "s 1.jsonl", "--samples", "b.jsonl"]
    assert words[words.index("--title") + 1] == "it's"
    assert "--lower-is-better" in words
    assert words[-6:] == ["--dialogues", "d.jsonl", "--read", "3", "--model", "m"]
    assert "--read" not in command(Inputs(["s"], "b"), ReportOptions())


def test_sources_are_known_by_their_content(folder: Path) -> None:
    for name in ("a", "b", "c"):
        (folder / name).write_text("same" if name != "c" else "other")
    first, second, third = Inputs(["a", "b"], "c").sources()
    assert (first.name, first.fingerprint) == ("a", second.fingerprint)
    assert third.fingerprint != first.fingerprint


def test_pipes_and_negative_counts_are_refused() -> None:
    with pytest.raises(InputError, match="pipe"):
        Inputs(["-"], "b")
    with pytest.raises(InputError, match="worst must not be negative, got -1"):
        ReportOptions(worst=-1)
    assert (ReportOptions(n_bootstrap=0).n_permutations, ReportOptions().n_permutations) == (0, None)
