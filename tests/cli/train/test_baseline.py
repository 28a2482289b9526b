"""The verb train baseline."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from interloq import InputError, load, write
from interloq.cli.train import baseline as train_baseline
from interloq.data.embedded import embedded_log_path
from interloq.metrics.contextual.bertscore_baseline import load_baseline
from interloq.models.encoder import Encoder
from tests.made_encoder import small_bert


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(str(small_bert(tmp_path_factory.mktemp("bert"))), device="cpu", longest=512)


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    train_baseline.add_arguments(parser)
    return train_baseline.run(parser.parse_args(list(words)))


def test_the_command(encoder: Encoder, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("pairs.jsonl", load(embedded_log_path("en"), kind="pairs")[:60], kind="pairs")
    (folder / "more.txt").write_text("one text\nand another one\n", encoding="utf-8")
    command = ["pairs.jsonl", "more.txt", "--model", str(encoder.folder), "--pairs", "20", "--device", "cpu"]
    assert run(*command, "-o", "base.json") == 0
    shown = capsys.readouterr().out
    assert "base.json: 20 pairs of unrelated texts, bert-" in shown
    assert run(*reversed(command[:2]), *command[2:], "-o", "same.json", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts.pop("file") == "same.json"
    assert facts == load_baseline("same.json") == load_baseline("base.json")
    assert run(*command, "-o", "one.json", "--layer", "2", "--idf") == 0
    assert (list(load_baseline("one.json")["layers"]), load_baseline("one.json")["idf"]) == (["2"], True)
    with pytest.raises(InputError, match="pairs must be at least 1, got 0"):
        run(*command, "-o", "x.json", "--pairs", "0")
    with pytest.raises(InputError, match=r"no file 'none\.jsonl'"):
        run("none.jsonl", *command, "-o", "x.json")
