"""`interloq doctor` as a user runs it."""

from __future__ import annotations

import json

import pytest

from interloq.cli.main import main
from interloq.cli.shared import installation as module


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_gpu", lambda: "none")  # importing torch takes seconds


def test_everything_works(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "requires", lambda _: ["numpy>=2.0", "absent>=1; extra == 'ja'"])
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "ja  pip install 'interloq[ja]'  (absent missing)" in out
    assert out.endswith("Everything that is installed works.\n")


def test_something_does_not(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "requires", lambda _: ["numpy>=1000"])
    assert main(["doctor", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["sound"] is False
    assert facts["core"]["packages"][0]["versions"] == ">=1000"
    assert main(["doctor"]) == 1
    assert "pip install 'interloq'  (numpy " in capsys.readouterr().out
