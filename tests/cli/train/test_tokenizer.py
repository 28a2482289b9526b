"""The verb train tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main


@pytest.fixture
def path(folder: Path, samples: list[Sample]) -> str:
    write(folder / "samples.jsonl", samples, kind="samples")
    return "samples.jsonl"


def test_train_tokenizer(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "tokenizer", path, "-o", "tiny.model", "--vocabulary", "40"]) == 0
    assert "tiny.model: sentencepiece(" in capsys.readouterr().out
    assert main(["score", path, "-m", "bleu(tokenizer=sentencepiece(model='tiny.model'))"]) == 0
