"""The verb train."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

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


def test_a_registered_job_is_a_part_of_train(registered: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "mine", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Train something else." in text
    for shown in ("100 % is all (default 7)", "--how {a,b}", "(default: slowly)", "say more", "(default 4)"):
        assert shown in text
    assert "--inner" not in text
