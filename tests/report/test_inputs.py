"""Files of a report: their names, and the command that makes it again."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.records.read_options import ReadOptions
from interloq.report.inputs import Inputs
from interloq.report.report_options import ReportOptions


def test_only_what_files_do_not_share_is_shown(tmp_path: Path) -> None:
    private = tmp_path / "private"
    options = ReportOptions(samples=private / "b.jsonl", models=[private / "m"])
    names = Inputs([private / "a/s.jsonl"], options).names()
    assert list(names.values()) == ["a/s.jsonl", "b.jsonl", "m"]


def test_the_command_can_be_pasted(tmp_path: Path) -> None:
    options = ReportOptions(
        samples=tmp_path / "b.jsonl",
        dialogues=[tmp_path / "d.jsonl"],
        models=[tmp_path / "m"],
        title="it's",
        lower_is_better=True,
        read=3,
    )
    inputs = Inputs([tmp_path / "s 1.jsonl"], options)
    words = shlex.split(inputs.command(ReadOptions(columns={"response": "reply", "id": "key"})))
    assert words[:7] == ["interloq", "report", "s 1.jsonl", "-o", "report.html", "--samples", "b.jsonl"]
    assert words[-3:] == ["--lower-is-better", "--map", "response=reply,id=key"]
    for option, value in {"--title": "it's", "--dialogues": "d.jsonl", "--read": "3", "--model": "m"}.items():
        assert words[words.index(option) + 1] == value


def test_sources_are_known_by_their_content(folder: Path) -> None:
    for name in ("a", "b", "c"):
        (folder / name).write_text("same" if name != "c" else "other")
    first, second, third = Inputs(["a", "b"], ReportOptions(samples="c")).sources()
    assert (first.name, first.fingerprint) == ("a", second.fingerprint)
    assert third.fingerprint != first.fingerprint


def test_pipes_and_negative_counts_are_refused() -> None:
    with pytest.raises(InputError, match="pipe"):
        Inputs(["-"], ReportOptions(samples="b"))
    with pytest.raises(InputError, match="worst must not be negative, got -1"):
        ReportOptions(samples="b", worst=-1)
    assert ReportOptions(samples="b", n_bootstrap=0).n_permutations == 0
    assert ReportOptions(samples="b").n_permutations is None
