"""The verb train."""

from __future__ import annotations

import pytest

from interloq.cli.main import main


def test_a_registered_job_is_a_part_of_train(registered: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "mine", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Train something else." in text
    for shown in ("100 % is all (default 7)", "--how {a,b}", "(default: slowly)", "say more", "(default 4)"):
        assert shown in text
    assert "--inner" not in text
