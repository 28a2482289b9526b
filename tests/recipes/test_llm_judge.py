"""An LLM judge tried on embedded samples."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.made_chat_server import serving
from tests.made_judge_server import JudgeServer

sys.path.insert(0, str(Path(__file__).parents[2] / "recipes"))
import llm_judge

pytest.importorskip("httpx")


def test_scores_and_pairs_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    assert len(llm_judge.chosen(3)) == 12
    with serving(JudgeServer(first=True)) as server:
        llm_judge.main([f"llm_judge(model='m',endpoint='{server.url}')", "--contexts", "3"])
    lines = capsys.readouterr().out.splitlines()
    printed = dict(line.rsplit(None, 1) for line in lines if len(line.split()) > 1)
    figures = {name.strip(): value for name, value in printed.items()}
    assert figures["mean score"] == "4.150"
    assert (figures["pairs: tie"], figures["flip rate"]) == ("3", "1.000")
