"""The verb train: registered jobs, and the parts tokenizer and baseline."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Sample, load, write
from interloq.cli import train
from interloq.cli.main import main, verb_parser
from interloq.cli.train import add_job_options, choose_job
from interloq.cli.train import baseline as train_baseline
from interloq.data.embedded import embedded_log_path
from interloq.learn.settings import Training
from interloq.learn.trainable import trainable
from interloq.metrics.contextual.bertscore_baseline import load_baseline
from interloq.models.encoder import Encoder
from tests.made_encoder import small_bert
from tests.made_job import PLUGIN, Own


def test_a_registered_job_is_a_part_of_train(registered: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "mine", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Train something else." in text
    for shown in ("100 % is all (default 7)", "--how {a,b}", "(default: slowly)", "say more", "(default 4)"):
        assert shown in text
    assert "--inner" not in text


def test_only_the_parser_of_the_requested_part_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(train, "trainable", lambda name: imported.append(name) or trainable(name))  # type: ignore[func-returns-value]
    assert verb_parser("train", "ruber").parse_args(["ruber", "pairs.jsonl", "-o", "out"]).part == "ruber"
    assert imported == ["ruber"]
    verb_parser("train", "vectors")
    assert imported == ["ruber"]
    for part in ("rubber", "--help"):  # their message lists all parts
        assert "ruber" in verb_parser("train", part).format_help()
    assert imported == ["ruber"]
    verb_parser("train")
    assert len(imported) > 10


def settings(*arguments: str) -> Any:
    parser = argparse.ArgumentParser()
    add_job_options(parser, PLUGIN)
    return choose_job(parser.parse_args(arguments), PLUGIN)[1]


def test_given_options_reach_all_settings_that_have_them_and_others_keep_their_defaults() -> None:
    assert settings() == [Own(), Training(epochs=4)]
    own, training = settings("--width", "9", "--how", "b", "--rate", ".5", "--more", "x", "--more", "y", "--seed", "3")
    assert own == Own(9, "b", 0.5, ("x", "y"), seed=3)
    assert training == Training(epochs=4, seed=3)
    assert settings("--loud")[0].loud is True


def test_a_package_that_is_missing_is_named(registered: None, folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pairs.jsonl").write_text('{"utterance": "tea ?", "response": "tea"}\n')
    assert main(["train", "mine", "pairs.jsonl", "-o", "out"]) == 2
    assert "'nowhere'" in capsys.readouterr().err


# ---- train tokenizer -------------------------------------------------------------------------------------------------


def test_train_tokenizer(folder: Path, samples: list[Sample], capsys: pytest.CaptureFixture[str]) -> None:
    write("samples.jsonl", samples, kind="samples")
    assert main(["train", "tokenizer", "samples.jsonl", "-o", "tiny.model", "--vocabulary", "40"]) == 0
    assert "tiny.model: sentencepiece(" in capsys.readouterr().out
    assert main(["score", "samples.jsonl", "-m", "bleu(tokenizer=sentencepiece(model='tiny.model'))"]) == 0


# ---- train baseline --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(str(small_bert(tmp_path_factory.mktemp("bert"))), device="cpu", longest=512)


def run_baseline(*words: str) -> None:
    parser = argparse.ArgumentParser()
    train_baseline.add_arguments(parser)
    train_baseline.run(parser.parse_args(list(words)))


def test_train_baseline(encoder: Encoder, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("pairs.jsonl", load(embedded_log_path("en"), kind="pairs")[:60], kind="pairs")
    (folder / "more.txt").write_text("one text\nand another one\n", encoding="utf-8")
    command = ["pairs.jsonl", "more.txt", "--model", str(encoder.folder), "--pairs", "20", "--device", "cpu"]
    run_baseline(*command, "-o", "base.json")
    shown = capsys.readouterr().out
    assert "base.json: 20 pairs of unrelated texts, bert-" in shown
    run_baseline(*reversed(command[:2]), *command[2:], "-o", "same.json", "--json")
    facts = json.loads(capsys.readouterr().out)
    assert facts.pop("file") == "same.json"
    assert facts == load_baseline("same.json") == load_baseline("base.json")
    run_baseline(*command, "-o", "one.json", "--layer", "2", "--idf")
    assert (list(load_baseline("one.json")["layers"]), load_baseline("one.json")["idf"]) == (["2"], True)
    with pytest.raises(InputError, match="pairs must be at least 1, got 0"):
        run_baseline(*command, "-o", "x.json", "--pairs", "0")
    with pytest.raises(InputError, match=r"no file 'none\.jsonl'"):
        run_baseline("none.jsonl", *command, "-o", "x.json")
