"""Settings of BERT-RUBER."""

from __future__ import annotations

import pytest

from interloq.scorers.bert_ruber.settings import TRAINING, BertRuberSettings
from tests.scorers.bert_ruber.made_scorer import command


def test_the_defaults_in_help_are_those_of_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command("--help")
    text = " ".join(capsys.readouterr().out.split())
    for value in (TRAINING.epochs, TRAINING.learning_rate, BertRuberSettings().batch, BertRuberSettings().dev):
        assert f"(default {value:g})" in text
