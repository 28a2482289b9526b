"""`interloq train NAME` for registered jobs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from interloq.cli.main import main
from interloq.learn import trainable
from interloq.learn.trainable import job_names


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    entry = EntryPoint("job.mine", "tests.made_job:PLUGIN", "interloq.components")
    monkeypatch.setattr(trainable, "entry_points", lambda **_: [entry])
    job_names.cache_clear()
    yield
    job_names.cache_clear()


def test_a_package_that_is_missing_is_named(registered: None, folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pairs.jsonl").write_text('{"utterance": "tea ?", "response": "tea"}\n')
    assert main(["train", "mine", "pairs.jsonl", "-o", "out"]) == 2
    assert "'nowhere'" in capsys.readouterr().err
